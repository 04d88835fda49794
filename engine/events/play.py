"""What players do while the exchange is open: offers, trades, bells, calls."""

from engine.value import value


@value
class OfferOpened:
    """Replaces the seat's earlier open offer, if it had one."""

    seat: int
    size: int
    lot: int | None
    """Private to the seat."""
    directed_at: int
    ends_at_ms: int
    """0 where it has no limit."""
    at_ms: int

    def __init__(
        self,
        seat: int,
        size: int,
        lot: int | None,
        directed_at: int,
        ends_at_ms: int,
        at_ms: int,
    ) -> None:
        self.seat = seat  # type: ignore[misc, unused-ignore]
        self.size = size  # type: ignore[misc, unused-ignore]
        self.lot = lot  # type: ignore[misc, unused-ignore]
        self.directed_at = directed_at  # type: ignore[misc, unused-ignore]
        self.ends_at_ms = ends_at_ms  # type: ignore[misc, unused-ignore]
        self.at_ms = at_ms  # type: ignore[misc, unused-ignore]


@value
class OfferEnded:
    """Ended without a trade. The end of a round ends every offer without further words."""

    seat: int
    why: int
    at_ms: int


@value
class Traded:
    """`seat`'s arriving lot against `partner`'s open one. An earlier open offer of `seat` ends."""

    seat: int
    partner: int
    size: int
    given: int | None
    """What `seat` gave and `partner` received; private to the two."""
    received: int | None
    """What `seat` received and `partner` gave; private to the two."""
    at_ms: int

    def __init__(
        self,
        seat: int,
        partner: int,
        size: int,
        given: int | None,
        received: int | None,
        at_ms: int,
    ) -> None:
        self.seat = seat  # type: ignore[misc, unused-ignore]
        self.partner = partner  # type: ignore[misc, unused-ignore]
        self.size = size  # type: ignore[misc, unused-ignore]
        self.given = given  # type: ignore[misc, unused-ignore]
        self.received = received  # type: ignore[misc, unused-ignore]
        self.at_ms = at_ms  # type: ignore[misc, unused-ignore]


@value
class BellRefused:
    """A false bell where the rules fine it."""

    seat: int
    commodity: int
    fine: int
    locked_until_ms: int
    """Until when this seat may not ring again."""
    at_ms: int


@value
class Cornered:
    """An accepted bell. The winner's cards are shown to all."""

    seat: int
    commodity: int
    kind: int
    hand: int
    bull_seat: int
    """Who held the Bull, `NOBODY` where it is not in play."""
    bear_seat: int
    at_ms: int


@value
class Called:
    seat: int
    phrase: int


PlayEvent = OfferOpened | OfferEnded | Traded | BellRefused | Cornered | Called
