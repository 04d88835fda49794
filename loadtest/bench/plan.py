"""Commands for the core's benchmarks: whole rounds played at many tables, planned beforehand.

A plan is made by playing once: a player at each table collects the suit it has most of, rings
when it can, and now and then takes an offer back or asks for something impossible. What is kept
is how to build each command, so that a measured run, which starts from equal tables, builds the
same commands inside its clock and meets the same state.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from engine import commands as c
from engine import events as e
from engine.cards import BULL, LANES, ONE, counts
from engine.commands import NOBODY, AbsentPolicy, Purpose, Visibility
from engine.decide import decide
from engine.evolve import evolve
from engine.rules import BLITZ
from engine.score import corner
from engine.shown import Phase
from engine.table import Seat, Table

SEATS = 4
RULES = replace(BLITZ, target=10_000, idle_s=300, round_cap_s=3_600)
"""Blitz without its early end, so that the tables outlast the measurement."""
GOAL = {"open": 50, "traded": 35, "withdrawn": 5, "refused": 8, "ready and bells": 2}
"""The mix of commands aimed at, in percent."""
AIMLESS = 380
"""Events of a round in which cards just change hands, so that corners come as seldom as the mix
says: players who collect from the first card on end a round of four in some 60 commands."""

CONTENTS = [Random(0).getrandbits(64) for _ in range(256)]
SHARED: dict[int, int] = {}
"""One object for equal numbers: what a decoder has just made is in the cache, what a plan made
long ago would not be."""

Step = tuple[Callable[..., c.SeatCommand], int, tuple[Any, ...]]
"""What builds the command, table, arguments."""


def no_chance(count: int) -> bytes:
    """The server's seeds: the same in every run. The seats' nonces make the deals differ."""
    return bytes(count)


def tables_ready(
    count: int, seed: int, asked_of: list[list[c.Command]] | None = None
) -> list[Table]:
    """Tables with all seats attached and the first round open; `asked_of` gets, for each table,
    the commands that made it so."""
    random = Random(seed)
    tables = []
    for number in range(count):
        table = Table(f"{number % 16:02}{number:020}")
        opening = c.OpenTable(
            random.randbytes(16), number, "p0", RULES, SEATS, "", int(Visibility.PUBLIC),
            int(AbsentPolicy.BOT), True, False, b"",
        )  # fmt: skip
        asked: list[c.Command] = [opening]
        for seat in range(SEATS):
            person = f"p{seat}"
            asked.append(c.Join(random.randbytes(16), seat, person, seat, b""))
            asked.append(c.Attach(seat, person, "gateway", random.randbytes(16), False, 0))
        for command in asked:
            _apply(table, command, random)
        for purpose in (Purpose.START, Purpose.OPEN):
            for seat in range(SEATS):
                nonce = random.randbytes(16) if purpose == Purpose.START else b""
                args = (seat, 1, 1, table.seats[seat].current.last + 1, table.round, table.seq, 0)
                asked.append(c.Ready(*args, purpose, nonce))
                _apply(table, asked[-1], random)
        if asked_of is not None:
            asked_of.append(asked)
        assert table.phase == Phase.OPEN
        tables.append(table)
    return tables


def _apply(table: Table, command: c.Command, random: Random) -> None:
    events, answer = decide(table, command, 1_000_000, no_chance)
    if answer is not None:
        evolve(table, answer)
    for event in events:
        evolve(table, event)


class Planner:
    """Plays `steps` commands at `tables` and notes how each was built."""

    def __init__(self, tables: list[Table], seed: int) -> None:
        self.tables = tables
        self.random = Random(seed)
        self.steps: list[Step] = []
        self.items: list[tuple[int, e.Event | e.Note]] = []
        """(table, event or note) in order, for the replay."""
        self.mix: Counter[str] = Counter()
        self.begun = [table.seq - self.random.randrange(AIMLESS) for table in tables]
        """By table, the event its round began with; the first rounds end one after the other."""

    def run(self, steps: int) -> None:
        while len(self.steps) < steps:
            number = self.random.randrange(len(self.tables))
            table = self.tables[number]
            if table.phase == Phase.OPEN:
                aimless = table.seq - self.begun[number] < AIMLESS
                self.give(number, *self.in_the_pit(table, aimless))
            else:
                self.begun[number] = table.seq
                purpose = Purpose.NEXT if table.phase == Phase.BETWEEN else Purpose.OPEN
                bit = 1 << purpose
                seat = next(i for i, held in enumerate(table.seats) if not held.ready & bit)
                nonce = self.random.randbytes(16) if purpose == Purpose.NEXT else b""
                self.give(number, c.Ready, seat, (purpose, nonce))

    def in_the_pit(
        self, table: Table, aimless: bool
    ) -> tuple[Callable[..., c.SeatCommand], int, tuple[Any, ...]]:
        """What some player does next while the exchange is open."""
        random = self.random
        index = random.randrange(SEATS)
        seat = table.seats[index]
        done = sum(self.mix.values()) or 1
        if self.mix["refused"] < done * GOAL["refused"] / 100:
            return (c.RingBell, index, (0,)) if random.random() < 0.5 else (c.Offer, index, (
                4 * ONE[table.suits[0]] if counts(seat.hand)[table.suits[0]] < 4 else 5, -1,
                False, 0,
            ))  # fmt: skip
        if seat.offer_size and self.mix["withdrawn"] < done * GOAL["withdrawn"] / 100:
            return c.Withdraw, index, ()
        return self.collect(table, index, seat, aimless)

    def collect(
        self, table: Table, index: int, seat: Seat, aimless: bool
    ) -> tuple[Callable[..., c.SeatCommand], int, tuple[Any, ...]]:
        """Keep the suit held most, offer of the others; ring when that makes a corner."""
        held = counts(seat.hand)
        wanted = max(table.suits, key=lambda lane: (held[lane], -((lane + index) % SEATS)))
        if aimless:
            wanted = self.random.choice([lane for lane in table.suits if held[lane] < 8])
        elif corner(seat.hand, wanted, table.rules)[0]:
            return c.RingBell, index, (wanted,)
        lots = [
            ONE[lane] * size
            for lane in range(LANES)
            if lane not in (wanted, BULL)
            for size in range(1, min(held[lane], 4) + 1)
        ]
        answered = [lot for lot in lots if table.anyone[table.lots[lot]] not in (NOBODY, index)]
        alone = [lot for lot in lots if table.anyone[table.lots[lot]] in (NOBODY, index)]
        done = sum(self.mix.values()) or 1
        short = self.mix["open"] < done * GOAL["open"] / 100
        chosen = (alone if short else answered) or lots
        return c.Offer, index, (self.random.choice(chosen), NOBODY, False, 0)

    def give(
        self,
        number: int,
        kind: Callable[..., c.SeatCommand],
        index: int,
        own: tuple[Any, ...],
    ) -> None:
        table = self.tables[number]
        seat = table.seats[index]
        common = (index, seat.attach, seat.current.generation, seat.current.last + 1, table.round)
        args = (*common, table.seq, self.random.choice(CONTENTS), *own)
        args = tuple(SHARED.setdefault(arg, arg) if type(arg) is int else arg for arg in args)
        self.steps.append((kind, number, args))
        events, answer = decide(table, kind(*args), 1_000_000, no_chance)
        assert isinstance(answer, e.Answered)
        for item in (answer, *events):
            evolve(table, item)
            self.items.append((number, item))
        self.mix[_kind_of(answer, events)] += 1


def _kind_of(answer: e.Answered, events: tuple[e.Event, ...]) -> str:
    if answer.rejection:
        return "refused"
    first = type(events[0])
    names = {e.OfferOpened: "open", e.Traded: "traded"}
    if first is e.OfferEnded and len(events) == 1:
        return "withdrawn"
    return names.get(first, "ready and bells")
