"""A dispute, played through on a whole exchange: frozen, corrected, seen by all, and proven."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.client.operator import Operator
from services.client.seat import SeatSession
from services.gateway.identity.tokens import SignedTokens, parse_keys
from services.log.server import free_port
from support.exchange import ExchangeProcesses
from support.operated import NAME, event, people, playing
from support.pit import Outcome, pit

pytestmark = pytest.mark.all

WHY = "the bell of seat 1 counts"
SCORES = [0, 55, 0]
"""After the correction, and with the round void."""


class Disputed:
    """A running exchange, and where its operators and its people come in."""

    def __init__(self, exchange: ExchangeProcesses) -> None:
        port = free_port()
        for role in ("matcher", "archiver"):
            exchange.start(role)
        exchange.start("gateway", PIT_OPERATE_PORT=str(port), PIT_PROFILE="load")
        self.exchange = exchange
        self.target = f"127.0.0.1:{exchange.settings['PIT_PORT_BASE']}"
        self._inside = f"127.0.0.1:{port}"

    def operator(self) -> Operator:
        tokens = SignedTokens(parse_keys(self.exchange.settings["PIT_TOKEN_KEYS"]))
        return Operator(self._inside, tokens.operator(NAME, 600))

    def pit(self, *arguments: str) -> Outcome:
        return pit(*arguments, settings=self.exchange.settings)


@pytest.fixture
def disputed(tmp_path: Path) -> Iterator[Disputed]:
    with ExchangeProcesses(tmp_path) as exchange:
        yield Disputed(exchange)


async def test_a_dispute_from_the_table_to_its_proof(disputed: Disputed, tmp_path: Path) -> None:
    async with playing(disputed.target) as (table, seats), disputed.operator() as operator:
        await decide(operator, table, seats)
        await check_what_is_told_in_play(disputed, table)
        await check_an_early_copy(disputed, operator, table, tmp_path / "early.pit")
        late = tmp_path / "late.pit"
        await close_and_copy(disputed, operator, table, seats, late)
    game = table.removeprefix("tables/")
    check_results(disputed, game)
    check_proof(disputed, game, late)


async def decide(operator: Operator, table: str, seats: list[SeatSession]) -> None:
    """Freeze, correct a score, go on, void the round; the table sees each of it."""
    await operator.freeze(table, "seat 2 says the bell was late")
    await event(seats[0], "frozen")
    seq = await operator.adjust_score(table, 1, 55, WHY)
    corrected = await event(seats[0], "score_adjusted")
    assert corrected.seq == seq
    assert corrected.score_adjusted.operator == NAME
    await operator.resume(table, "decided")
    await event(seats[0], "resumed")
    await operator.void_round(table, 1, "decided by the referee")
    await event(seats[0], "round_void")
    assert [seat.score for seat in seats[0].view.seats] == SCORES


async def check_what_is_told_in_play(disputed: Disputed, table: str) -> None:
    """The record anybody may read, and its proof."""
    async with people(disputed.target, "Onlooker") as [onlooker]:
        recorded = await onlooker.records.get_game(table)
    [told] = [
        seen.event.score_adjusted
        for seen in recorded.events
        if seen.event.HasField("score_adjusted")
    ]
    assert (told.delta, told.operator) == (55, NAME)
    assert [seat.score for seat in recorded.game.seats] == SCORES
    assert disputed.pit("verify", table.removeprefix("tables/")).code == 0


async def check_an_early_copy(
    disputed: Disputed, operator: Operator, table: str, early: Path
) -> None:
    assert (await operator.export_game(table, early, "asked for by seat 2")).name == table
    assert disputed.pit("verify", "--file", str(early)).code == 0


async def close_and_copy(
    disputed: Disputed, operator: Operator, table: str, seats: list[SeatSession], late: Path
) -> None:
    """The archive signs what is closed; all that operators did is in their journal."""
    await operator.close_table(table, "the event is over")
    await event(seats[1], "table_closed")
    game = table.removeprefix("tables/")
    disputed.exchange.wait(lambda: "signed by the archive" in disputed.pit("verify", game).out)
    entries = [entry.act async for entry in operator.audit()]
    assert entries == ["freeze", "adjust-score", "resume", "void-round", "export", "close"]
    await operator.export_game(table, late)


def check_results(disputed: Disputed, game: str) -> None:
    shown = disputed.pit("results", game, "--json")
    assert shown.code == 0, shown.err
    result = json.loads(shown.out)
    assert [seat["score"] for seat in result["results"]] == SCORES
    [correction] = result["corrections"]
    assert (correction["seat"], correction["delta"], correction["operator"]) == (1, 55, NAME)
    assert (result["end"], result["signed"]) == ("closed", True)


def check_proof(disputed: Disputed, game: str, copy: Path) -> None:
    """The copy, which is the archive's very file, proves the game; one with a line that is
    changed, even consistently, does not."""
    proof = disputed.pit("verify", "--file", str(copy), "--json").json()
    assert (proof["good"], proof["sealed"], proof["game"]) == (True, True, game)
    content = copy.read_bytes()
    assert content == (disputed.exchange.archive / game[:2] / f"{game}.pit").read_bytes()
    assert content.count(WHY.encode()) == 1
    copy.write_bytes(content.replace(WHY.encode(), WHY.capitalize().encode()))
    assert disputed.pit("verify", "--file", str(copy)).code == 5
