"""`RecordService`: one's own games, and of any what one may see, wherever its records are."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pit.v1 import record_pb2, table_pb2

from engine import events
from engine.commands import NOBODY, Purpose, Visibility
from engine.events import AttachRefused, Event, Record
from engine.view import view
from services.archive.archiver import Archiver
from services.archive.index import FILE, GameIndex, mend
from services.archive.source import numbered
from services.gateway.convert.cards import deck_of
from services.gateway.convert.events import event_message, own_part
from services.gateway.errors import Refused
from services.gateway.records import reader
from services.log.memory import Fault, MemoryOwnerLog, MemoryReaderLog
from services.log.port import LogError
from support.recorded import Recorded, caller
from support.waiting import wait_until
from support.whole_game import GAME, ShardWriter, WholeGame

OTHER = "00" + "b" * 20
THIRD = "00" + "c" * 20


@pytest.fixture(scope="module")
def game() -> WholeGame:
    return WholeGame(seed=7).played()


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    world = Recorded(tmp_path)
    yield world
    world.close()


async def reason(work: Any) -> str:
    with pytest.raises(Refused) as refused:
        await work
    return f"{refused.value.code.name} {refused.value.why.name}: {refused.value.message}"


def happened(game: WholeGame) -> list[tuple[int, int, Event]]:
    return [
        (seq, now_ms, event) for now_ms, record in game.records for seq, event in numbered(record)
    ]


def expected(game: WholeGame, seat: int) -> list[record_pb2.SeenEvent]:
    """What a seat may see of a game in which nobody left, built from the engine's views."""
    deck, found = deck_of(game.rules), []
    for seq, now_ms, event in happened(game):
        public = event_message(view(event, NOBODY), seq, deck, {})
        seen = record_pb2.SeenEvent(event=public, log_us=now_ms * 1_000)
        own = None if seat == NOBODY else own_part(view(event, seat), seat, deck)
        if own is not None and seq > seated_at(game, seat):
            if own.HasField("received"):
                seen.received.CopyFrom(own.received)
            if own.HasField("given"):
                seen.given.CopyFrom(own.given)
        found.append(seen)
    return found


def seated_at(game: WholeGame, seat: int) -> int:
    return next(
        seq
        for seq, _, event in happened(game)
        if isinstance(event, events.SeatTaken) and event.seat == seat
    )


# ------------------------------------------------------------------ where the records are


async def test_a_game_is_told_alike_wherever_its_records_are(
    tmp_path: Path, game: WholeGame
) -> None:
    """In the log alone, in the archive alone, and with the seam between any two records."""
    count = len(game.records)
    told: list[record_pb2.GetGameResponse] = []
    for number, archived in enumerate(range(0, count + 1, 13)):
        for trimmed in (False, True):
            world = Recorded(tmp_path / f"{number}{trimmed}")
            world.split(game, archived, trimmed=trimmed and archived > 0)
            told.append(await world.whole("p1"))
            world.close()
    assert list(told[0].events) == expected(game, 1)
    assert all(one == told[0] for one in told)
    assert told[0].game.end == table_pb2.GAME_END_WON
    assert [seat.person for seat in told[0].game.seats] == [f"people/p{seat}" for seat in range(4)]
    assert [seat.score for seat in told[0].game.seats] == game.scores()
    assert told[0].game.start_time.ToMilliseconds() < told[0].game.end_time.ToMilliseconds()


async def test_a_finished_game_is_told_when_the_log_has_let_go_of_it(
    recorded: Recorded, game: WholeGame
) -> None:
    recorded.write(game)
    recorded.archiving.copy()
    recorded.store.shard(0).out.clear()
    assert list((await recorded.whole("p0")).events) == expected(game, 0)


