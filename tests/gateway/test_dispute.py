"""A dispute, played through on a whole exchange: frozen, corrected, seen by all, and proven."""

import json
from pathlib import Path

import pytest

from services.client.operator import Operator
from services.gateway.identity.tokens import SignedTokens, parse_keys
from services.log.server import free_port
from support.exchange import ExchangeProcesses
from support.operated import NAME, event, people, playing
from support.pit import pit

pytestmark = pytest.mark.all


async def test_a_dispute_from_the_table_to_its_proof(tmp_path: Path) -> None:
    with ExchangeProcesses(tmp_path) as exchange:
        inside = f"127.0.0.1:{free_port()}"
        for role in ("matcher", "archiver"):
            exchange.start(role)
        exchange.start("gateway", PIT_OPERATE_PORT=inside.partition(":")[2], PIT_PROFILE="load")
        target = f"127.0.0.1:{exchange.settings['PIT_PORT_BASE']}"
        token = SignedTokens(parse_keys(exchange.settings["PIT_TOKEN_KEYS"])).operator(NAME, 600)
        async with playing(target) as (table, seats), Operator(inside, token) as operator:
            game = table.removeprefix("tables/")
            await operator.freeze(table, "seat 2 says the bell was late")
            await event(seats[0], "frozen")
            seq = await operator.adjust_score(table, 1, 55, "the bell of seat 1 counts")
            corrected = await event(seats[0], "score_adjusted")
            assert corrected.seq == seq
            assert corrected.score_adjusted.operator == NAME
            await operator.resume(table, "decided")
            await event(seats[0], "resumed")
            await operator.void_round(table, 1, "decided by the referee")
            await event(seats[0], "round_void")
            assert [seat.score for seat in seats[0].view.seats] == [0, 55, 0]

            # While it is in play: its record, its proof, its file.
            async with people(target, "Onlooker") as [onlooker]:
                recorded = await onlooker.records.get_game(table)
                [told] = [
                    seen.event.score_adjusted
                    for seen in recorded.events
                    if seen.event.HasField("score_adjusted")
                ]
                assert (told.delta, told.operator) == (55, NAME)
                assert [seat.score for seat in recorded.game.seats] == [0, 55, 0]
            assert pit("verify", game, settings=exchange.settings).code == 0
            early = tmp_path / "early.pit"
            assert (await operator.export_game(table, early, "asked for by seat 2")).name == table
            assert pit("verify", "--file", str(early), settings=exchange.settings).code == 0

            await operator.close_table(table, "the event is over")
            await event(seats[1], "table_closed")
            file = exchange.archive / game[:2] / f"{game}.pit"
            exchange.wait(
                lambda: (
                    "signed by the archive" in pit("verify", game, settings=exchange.settings).out
                )
            )
            assert file.exists()
            entries = [entry.act async for entry in operator.audit()]
            assert entries == ["freeze", "adjust-score", "resume", "void-round", "export", "close"]
            late = tmp_path / "late.pit"
            await operator.export_game(table, late)
            assert late.read_bytes() == file.read_bytes()

        shown = pit("results", game, "--json", settings=exchange.settings)
        assert shown.code == 0, shown.err
        result = json.loads(shown.out)
        assert [seat["score"] for seat in result["results"]] == [0, 55, 0]
        [correction] = result["corrections"]
        assert (correction["seat"], correction["delta"], correction["operator"]) == (1, 55, NAME)
        assert (result["end"], result["signed"]) == ("closed", True)
        proof = pit("verify", "--file", str(late), "--json", settings=exchange.settings).json()
        assert (proof["good"], proof["sealed"], proof["game"]) == (True, True, game)

        # A line that is changed, even consistently, is found.
        forged = bytearray(late.read_bytes())
        at = bytes(forged).index(b"the bell of seat 1 counts")
        forged[at : at + 3] = b"The"
        late.write_bytes(bytes(forged))
        found = pit("verify", "--file", str(late), settings=exchange.settings)
        assert found.code == 5
