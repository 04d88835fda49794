"""One's own games over a whole exchange of real processes, while they are played and afterwards."""

import asyncio
from pathlib import Path

import pytest
from pit.v1 import lobby_pb2, table_pb2

from services.archive.index import GameIndex
from services.client.errors import Refused, Superseded
from services.client.exchange import Exchange
from services.client.happenings import Happened
from services.log import keys
from services.log.connection import SyncConnection
from support.exchange import WAIT_S, ExchangeProcesses

ROLES = ("matcher", "archiver", "gateway", "bots")


@pytest.mark.all
async def test_a_game_is_found_while_it_is_played_and_when_only_the_archive_has_it(
    tmp_path: Path,
) -> None:
    with ExchangeProcesses(tmp_path) as processes:
        for role in ROLES:
            processes.start(role)
        async with Exchange([f"127.0.0.1:{processes.settings['PIT_PORT_BASE']}"]) as ada:
            await ada.sign_in_guest("Ada")
            async with asyncio.timeout(WAIT_S):
                name, seen = await played(ada)
            told = [event async for event in ada.records.events(name)]
            same = [event.event for event in told[: len(seen)]]
            assert same == seen, "as it was seen live, from the first event on"
            [game] = [game async for game in ada.records.games()]
            assert game == (await ada.records.get_game(name)).game
            assert game.end == table_pb2.GAME_END_WON
            mine = next(seat for seat in game.seats if seat.person == ada.person)
            assert mine.display_name == "Ada"
            dealt = next(event for event in told if event.event.HasField("dealt"))
            assert dealt.HasField("received")
            async with Exchange(ada.channels.targets) as ben:
                await ben.sign_in_guest("Ben")
                assert [game async for game in ben.records.games()] == []
                hidden = [event async for event in ben.records.events(name)]
                assert [event.event for event in hidden] == [event.event for event in told]
                assert not any(event.HasField("received") for event in hidden)
                with pytest.raises(Refused) as refused:
                    await ben.records.get_game("tables/" + "00" + "a" * 20)
                assert refused.value.reason == "TABLE_NOT_FOUND"
            await asyncio.to_thread(let_go, processes, int(name[7:9]))
            assert [event async for event in ada.records.events(name)] == told


def let_go(processes: ExchangeProcesses, shard: int) -> None:
    """The log forgets everything that is in the archive, as it does after a minute."""
    server = SyncConnection(processes.server.url)
    index = GameIndex(processes.archive)

    def is_archived() -> bool:
        newest = server.ask("XREVRANGE", keys.out_stream(shard), "+", "-", "COUNT", 1)
        return index.positions().get(shard) == newest[0][0].decode()

    processes.wait(is_archived)
    assert server.ask("XTRIM", keys.out_stream(shard), "MAXLEN", 1) > 10
    server.close()


async def played(ada: Exchange) -> tuple[str, list[table_pb2.Event]]:
    """A game of one corner, in which a bot soon plays for its one person; its name, and what that
    person was shown of it until then."""
    request = lobby_pb2.CreateTableRequest(display_name="short", preset="blitz", seats=3, bots=True)
    request.switches.target = 50
    request.switches.sorting_pause_s = 1
    request.switches.idle_s = 2
    request.switches.away_grace_s = 1
    table = (await ada.create_table(request)).table.name
    seen: list[table_pb2.Event] = []
    async with ada.play(await ada.join_table(table)) as seat:
        await ada.start_table(table)
        try:
            async for happening in seat:
                if isinstance(happening, Happened):
                    seen.append(happening.event)
                    if happening.event.HasField("exchange_opened"):
                        [game] = [game async for game in ada.records.games()]
                        assert game.name == table
                        assert not game.HasField("end_time")
        except Superseded:
            pass
    told = await ada.records.get_game(table)
    while not told.game.end:  # each is a round trip: this does not spin
        told = await ada.records.get_game(table)
    assert any(event.HasField("dealt") for event in seen)
    return table, [*(one.event for one in told.events[: seen[0].seq - 1]), *seen]
