"""The engine and its naive twin take the same seeded commands and must agree in everything.

After every command: the same events in the same order, the same answer, the same next deadline.
As they go: the same digest of the whole table. The twin (`support.twin`) is written from the
rule book with lists and scans, and shares no logic with the engine.
"""

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from engine import events
from engine.check import check
from engine.commands import NOBODY, Command
from engine.decide import decide
from engine.evolve import evolve
from engine.rejections import Rejection
from engine.shown import Phase
from engine.state import Table, digest, digest_of, dump
from engine.view import show as engine_show
from support.differences import difference
from support.play import Play
from support.twin import timers
from support.twin.door import give
from support.twin.plain import named, plain
from support.twin.rounds import rig
from support.twin.table import Outcome, mark, show

SEED = int(os.environ.get("PIT_TWIN_SEED", "27"))
QUICK_COMMANDS = 6_000
"""In `make test`."""
ALL_COMMANDS = 100_000
"""In `make test-all`, in equal parts that can run side by side."""
PARTS = 4
CORNERS_OF_EACH_KIND = 500

NEW_OWNER_SHARE = 0.01
"""After how many of the commands the table gets another owner."""

# Given by the matcher for commands that are never decided.
NOT_FROM_DECIDE = {"TABLE_STOPPED", "UNDECIDED"}


@dataclass
class Tally:
    """What a run came across."""

    commands: int = 0
    accepted: int = 0
    rejections: Counter[Rejection] = field(default_factory=Counter)
    corners: Counter[events.Corner] = field(default_factory=Counter)
    ends: Counter[events.End] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)

    def note(self, outcome: Outcome) -> None:
        self.commands += 1
        rejection = getattr(outcome.answer, "rejection", 0)
        if rejection:
            self.rejections[Rejection(rejection)] += 1
        elif outcome.answer is not None or outcome.events:
            self.accepted += 1
        for event in outcome.events:
            self.events[type(event).__name__] += 1
            if isinstance(event, events.Cornered):
                self.corners[events.Corner(event.kind)] += 1
            if isinstance(event, events.GameEnded):
                self.ends[events.End(event.end)] += 1


class Duel:
    """Both sides, one table after another."""

    def __init__(self, seed: int, *, rigged: bool = True) -> None:
        """`rigged`: deals come near a corner."""
        self.seed = seed
        self.play = Play(seed, rigged=rigged)
        self.chance = Random(seed + 1)
        self.table = Table(self.play.twin.table_id)
        self.tally = Tally()

    def run(self, commands: int, digest_every: int) -> Tally:
        for number in range(1, commands + 1):
            command = self.play.next()
            if self.play.twin.seq == 0:
                self.table = Table(self.play.twin.table_id)
            self.step(number, command, number % digest_every == 0)
            if self.chance.random() < NEW_OWNER_SHARE and self.play.twin.seq:
                self.new_owner()
        return self.tally

    def new_owner(self) -> None:
        """Another matcher owns the table from here on."""
        note = events.Marked(self.chance.getrandbits(40), self.chance.randbytes(16))
        mark(self.play.twin, note)
        evolve(self.table, note)

    def step(self, number: int, command: Command, with_digest: bool) -> None:
        now_ms, twin = self.play.now_ms, self.play.twin
        seed = self.chance.getrandbits(384).to_bytes(48, "big")
        expected = give(twin, command, now_ms, lambda size: seed[:size])
        found, answer = decide(self.table, command, now_ms, lambda size: seed[:size])
        place = f"PIT_TWIN_SEED={self.seed}, command {number}, at {now_ms} ms: {command}"
        if expected.answer != answer or expected.events != list(found):
            pytest.fail(f"{place}\n{difference(expected, Outcome(list(found), answer))}")
        place += f"\n{expected}"
        self.apply(found, answer)
        self.tally.note(expected)
        self.play.saw(expected.events)
        if twin.phase == Phase.NEW:
            return
        if with_digest and digest_of(plain(twin)) != digest(self.table):
            pytest.fail(f"{place}\n{difference(named(plain(twin)), named(dump(self.table)))}")
        if with_digest:
            self.compare_views(place)
        wake_ms = timers.wake_at_ms(twin), self.table.wake_at_ms
        if wake_ms[0] != wake_ms[1]:
            pytest.fail(f"{place}\nnext deadline: expected %s, found %s" % wake_ms)

    def compare_views(self, place: str) -> None:
        """What a stream would be shown now, whoever asks."""
        twin = self.play.twin
        for viewer in (NOBODY, *range(len(twin.chairs))):
            found = engine_show(self.table, viewer)
            expected = show(twin, viewer, found.at_ms)
            if expected != found:
                pytest.fail(f"{place}\nshown to {viewer}:\n{difference(expected, found)}")

    def apply(self, found: list[events.Event], answer: events.Note | None) -> None:
        """The note, then the events; a deal may come out as the test wants it, on both sides."""
        if answer is not None:
            evolve(self.table, answer)
        for event in found:
            evolve(self.table, self.rigged(event))
            check(self.table)

    def rigged(self, event: events.Event) -> events.Event:
        hands = self.play.rig() if isinstance(event, events.Dealt) else None
        if hands is None:
            return event
        rig(self.play.twin, hands)
        return replace(event, hands=hands)


def test_twin_and_engine_agree() -> None:
    tally = Duel(SEED).run(QUICK_COMMANDS, digest_every=1)
    assert tally.accepted >= 0.3 * tally.commands
    assert set(tally.corners) == set(events.Corner)


@pytest.mark.all
def test_twin_and_engine_agree_when_hands_are_as_they_are_drawn() -> None:
    """Few corners, so long rounds, idle seats, void rounds and games that end without a winner:
    this seed has one that ends in the middle of a sudden death, and a round voided late."""
    tally = Duel(5, rigged=False).run(40_000, digest_every=50)
    assert tally.ends[events.End.NO_PEOPLE] > 5
    assert tally.events["RoundVoid"] > 20


@pytest.mark.all
@pytest.mark.parametrize("part", range(PARTS))
def test_twin_and_engine_agree_for_long(part: int) -> None:
    tally = Duel(SEED + 1 + part).run(ALL_COMMANDS // PARTS, digest_every=4)
    reached = {rejection.name for rejection in tally.rejections}
    corners = min(tally.corners[kind] for kind in events.Corner)
    assert tally.commands == ALL_COMMANDS // PARTS
    assert tally.accepted >= 0.3 * tally.commands
    assert reached == {rejection.name for rejection in Rejection} - NOT_FROM_DECIDE
    assert corners >= CORNERS_OF_EACH_KIND // PARTS, tally
    assert {"RematchAgreed", "RematchFailed"} <= set(tally.events)
    assert set(tally.ends) >= set(events.End) - {events.End.SHARED}, tally
