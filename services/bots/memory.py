"""What a player remembers of the round: only what the seat itself has seen."""

import random
from dataclasses import dataclass, field

from pit.v1 import table_pb2

from engine.cards import NO_CARDS, count
from services.bots.hands import NO_LANE
from services.client.happenings import Happened
from services.client.view import NOBODY, TableView


@dataclass(slots=True)
class Memory:
    """Times are seconds of the bot's own clock."""

    target: int = NO_LANE
    """The commodity being collected."""
    fruitless: int = 0
    """Own trades since the last one that brought a card of the target."""
    patience: float = 1.0
    """Drawn anew with each target, so that two who collect the same do not give in together."""
    shunned: int = NO_LANE
    """The target given up last: others seem to collect it."""
    received: int = NO_CARDS
    """The lot just received, not to be offered to `giver`."""
    giver: int = NOBODY
    traded_at: float = 0.0
    offered_at: float = 0.0
    """When the own open offer was called out."""
    unanswered: int = 0
    """Own offers since the last trade that nobody took."""
    seen_at: dict[int, float] = field(default_factory=dict)
    """By seat: when its open offer was seen."""

    def saw(self, view: TableView, happened: Happened, now: float) -> None:
        """Take in an event that the view holds already."""
        event = happened.event
        match event.WhichOneof("kind"):
            case "offer_opened":
                seat = event.offer_opened.seat
                if seat == view.seat:
                    self.offered_at = now
                else:
                    self.seen_at[seat] = now
            case "traded":
                if view.seat in (event.traded.seat, event.traded.partner):
                    self._traded(view, happened, now)
            case "dealt":
                self.forget()
            case _:
                pass

    def _traded(self, view: TableView, happened: Happened, now: float) -> None:
        traded: table_pb2.Traded = happened.event.traded
        self.received = view.deck.pack(happened.received)
        self.giver = traded.partner if traded.seat == view.seat else traded.seat
        self.traded_at = now
        self.unanswered = 0
        self.fruitless += 1
        if self.target != NO_LANE and count(self.received, self.target):
            self.fruitless = 0

    def collect(self, target: int, chance: random.Random) -> None:
        """Collect another commodity from now on."""
        if target != self.target:
            self.shunned, self.target = self.target, target
            self.fruitless = 0
            self.patience = chance.uniform(0.7, 1.6)

    def forget(self) -> None:
        """A new deal: nothing of the last round matters."""
        self.target = self.shunned = NO_LANE
        self.fruitless = self.unanswered = 0
        self.received, self.giver = NO_CARDS, NOBODY
        self.seen_at.clear()
