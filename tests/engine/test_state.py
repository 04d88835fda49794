"""Tables as data: dumped, loaded, digested, replayed (I6, I9), and their deadlines (I12)."""

from random import Random

import pytest

from engine import events as e
from engine.cards import LANES, counts
from engine.check import InvariantBroken, check
from engine.commands import Purpose, Tick
from engine.decide import decide
from engine.evolve import evolve
from engine.limits import MARKS_KEPT
from engine.score import corner
from engine.shown import Phase
from engine.state import digest, dump, gateways, load
from engine.table import Table
from support.playing import Playing

PLAIN = (int, str, bytes, bool, type(None))


def a_life(seed: int) -> Playing:
    """A blitz game with streams that break, bots, limits and direction; not always to its end."""
    random = Random(seed)
    playing = Playing("blitz", 4, seed).dealt()
    for _ in range(400):
        table = playing.table
        seat = random.randrange(4)
        held = table.seats[seat]
        if table.phase == Phase.BETWEEN and held.holder and not held.ready:
            playing.ready(seat, Purpose.NEXT, random.randbytes(16))
        elif held.bot_wanted:
            playing.attach(seat, bot=True)
        elif table.phase == Phase.OPEN and held.holder:
            _one_act(playing, seat, random)
        elif random.random() < 0.2 and held.person:
            playing.attach(seat, resume=random.choice([0, held.numbers[0].generation]))
        playing.wait(random.choice([0, 50, 400, 2_000]))
        if random.random() < 0.01:
            playing.apply(e.Marked(random.getrandbits(40), random.randbytes(16)))
    return playing


def _one_act(playing: Playing, seat: int, random: Random) -> None:
    held = playing.table.seats[seat]
    best = max(range(LANES - 2), key=lambda lane: counts(held.hand)[lane])
    chance = random.random()
    if corner(held.hand, best, playing.rules)[0]:
        playing.ring(seat, best)
    elif chance < 0.03:
        playing.detach(seat)
    elif chance < 0.1:
        playing.withdraw(seat)
    elif chance < 0.2:
        playing.ring(seat, random.randrange(7))
    else:
        lanes = [lane for lane in range(LANES) if counts(held.hand)[lane] and lane != best]
        if lanes:
            lot = 1 << 5 * random.choice(lanes)
            direction = random.choice([-1, -1, (seat + 1) % 4])
            playing.offer(seat, lot, directed_at=direction, limit_ms=random.choice([0, 0, 1_500]))


@pytest.mark.parametrize("seed", range(5))
def test_evolve_alone_rebuilds_the_table(seed: int) -> None:
    """I9: over events and notes; I6: each event raises seq by one, a note does not."""
    assert_rebuilt(a_life(seed))


def assert_rebuilt(playing: Playing) -> None:
    rebuilt = Table(playing.table.table)
    for item in playing.items:
        before = rebuilt.seq
        evolve(rebuilt, item)
        assert rebuilt.seq == before + isinstance(item, e.Event)
    assert digest(rebuilt) == digest(playing.table)
    assert dump(rebuilt) == dump(playing.table)
    assert rebuilt.wake_at_ms == playing.table.wake_at_ms


@pytest.mark.all
def test_a_hundred_more_lives_are_rebuilt() -> None:
    for seed in range(100, 200):
        assert_rebuilt(a_life(seed))