async def test_an_append_that_is_under_way_does_no_harm(
    recorded: Recorded, game: WholeGame
) -> None:
    """The file ends in the middle of a frame, and the index does not know of it yet."""
    recorded.split(game, 20)
    path = recorded.root / "00" / f"{GAME}.pit"
    before = path.read_bytes()
    position = GameIndex(recorded.root).positions()
    recorded.archiving.copy()
    whole = path.read_bytes()
    recorded.archiving.index.write([], position)
    for length in (len(before) + 1, len(before) + 40, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert list((await recorded.whole("p0")).events) == expected(game, 0)


async def test_without_an_archive_there_is_the_log(tmp_path: Path, game: WholeGame) -> None:
    world = Recorded(tmp_path, archive=False)
    world.write(game)
    assert list((await world.whole("p0")).events) == expected(game, 0)
    world.show_in_lobby(game)
    assert [one.name for one in (await world.list("p0")).games] == [f"tables/{GAME}"]
    world.archiving.trim()
    assert (await reason(world.get("p0"))).startswith("UNAVAILABLE")
    world.close()


async def test_an_archive_that_is_far_behind_makes_one_wait(
    recorded: Recorded, game: WholeGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "ENTRIES_MAX", 64)
    recorded.split(game, 10)
    assert (await reason(recorded.get("p0"))).startswith("UNAVAILABLE TABLE_UNAVAILABLE")
    recorded.archiving.copy()
    assert (await recorded.get("p0")).events


async def test_a_store_that_cannot_be_asked_is_said_to_be_away(
    recorded: Recorded, game: WholeGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded.write(game)
    recorded.store.fault = lambda _operation: Fault.REFUSED
    with pytest.raises(LogError):
        await recorded.get("p0")


async def test_a_history_that_went_back_is_never_mixed_with_the_new_one(
    recorded: Recorded, game: WholeGame
) -> None:
    """The archive is ahead of the store until the archiver sees it; nobody is told a mixture."""
    recorded.write(game, up_to=30)
    recorded.archiving.copy()
    recorded.store.lose_tail(1 + 5)
    assert len(recorded.store.shard(0).out) == 1 + 25, "a barrier and what is left"
    recorded.archiving.writer = ShardWriter(MemoryOwnerLog(recorded.store), b"the-next-owner-s")
    recorded.write(game, after=25, up_to=27)
    assert (await reason(recorded.get("p0"))).startswith("UNAVAILABLE TABLE_UNAVAILABLE")
    recorded.archiving.copy()
    told = await recorded.whole("p0")
    assert list(told.events) == expected(game, 0)[: len(told.events)]
    assert len(told.events) == sum(len(list(numbered(record))) for _, record in game.records[:27])
    assert (await recorded.list("p0")).games == [told.game]


async def test_a_damaged_game_is_not_told(recorded: Recorded, game: WholeGame) -> None:
    recorded.write(game)
    recorded.archiving.copy()
    path = recorded.root / "00" / f"{GAME}.pit"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert (await reason(recorded.get("p0"))).startswith("UNAVAILABLE TABLE_STOPPED")


async def test_the_loop_goes_on_while_a_disk_is_slow(
    recorded: Recorded, game: WholeGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded.write(game)
    recorded.archiving.copy()
    disk, read = threading.Event(), recorded.reader._archive.read  # type: ignore[union-attr]

    def slow(name: str) -> bytes | None:
        assert disk.wait(30)
        return read(name)

    monkeypatch.setattr(recorded.reader._archive, "read", slow)
    asking = [asyncio.create_task(recorded.get("p0")) for _ in range(reader.WAITING_MAX)]
    await asyncio.sleep(0)
    assert (await reason(recorded.get("p0"))).startswith("UNAVAILABLE"), "one too many"
    assert not any(task.done() for task in asking)
    disk.set()
    assert len(await asyncio.gather(*asking)) == reader.WAITING_MAX


# ------------------------------------------------------------------ who may see what


@pytest.mark.parametrize("page_size", [1, 7, 1_000])
async def test_pages_are_gap_free(recorded: Recorded, game: WholeGame, page_size: int) -> None:
    recorded.split(game, 25)
    told = await recorded.whole("p3", page_size)
    assert list(told.events) == expected(game, 3)
    assert [one.event.seq for one in told.events] == list(range(1, len(told.events) + 1))


async def test_a_spectator_is_shown_no_card_of_a_hand(recorded: Recorded, game: WholeGame) -> None:
    recorded.write(game)
    told = await recorded.whole("somebody")
    assert list(told.events) == expected(game, NOBODY)
    assert not any(one.HasField("received") or one.HasField("given") for one in told.events)
    for one in told.events:
        if one.event.HasField("committed"):
            assert one.event.committed.commitment
    scored = [one.event.round_scored for one in told.events if one.event.HasField("round_scored")]
    assert all(len(one.seed) == 48 for one in scored), "from here on starting hands are public"


async def test_own_cards_are_those_of_a_seat_one_held_at_that_time(recorded: Recorded) -> None:
    game = WholeGame("blitz", 4, seed=3).trading()
    game.offer(0, game.hand(0) & -game.hand(0))
    game.leave("p0")
    left = game.table.seq
    game.attach(0, bot=True)
    game.offer(0, game.hand(0) & -game.hand(0), generation=game.table.seats[0].current.generation)
    game.join("p9", 0)
    taken = game.table.seq
    game.attach(0)
    game.offer(0, game.hand(0) & -game.hand(0), limit_ms=2_000)
    recorded.write(game)
    told = {person: (await recorded.whole(person)).events for person in ("p0", "p9")}
    own = {
        person: [one.event.seq for one in seen if one.HasField("received")]
        for person, seen in told.items()
    }
    assert len(own["p0"]) == 2, "the deal and an offer"
    assert max(own["p0"]) < left
    assert len(own["p9"]) == 1
    assert min(own["p9"]) > taken
    shown = (await recorded.get("p1")).game
    assert shown.seats[0].person == "people/p9"
    assert [one.name for one in (await recorded.list("p9")).games] == []
    recorded.show_in_lobby(game)
    for person in ("p0", "p9"):
        recorded.archiving.copy()
        assert [one.name for one in (await recorded.list(person)).games] == [f"tables/{GAME}"]


@pytest.mark.parametrize("archived", [False, True])
async def test_a_private_game_does_not_exist_for_strangers(
    recorded: Recorded, archived: bool
) -> None:
    game = WholeGame("blitz", 3, seed=4)
    invite = b"i" * 32
    game.dealt(visibility=int(Visibility.PRIVATE), invite_hash=invite)
    game.leave("p2")
    recorded.write(game)
    if archived:
        recorded.archiving.copy()
    stranger = await reason(recorded.get("somebody"))
    assert stranger == await reason(recorded.get("somebody", OTHER))
    assert stranger == "NOT_FOUND TABLE_NOT_FOUND: table not found"
    for person in ("p0", "p1", "p2"):
        assert (await recorded.get(person)).game.name == f"tables/{GAME}"


async def test_a_table_that_was_only_asked_for_is_not_found(recorded: Recorded) -> None:
    refused = Record(OTHER, 1, (AttachRefused(0, "g1", bytes(16), 1),))
    recorded.archiving.writer.write(1_000, refused)
    assert (await reason(recorded.get("p0", OTHER))).startswith("NOT_FOUND")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": "somewhere"}, "must be tables/{table}"),
        ({"name": "tables/99" + "a" * 20}, "names no shard"),
        ({"name": f"tables/{GAME}", "after_seq": -1}, "after_seq: 0 or more"),
        ({"name": f"tables/{GAME}", "page_size": 1_001}, "page_size: 0 to 1000"),
        ({"name": f"tables/{GAME}", "page_size": -1}, "page_size: 0 to 1000"),
    ],
)
async def test_bad_requests_for_a_game(
    recorded: Recorded, fields: dict[str, Any], says: str
) -> None:
    request = record_pb2.GetGameRequest(**fields)
    found = await reason(recorded.service.get_game(caller("p0"), request))
    assert found.startswith("INVALID_ARGUMENT")
    assert says in found


async def test_after_the_last_event_there_is_nothing(recorded: Recorded, game: WholeGame) -> None:
    recorded.write(game)
    told = await recorded.get("p0", after_seq=10**12)
    assert not told.events
    assert not told.HasField("next_after_seq")
    assert told.game.rounds == game.table.round


# ------------------------------------------------------------------ one's own games


@pytest.fixture
def three(recorded: Recorded) -> Recorded:
    """Two finished games and one that goes on, begun in this order."""
    for number, name in enumerate((GAME, OTHER)):
        game = WholeGame("blitz", 4, seed=number)
        game.now_ms += 100_000 * number
        game.played()
        recorded.write(game, name)
    recorded.archiving.copy()
    running = WholeGame("basic", 3, seed=9)
    running.now_ms += 900_000
    running.played(rounds=2)
    recorded.running = running  # type: ignore[attr-defined]
    return recorded


def names(told: record_pb2.ListGamesResponse) -> list[str]:
    return [one.name.removeprefix("tables/") for one in told.games]


async def test_games_are_listed_newest_first_and_once(three: Recorded) -> None:
    running = three.running  # type: ignore[attr-defined]
    assert names(await three.list("p0")) == [OTHER, GAME]
    three.write(running, THIRD, up_to=20)
    three.show_in_lobby(running, THIRD)
    assert names(await three.list("p0")) == [THIRD, OTHER, GAME], "it is in the log alone"
    three.archiving.copy()
    assert names(await three.list("p0")) == [THIRD, OTHER, GAME], "in the archive, too"
    assert names(await three.list("p3")) == [OTHER, GAME], "has no seat at the third"
    assert names(await three.list("somebody")) == []


async def test_a_damaged_table_hides_no_other_game(three: Recorded) -> None:
    running = three.running  # type: ignore[attr-defined]
    three.write(running, THIRD, up_to=20)
    three.show_in_lobby(running, THIRD)
    newest = three.store.shard(0).out[-1].id
    three.store.damage_chunk(0, newest, THIRD)
    assert names(await three.list("p0")) == [OTHER, GAME]


async def test_a_listed_game_is_as_it_is_now(three: Recorded) -> None:
    running = three.running  # type: ignore[attr-defined]
    three.write(running, THIRD, up_to=20)
    three.archiving.copy()
    three.write(running, THIRD, after=20)
    [newest, *_] = (await three.list("p0")).games
    assert newest == (await three.get("p0", THIRD)).game
    assert [seat.score for seat in newest.seats] == running.scores()
    assert not newest.HasField("end_time")
    for one in (await three.list("p0")).games:
        assert one == (await three.get("p0", one.name.removeprefix("tables/"))).game


async def test_pages_of_games(three: Recorded) -> None:
    running = three.running  # type: ignore[attr-defined]
    three.write(running, THIRD)
    three.show_in_lobby(running, THIRD)
    found, token = [], ""
    for _ in range(3):
        page = await three.list("p0", page_size=1, page_token=token)
        found += names(page)
        token = page.next_page_token
        three.archiving.copy()
    assert (found, token) == ([THIRD, OTHER, GAME], "")


@pytest.mark.parametrize(
    "fields",
    [
        {"page_size": 101},
        {"page_size": -1},
        {"page_token": "?"},
        {"page_token": "ü"},
        {"page_token": "MTIz"},
        {"page_token": "OTk5OTk5OTk5OTk5OTk5OTk5OTkuMDBhYWFhYWFhYWFhYWFhYWFhYWFhYQ=="},
    ],
)
async def test_bad_requests_for_a_list(recorded: Recorded, fields: dict[str, Any]) -> None:
    assert (await reason(recorded.list("p0", **fields))).startswith("INVALID_ARGUMENT")


async def test_a_table_that_was_never_dealt_is_no_game_of_anybody(recorded: Recorded) -> None:
    game = WholeGame("blitz", 4)
    game.seated()
    game.leave("p3")
    recorded.write(game)
    recorded.show_in_lobby(game)
    recorded.archiving.copy()
    assert names(await recorded.list("p0")) == []
    assert (await recorded.get("p0")).events
    for seat in range(3):
        game.ready(seat, Purpose.START)
    game.start("p0")
    before = len(game.records)
    recorded.write(game, after=before - 1)
    assert names(await recorded.list("p3")) == [], "left before the deal"


async def test_an_index_that_was_lost_is_made_anew(three: Recorded) -> None:
    (three.root / FILE).unlink()
    assert names(await three.list("p0")) == []
    index = GameIndex(three.root, writing=True)
    assert list(mend(index, three.archiving.archive)) == [2]
    assert names(await three.list("p0")) == [OTHER, GAME]
    (three.root / "00" / f"{OTHER}.pit").unlink()
    assert list(mend(index, three.archiving.archive)) == []
    assert names(await three.list("p0")) == [GAME]
    index.close()


async def test_an_index_that_cannot_be_read_says_so(three: Recorded) -> None:
    (three.root / FILE).write_bytes(b"no database at all, but long enough to be one" * 40)
    assert (await reason(three.list("p0"))).startswith("UNAVAILABLE")


async def test_names_stand_beside_persons(three: Recorded) -> None:
    await three.people.keep_name("p0", "Ada", 60)
    [newest, *_] = (await three.list("p0")).games
    assert [seat.display_name for seat in newest.seats] == ["Ada", "", "", ""]


def test_the_archiver_tells_the_index_before_the_store(
    recorded: Recorded, game: WholeGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the log may let go must be found by whoever reads the index."""
    recorded.write(game)
    log, copier = MemoryReaderLog(recorded.store), recorded.archiving.copier
    recorded.archiving.read()
    write = recorded.archiving.index.write

    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(recorded.archiving.index, "write", fail)
    with pytest.raises(OSError, match="no space"):
        copier.flush()
    assert log.archived_up_to(0) == "0-0"
    monkeypatch.setattr(recorded.archiving.index, "write", write)
    copier.flush()
    assert log.archived_up_to(0) == recorded.store.shard(0).out[-1].id
    assert GameIndex(recorded.root).positions() == {0: log.archived_up_to(0)}


def test_a_damaged_index_is_made_anew_by_the_archiver(three: Recorded) -> None:
    stop = threading.Event()
    copier = three.archiving.copier
    parts = three.archiving
    archiver = Archiver([copier], parts.source, parts.archive, parts.index, 30)
    three.archiving.index.close()
    (three.root / FILE).write_bytes(b"no database at all, but long enough to be one" * 40)
    running = threading.Thread(target=archiver.run, args=(stop,))
    running.start()
    index = GameIndex(three.root)
    try:
        wait_until(lambda: len(known(index)) == 2)
    finally:
        stop.set()
        running.join()
    assert known(index) == {GAME, OTHER}


def known(index: GameIndex) -> set[str]:
    try:
        return index.known()
    except OSError:
        return set()
