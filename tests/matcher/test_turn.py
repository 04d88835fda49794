"""Turns on the log in memory: what a command leaves behind, and in which order."""

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from engine import commands
from engine.commands import Command, Purpose
from engine.events import (
    Answered,
    Attached,
    Dealt,
    Marked,
    ReadyGiven,
    Record,
    RequestAnswered,
    SeatAway,
    SeatTaken,
    StartCalled,
    TableOpened,
)
from engine.rejections import Rejection
from engine.shown import Phase
from services.log.codec import (
    InBatch,
    pack_batch,
    pack_command,
    unpack_lobby_line,
    unpack_record,
)
from services.log.port import OutEntry
from services.matcher.limits import (
    GATEWAY_SILENCE_MS,
    KEEP_TIME_MS,
    TURN_BYTES_MAX,
    TURN_COMMANDS_MAX,
)
from support.conductor import Conductor, table_id
from support.world import World

HOME = 0
"""The shard most of these tests look at."""


@pytest.fixture
def world() -> World:
    return World(shards=2)


def send(world: World, *pairs: tuple[str, Command], gateway: str = "g1") -> None:
    """One in entry."""
    packed = tuple((name, pack_command(command)) for name, command in pairs)
    world.pipe.send(HOME, pack_batch(InBatch(gateway, packed)))


def entries(world: World, after: str = "0-0") -> list[OutEntry]:
    """Out entries that say something."""
    return [entry for entry in world.pipe.read(HOME, after) if entry.chunks]


def records(world: World, after: str = "0-0") -> list[Record]:
    return [
        unpack_record(chunk.table, chunk.body)
        for entry in entries(world, after)
        for chunk in entry.chunks
    ]


def kinds(record: Record) -> list[type]:
    return [type(item) for item in record.items]


def opening(world: World, name: str, number: int = 1) -> Command:
    conductor = world.conductor(0)
    command = conductor.opening(conductor.tables.setdefault(name, conductor_table(name)))
    return replace(command, request=number.to_bytes(16, "big"))


def conductor_table(name: str):  # type: ignore[no-untyped-def]
    from engine.table import Table

    return Table(name)


def join(seat: int, number: int) -> commands.Join:
    return commands.Join(number.to_bytes(16, "big"), 7, f"person{seat}", seat, b"")


def attach(seat: int, gateway: str = "g1") -> commands.Attach:
    return commands.Attach(seat, f"person{seat}", gateway, bytes(16), False, 0)


def ready(seat: int, number: int, attach_number: int = 1) -> commands.Ready:
    return commands.Ready(seat, attach_number, 1, number, 0, 0, 9, Purpose.START, bytes(16))


def seated(world: World, name: str, gateway: str = "g1") -> None:
    """A table with four persons whose streams are there."""
    send(world, (name, opening(world, name)), gateway=gateway)
    send(world, *((name, join(seat, 10 + seat)) for seat in range(4)), gateway=gateway)
    send(world, *((name, attach(seat, gateway)) for seat in range(4)), gateway=gateway)


def test_a_new_table_begins_with_its_mark_then_answer_then_events(world: World) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    send(world, (name, opening(world, name)))
    world.idle(matcher, 0.2)
    [record] = records(world)
    assert kinds(record)[:3] == [Marked, RequestAnswered, TableOpened]
    assert record.first_seq == 1
    shard = matcher.ownership.shards[HOME]
    assert record.items[0] == Marked(shard.epoch, shard.nonce)


def test_one_table_has_one_record_a_turn_and_one_mark_an_owner(world: World) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    seated(world, name)
    world.idle(matcher, 0.2)
    [record] = records(world)
    assert kinds(record).count(Marked) == 1
    assert kinds(record).count(SeatTaken) == 4
    send(world, (name, ready(0, 1)))
    world.idle(matcher, 0.2)
    [_, second] = records(world)
    assert kinds(second) == [Answered, ReadyGiven]


def test_the_answer_names_the_first_event_it_stands_before(world: World) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    seated(world, name)
    send(world, (name, ready(2, 1)), (name, ready(2, 3)), (name, ready(2, 1)))
    world.idle(matcher, 0.2)
    [record] = records(world)
    first, gap, again = (item for item in record.items if isinstance(item, Answered))
    assert (first.rejection, first.kept) == (0, True)
    assert (gap.rejection, gap.kept) == (Rejection.NUMBER_OUT_OF_RANGE, False)
    assert (again.rejection, again.kept, again.seq) == (0, False, first.seq)


