"""One event of one table, as its seats bring it."""

from pit.v1 import table_pb2

from services.client.view import NOBODY


class Record:
    """An event, who has yet to see it, and what its seats were shown beside it."""

    __slots__ = ("aim", "cards", "event", "first_at", "intended_at", "kind", "missing", "partner",
                 "public", "seat", "seen_at", "sent_at", "seq", "sides", "size",
                 "skipped")  # fmt: skip

    def __init__(self, seq: int, missing: int) -> None:
        self.seq = seq
        self.event: table_pb2.Event | None = None
        self.public = b""
        """The bytes it came in: who brings the same has seen the same."""
        self.kind = ""
        self.seat = NOBODY
        """Whose offer it is, or who completed the trade; this and the next of no other kinds."""
        self.partner = NOBODY
        self.size = 0
        self.aim = NOBODY
        """The seat that the offer is for alone."""
        self.sides: tuple[int, ...] = ()
        """The seats that it means something of their own for."""
        self.first_at = 0.0
        self.missing = missing
        """A bit for each seat that has not seen it."""
        self.skipped = False
        """Some seat never will: it was reset beyond it."""
        self.cards: dict[int, tuple[int, int]] = {}
        """By seat, packed: received and given; or the hand, and nothing."""
        self.intended_at = 0.0
        """Of the own command that caused it, as far as one of ours did."""
        self.sent_at = 0.0
        self.seen_at = 0.0
        """When a trade's other side saw it."""

    def fill(self, event: table_pb2.Event, public: bytes, everybody: tuple[int, ...]) -> None:
        """The first seat has brought it. `everybody`: all seats of the table."""
        self.event = event
        self.public = public
        kind = self.kind = event.WhichOneof("kind") or ""
        if kind == "offer_opened":
            opened = event.offer_opened
            self.seat, self.size = opened.seat, opened.size
            if opened.HasField("directed_at"):
                self.aim = opened.directed_at
            self.sides = (self.seat,)
        elif kind == "traded":
            traded = event.traded
            self.seat, self.partner, self.size = traded.seat, traded.partner, traded.size
            self.sides = (self.seat, self.partner)
        elif kind == "offer_ended":
            self.seat = event.offer_ended.seat
            self.sides = (self.seat,)
        elif kind in OF_ALL:
            self.sides = everybody


OF_ALL = frozenset({"dealt", "cornered", "round_scored", "round_void"})
"""What means something of its own for every seat."""
