"""What the ledger knows of a game at one moment: plain lists, and nothing of the engine's."""

from collections.abc import Iterator
from itertools import permutations

from engine import events
from engine.commands import NOBODY
from engine.rules import Rules
from engine.value import value
from services.archive import scores
from services.archive.rematch import RematchVote

Cards = list[int]
"""Counts by lane."""


@value
class Finding:
    """Something in a game's records that cannot be."""

    kind: str
    """`damage`, `seal`, `order`, `deal`, `commitment`, `conservation` or `score`."""
    seq: int
    text: str


@value
class Offered:
    """An open offer."""

    size: int
    lot: Cards
    directed_at: int
    ends_at_ms: int


class Account:
    """The state of a game as far as its events were booked."""

    def __init__(self) -> None:
        self.seq = 0
        self.rules: Rules | None = None
        self.hands: dict[int, Cards] = {}
        self.offers: dict[int, Offered] = {}
        self.opens_at_ms = 0
        self.round_ends_at_ms = 0
        self.scores: list[int] = []
        self.round = 0
        self.open = False
        self.commitment = b""
        self.seed: bytes | None = None
        self.nonces: dict[int, bytes] = {}
        self.dealt_nonces: tuple[bytes, ...] = ()
        self.dealer = NOBODY
        self.dealer_next: int | None = None
        self.corner: tuple[events.Cornered, list[int]] | None = None
        """The corner not yet scored, and the totals it should bring."""
        self.playing: list[int] = []
        self.tied: tuple[int, ...] = ()
        """Seats of a round of sudden death, or that decided the game by one."""
        self.frozen_at_ms = 0
        self.ended = False
        self.closing = False
        """Whether an operator has broken the game off: the next event says who and why."""
        self.vote = RematchVote()
        self.cut_short = False
        """Whether a round was void before its time: only the game's end explains that."""

    def finding(self, kind: str, text: str) -> Finding:
        return Finding(kind, self.seq, text)

    def the_rules(self) -> Rules:
        assert self.rules is not None
        return self.rules

    def places_differ(self, places: tuple[int, ...]) -> Iterator[Finding]:
        """The tied come first, in an order that no score tells; all others by score."""
        for seat, other in permutations(self.playing, 2):
            if {seat, other} <= set(self.tied):
                continue
            if seat in self.tied or other in self.tied:
                before = seat in self.tied
            else:
                before = self.scores[seat] > self.scores[other]
            if before and places[seat] >= places[other]:
                yield self.finding("score", f"seat {seat} is placed behind seat {other}")

    def book(self, seat: int, delta: int) -> None:
        if 0 <= seat < len(self.scores):
            self.scores[seat] = scores.total(self.the_rules(), self.scores[seat], delta)