def test_what_was_dumped_before_places_were_kept_is_loaded_without_them() -> None:
    playing = Playing("blitz", 4).dealt()
    plain = dump(playing.table)
    assert [seat[0].pop() for seat in plain[6]] == [0, 0, 0, 0]
    assert digest(load(plain)) == digest(playing.table)
    while playing.table.phase != Phase.ENDED:
        playing.corner(0)
        playing.next_round()
    plain = dump(playing.table)
    assert min(seat[0].pop() for seat in plain[6]) == 1
    over = load(plain)
    check(over)
    assert [seat.place for seat in over.seats] == [0, 0, 0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_a_loaded_table_is_the_table_that_was_dumped(seed: int) -> None:
    """At any moment, worked-out fields included: from there on both live the same life."""
    playing = a_life(seed)
    half = len(playing.items) // 2
    table = Table(playing.table.table)
    for item in playing.items[:half]:
        evolve(table, item)
    loaded = load(dump(table))
    for item in playing.items[half:]:
        evolve(table, item)
        evolve(loaded, item)
        assert loaded.wake_at_ms == table.wake_at_ms
    check(loaded)
    assert digest(loaded) == digest(playing.table)
    for name in ("anyone", "directed", "due_ms", "idle_limit_ms"):
        assert getattr(loaded, name) == getattr(playing.table, name)
    assert loaded.lots is playing.table.lots


def test_a_dump_is_plain_data() -> None:
    def plain(held: object) -> bool:
        if type(held) is list:
            return all(plain(part) for part in held)
        return type(held) in PLAIN

    assert plain(dump(a_life(1).table))


def test_a_digest_sees_every_field() -> None:
    table = a_life(2).table
    first = digest(table)
    table.seats[2].penalties += 1
    assert digest(table) != first


@pytest.mark.parametrize("seed", range(5))
def test_what_wakes_a_table_is_due_and_nothing_is_due_before(seed: int) -> None:
    """I12, and the owner's loop ends: `wake_at_ms` moves on, or there are events."""
    table = a_life(seed).table
    for _ in range(200):
        wake_ms = table.wake_at_ms
        if not wake_ms:
            break
        assert decide(table, Tick(), wake_ms - 1, bytes) == ((), None)
        events, note = decide(table, Tick(), wake_ms, bytes)
        assert events
        assert note is None
        for event in events:
            evolve(table, event)
    assert table.phase == Phase.CLOSED, "left alone, every table closes"


def test_the_last_eight_marks_are_kept() -> None:
    table = Table("00aaaaaaaaaaaaaaaaaaaa")
    for epoch in range(1, 12):
        evolve(table, e.Marked(epoch, bytes([epoch]) * 16))
    assert [mark.epoch for mark in table.marks] == list(range(4, 12))
    assert len(table.marks) == MARKS_KEPT
    assert table.epoch == 11
    assert table.marks[-1].first_seq == 1


def test_gateways_are_those_with_streams_now() -> None:
    playing = Playing("blitz", 4).trading()
    playing.attach(1, gateway="g2")
    playing.detach(2)
    assert gateways(playing.table) == {"g1", "g2"}
    for seat in range(4):
        playing.detach(seat)
    assert gateways(playing.table) == set()


# ------------------------------------------------------------------ invariants that must be able to break


def broken_tables() -> dict[str, Table]:
    def spoil(number: int) -> Table:
        playing = Playing("blitz", 4).trading({0: "4 wheat"})
        playing.offer(0, 2)
        playing.offer(1, playing.hand(1) & -playing.hand(1), directed_at=2)
        table = playing.table
        spoilers = [
            lambda: setattr(table.seats[2], "hand", table.seats[2].hand + 1),
            lambda: (setattr(table.seats[2], "hand", table.seats[2].hand + (1 << 5)),
                     setattr(table.seats[3], "hand", table.seats[3].hand - (1 << 5))),
            lambda: setattr(table.seats[0], "offer_lot", 5),
            lambda: setattr(table.seats[0], "offer_lot", 2 << 30),
            lambda: table.anyone.__setitem__(2, -1),
            lambda: table.anyone.__setitem__(3, 2),
            lambda: setattr(table, "directed", {}),
            lambda: setattr(table.seats[0], "offer_size", 0),
            lambda: setattr(table, "phase", int(Phase.BETWEEN)),
            lambda: setattr(table.seats[1], "person", "p0"),
            lambda: setattr(table.seats[0], "holder", 77),
            lambda: setattr(table.seats[0].current, "generation", 0),
        ]  # fmt: skip
        spoilers[number]()
        return table

    return {f"fault {number}": spoil(number) for number in range(12)}


@pytest.mark.parametrize(("name", "table"), list(broken_tables().items()))
def test_the_check_finds_what_is_broken(name: str, table: Table) -> None:
    with pytest.raises(InvariantBroken):
        check(table)
