"""Whatever happens at a table, a view kept by events is what a new snapshot would show.

The commands are those of the engine's own test against its twin: people, bots, lost streams,
careless clients and an operator who freezes, voids, corrects and announces.
"""

from collections import Counter
from dataclasses import replace
from random import Random

from pit.v1 import table_pb2

from engine.commands import NOBODY
from engine.decide import decide
from engine.events import Dealt, Event
from engine.evolve import evolve
from engine.table import Table
from engine.view import show, view
from services.client.view import TableView
from services.gateway.convert.cards import deck_of
from services.gateway.convert.events import concerned, event_message, own_part
from services.gateway.convert.tables import snapshot_message
from support.play import Play
from support.twin.door import give
from support.twin.rounds import rig
from support.views import known

COMMANDS = 6_000
NO_CARDS = table_pb2.Cards()
FROM_OPERATORS = {"frozen", "resumed", "round_void", "score_adjusted"}


class Watched:
    """One table after another, each with a view for every seat and one for a spectator."""

    def __init__(self, seed: int) -> None:
        self.play = Play(seed)
        self.chance = Random(seed + 1)
        self.seen: Counter[str] = Counter()
        self.table = Table(self.play.twin.table_id)
        self.views: dict[int, TableView] = {}

    def step(self) -> None:
        command = self.play.next()
        twin, now_ms = self.play.twin, self.play.now_ms
        if twin.seq == 0:
            self.table = Table(twin.table_id)
            self.views = {}
        seed = self.chance.getrandbits(384).to_bytes(48, "big")
        told = give(twin, command, now_ms, lambda size: seed[:size])
        found, answer = decide(self.table, command, now_ms, lambda size: seed[:size])
        if answer is not None:
            evolve(self.table, answer)
        for event in found:
            self.happened(self.rigged(event))
        self.play.saw(told.events)
        if found:
            viewer = self.chance.choice(list(self.views))
            fresh = TableView(snapshot_message(show(self.table, viewer, now_ms), {}))
            assert known(self.views[viewer]) == known(fresh), (viewer, command, found)

    def rigged(self, event: Event) -> Event:
        hands = self.play.rig() if isinstance(event, Dealt) else None
        if hands is None:
            return event
        rig(self.play.twin, hands)
        return replace(event, hands=hands)

    def happened(self, event: Event) -> None:
        evolve(self.table, event)
        if not self.views:
            viewers = (NOBODY, *range(len(self.table.seats)))
            self.views = {
                viewer: TableView(snapshot_message(show(self.table, viewer), {}))
                for viewer in viewers
            }
            return
        deck = deck_of(self.table.rules)
        message = event_message(view(event, NOBODY), self.table.seq, deck, {})
        self.seen[message.WhichOneof("kind") or ""] += 1
        for viewer, seen in self.views.items():
            own = None
            if viewer in concerned(event):
                own = own_part(view(event, viewer), viewer, deck)
            received = own.received if own is not None else NO_CARDS
            seen.apply(message, received, own.given if own is not None else NO_CARDS)


def test_every_view_is_what_a_snapshot_would_show() -> None:
    watched = Watched(20)
    for _ in range(COMMANDS):
        watched.step()
    assert set(watched.seen) >= FROM_OPERATORS
    assert watched.seen["traded"] > 100