def test_a_table_nobody_opened_answers_and_is_not_kept(world: World) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    send(world, (name, join(0, 1)))
    world.idle(matcher, 0.2)
    [record] = records(world)
    [answer] = record.items
    assert isinstance(answer, RequestAnswered)
    assert (answer.rejection, answer.kept) == (Rejection.TABLE_NOT_FOUND, False)
    assert record.first_seq == 1
    assert matcher.ownership.shards[HOME].tables == {}


def test_a_table_opened_right_after_somebody_knocked_is_marked_all_the_same(world: World) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    send(world, (name, join(0, 1)), (name, opening(world, name, 2)))
    world.idle(matcher, 0.2)
    [record] = records(world)
    assert kinds(record)[:4] == [RequestAnswered, Marked, RequestAnswered, TableOpened]
    assert world.agrees(matcher) > 0


def test_a_stream_is_shown_the_table_marked_by_this_owner(world: World) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    seated(world, name)
    world.idle(matcher, 0.2)
    [record] = records(world)
    shown = [item.shown for item in record.items if isinstance(item, Attached)]
    epoch = matcher.ownership.shards[HOME].epoch
    assert [view.epoch for view in shown] == [epoch] * 4
    assert [view.marks[-1].nonce for view in shown] == [matcher.ownership.shards[HOME].nonce] * 4


def test_garbage_becomes_dead_letters_and_the_rest_goes_on(world: World) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    good = pack_command(opening(world, name))
    world.pipe.send(HOME, b"\xc1 no entry at all")
    world.pipe.send(HOME, pack_batch(InBatch("g1", ((name, b"\xff"), (name, good)))))
    world.idle(matcher, 0.2)
    dead = world.store.shard(HOME).dead
    assert [(letter.index, letter.body) for letter in dead] == [
        (-1, b"\xc1 no entry at all"),
        (0, b"\xff"),
    ]
    assert len(records(world)) == 1
    assert matcher.ownership.shards[HOME].position.done == 0


def test_a_command_for_a_table_of_another_shard_is_set_aside(world: World) -> None:
    matcher = world.owner()
    stranger = table_id(1, 1)
    send(world, (stranger, opening(world, stranger)))
    world.idle(matcher, 0.2)
    [letter] = world.store.shard(HOME).dead
    assert letter.reason == "wrong shard"
    assert records(world) == []


def test_a_turn_takes_so_many_commands_and_the_next_goes_on_in_the_same_entry(
    world: World,
) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    send(world, *((name, join(0, n)) for n in range(TURN_COMMANDS_MAX + 5)))
    world.idle(matcher, 0.2)
    first, second = entries(world)
    assert first.position.done == TURN_COMMANDS_MAX
    assert second.position.done == 0
    assert second.position.entry == first.position.entry
    assert [len(record.items) for record in records(world)] == [TURN_COMMANDS_MAX, 5]


def test_a_turn_ends_when_its_output_is_large_enough(world: World) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    seated(world, name)
    world.idle(matcher, 0.2)
    before = entries(world)[-1].id
    for _ in range(8):
        send(world, *((name, attach(seat)) for seat in (0, 1, 2, 3) * 2))
    world.idle(matcher, 0.5)
    sizes = [sum(len(chunk.body) for chunk in entry.chunks) for entry in entries(world, before)]
    assert len(sizes) > 1
    assert max(sizes) <= TURN_BYTES_MAX
    attached = [
        item for record in records(world) for item in record.items if isinstance(item, Attached)
    ]
    assert [item.attach for item in attached if item.seat == 0] == list(range(1, 18))


def test_timers_run_at_their_log_time_and_not_before(world: World) -> None:
    """I12."""
    matcher = world.owner()
    name = table_id(HOME, 1)
    seated(world, name)
    world.idle(matcher, 0.2)
    send(world, *((name, ready(seat, 1)) for seat in range(4)))
    world.idle(matcher, 0.2)
    table = matcher.ownership.shards[HOME].tables[name]
    assert table.phase == Phase.SORTING
    opens_at_ms = table.opens_at_ms
    while table.phase == Phase.SORTING:
        send(world, gateway="g1")
        world.idle(matcher, 1.0)
    opened = next(entry for entry in entries(world) if entry.now_ms >= opens_at_ms)
    assert table.phase == Phase.OPEN
    assert opened.now_ms == pytest.approx(opens_at_ms, abs=2)


