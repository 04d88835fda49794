"""One event of one table, as its seats bring it."""

from pit.v1 import table_pb2


class Record:
    """An event, who has yet to see it, and what its seats were shown beside it."""

    __slots__ = ("cards", "event", "first_at", "intended_at", "kind", "missing", "seen_at",
                 "sent_at", "sides", "skipped")  # fmt: skip

    def __init__(self, missing: int) -> None:
        self.event: table_pb2.Event | None = None
        self.kind = ""
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