def test_a_table_is_started_at_its_hour_by_the_wall_clock_once(world: World) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    hour_s = int(world.now_s) + 30
    send(world, (name, replace(opening(world, name), start_at_s=hour_s)))
    send(world, *((name, join(seat, 10 + seat)) for seat in range(4)))
    world.idle(matcher, hour_s - world.now_s - 0.5)
    assert all(StartCalled not in kinds(record) for record in records(world))
    world.idle(matcher, 5.0)
    [started] = [record for record in records(world) if StartCalled in kinds(record)]
    assert Dealt in kinds(started)


def test_a_successor_starts_the_tables_whose_hour_came_while_nobody_owned_them(
    world: World,
) -> None:
    first = world.owner()
    name = table_id(HOME, 1)
    hour_s = int(world.now_s) + 30
    send(world, (name, replace(opening(world, name), start_at_s=hour_s)))
    send(world, *((name, join(seat, 10 + seat)) for seat in range(4)))
    world.idle(first, 1.0)
    world.sleep(60)
    second = world.matcher("m2")
    world.run(second, until=lambda: any(StartCalled in kinds(each) for each in records(world)))
    assert second.ownership.shards[HOME].tables[name].round == 1


def test_a_gateway_silent_for_eight_seconds_of_log_time_has_lost_its_streams(
    world: World,
) -> None:
    matcher = world.owner()
    quiet, lively = table_id(HOME, 1), table_id(HOME, 2)
    seated(world, quiet, gateway="g1")
    seated(world, lively, gateway="g2")
    for table in (quiet, lively):
        send(world, *((table, ready(seat, 1)) for seat in range(4)), gateway="g2")
    world.idle(matcher, 0.2)
    silent_since_ms = matcher.ownership.shards[HOME].clock.read(world.now_s)
    for _ in range(9):
        send(world, gateway="g2")
        world.idle(matcher, 1.0)
    away = [
        (record.table, item)
        for record in records(world)
        for item in record.items
        if isinstance(item, SeatAway)
    ]
    assert [name for name, _ in away] == [quiet] * 4
    assert away[0][1].at_ms - silent_since_ms == pytest.approx(GATEWAY_SILENCE_MS, abs=250)


def test_a_gateway_whose_last_stream_of_a_shard_has_ended_may_fall_silent(world: World) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    seated(world, name)
    world.idle(matcher, 0.2)
    send(world, *((name, commands.Detach(seat, 1)) for seat in range(4)))
    with capture_logs() as logged:
        for _ in range(9):
            send(world, gateway="g2")
            world.idle(matcher, 1.0)
    assert [line for line in logged if line["event"] == "gateway lost"] == []


def test_log_time_and_position_are_kept_now_and_then_when_nothing_else_happens(
    world: World,
) -> None:
    matcher = world.owner()
    for _ in range(5):
        send(world)
        world.idle(matcher, 1.0)
    told = [entry for entry in world.pipe.read(HOME, "0-0") if not entry.id.endswith("-0")]
    assert all(entry.chunks == () for entry in told)
    assert 3 <= len(told) <= 5
    assert told[-1].now_ms - told[0].now_ms >= 3 * KEEP_TIME_MS


def test_a_shard_without_tables_and_gateways_writes_nothing(world: World) -> None:
    matcher = world.owner()
    world.idle(matcher, 30.0)
    assert [entry.id.endswith("-0") for entry in world.pipe.read(HOME, "0-0")] == [True]


def test_the_lobby_shows_a_table_as_it_is_and_lets_it_go_when_it_closes(world: World) -> None:
    matcher = world.owner()
    name = table_id(HOME, 1)
    send(world, (name, opening(world, name)))
    world.idle(matcher, 0.2)
    lobby = world.store.shard(HOME).lobby
    line = unpack_lobby_line(lobby[name])
    assert (line.phase, line.seats, line.preset) == (Phase.SEATING, 4, "blitz")
    assert line.persons == ("",) * 4
    send(world, (name, join(2, 11)))
    world.idle(matcher, 0.2)
    assert unpack_lobby_line(lobby[name]).persons == ("", "", "person2", "")
    shard = matcher.ownership.shards[HOME]
    while name in shard.tables:  # an unstarted table closes after a quarter of an hour
        world.idle(matcher, 5.0)
        assert world.now_s < 3_000
    assert name not in world.store.shard(HOME).lobby
    world.idle(matcher, 12.0)
    assert shard.gone == set()
    assert name not in world.store.read().load(HOME).tables


def test_a_command_that_breaks_the_engine_is_set_aside_with_an_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from services.matcher import turn

    decide = turn.decide

    def fragile(table, command, now_ms, chance):  # type: ignore[no-untyped-def]
        if isinstance(command, commands.Ready) and command.seat == 1:
            raise ValueError("a bug")
        return decide(table, command, now_ms, chance)

    monkeypatch.setattr(turn, "decide", fragile)
    matcher = world.owner()
    name = table_id(HOME, 1)
    seated(world, name)
    send(world, *((name, ready(seat, 1)) for seat in range(4)))
    world.idle(matcher, 0.2)
    [letter] = world.store.shard(HOME).dead
    assert letter.reason == "undecided"
    answers = [
        (item.seat, item.rejection)
        for record in records(world)
        for item in record.items
        if isinstance(item, Answered)
    ]
    assert answers == [(0, 0), (1, Rejection.UNDECIDED), (2, 0), (3, 0)]
    assert world.agrees(matcher) > 0


def test_a_timer_that_breaks_the_engine_stops_its_table_and_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from services.matcher import turn

    decide = turn.decide
    broken, other = table_id(HOME, 1), table_id(HOME, 2)

    def fragile(table, command, now_ms, chance):  # type: ignore[no-untyped-def]
        if isinstance(command, commands.Tick) and table.table == broken:
            raise ValueError("a bug")
        return decide(table, command, now_ms, chance)

    monkeypatch.setattr(turn, "decide", fragile)
    matcher = world.owner()
    for name in (broken, other):
        seated(world, name)
        send(world, *((name, ready(seat, 1)) for seat in range(4)))
    world.idle(matcher, 0.2)
    for _ in range(10):
        send(world)
        world.idle(matcher, 1.0)
    shard = matcher.ownership.shards[HOME]
    assert set(shard.stopped) == {broken}
    assert shard.tables[other].phase == Phase.OPEN
    send(world, (broken, join(0, 99)))
    world.idle(matcher, 0.2)
    [answer] = records(world)[-1].items
    assert isinstance(answer, RequestAnswered)
    assert (records(world)[-1].first_seq, answer.rejection) == (0, Rejection.TABLE_STOPPED)


def test_whole_games_agree_with_their_log(world: World) -> None:
    """I1-I6, I8, I9 over play with everything a conductor does."""
    matcher = world.owner()
    conductor: Conductor = world.conductor(tables=6)
    world.play(conductor, matcher, trades=400)
    assert conductor.seen.rounds > 5
    assert world.agrees(matcher) > 1_000


def test_a_table_opened_as_somebody_is_told_that_there_is_none_is_handed_over(
    world: World,
) -> None:
    """In one turn: the answer of nobody made the list of items that marks a table as changed."""
    matcher = world.owner()
    name = table_id(HOME, 1)
    watch = commands.Watch("person9", b"", "g1", bytes(16))
    send(world, (name, watch), (name, opening(world, name)))
    world.idle(matcher, 0.2)
    assert name in matcher.ownership.shards[HOME].tables
    matcher.stop()
    heir = world.owner("m2")
    assert name in heir.ownership.shards[HOME].tables


def test_a_closed_table_is_not_opened_again_by_the_request_that_opened_it(world: World) -> None:
    """Its record is sealed; a second game of the same name would spoil it."""
    matcher = world.owner()
    name = table_id(HOME, 1)
    asked = opening(world, name)
    close = commands.CloseTable(bytes(15) + b"c", 7, "o1", "enough of it", "Olga")
    send(world, (name, asked))
    send(world, (name, close))
    world.idle(matcher, 0.2)
    assert name not in matcher.ownership.shards[HOME].tables
    before = entries(world)[-1].id
    send(world, (name, asked))
    world.idle(matcher, 0.2)
    [record] = records(world, before)
    [answer] = record.items
    assert isinstance(answer, RequestAnswered)
    assert answer.rejection == Rejection.TABLE_CLOSED
    assert name not in matcher.ownership.shards[HOME].tables
