"""A round from its commitment to its score, and the end of a game."""

from engine.value import value


@value
class ReadyGiven:
    seat: int
    purpose: int
    nonce: bytes


@value
class Committed:
    """The server binds itself to the seed of the coming deal, before the seats send nonces."""

    round: int
    commitment: bytes
    """SHA-256 of the seed."""
    seed: bytes | None
    """Private to all viewers until the round is over."""
    next_deal_at_ms: int
    """When the deal comes even if not all are ready; 0 where it waits for all."""
    tied: tuple[int, ...]
    """Seats between which the coming round decides (sudden death); empty in ordinary play."""


@value
class Dealt:
    round: int
    dealer: int
    suits: tuple[int, ...]
    """Lanes of the commodities in play."""
    hands: tuple[int | None, ...]
    """Packed cards by seat; private: each seat knows its own. `NO_CARDS`, for all to see, for a
    seat that does not play."""
    opens_at_ms: int
    at_ms: int


@value
class ExchangeOpened:
    round: int
    round_ends_at_ms: int
    """When a round without a corner becomes void."""
    at_ms: int


@value
class RoundScored:
    """The round is over; its seed is published, and with it the starting hands."""

    round: int
    deltas: tuple[int, ...]
    totals: tuple[int, ...]
    seed: bytes
    nonces: tuple[bytes, ...]
    """By seat; 16 zero bytes for a seat that sent none."""
    at_ms: int


@value
class RoundVoid:
    """The round reached its cap without a corner, or an operator voided it, or the game is broken
    off: nobody scores, the same dealer deals again."""

    round: int
    deltas: tuple[int, ...]
    """Penalties of idle seats, where the rules have them."""
    totals: tuple[int, ...]
    seed: bytes
    nonces: tuple[bytes, ...]
    at_ms: int
    reason: str = ""
    operator: str = ""
    """Who voided it; empty where time or the rules did."""


@value
class GameEnded:
    end: int
    places: tuple[int, ...]
    """By seat, 1 for the winner; equal where shared; 0 for a seat that does not play."""
    totals: tuple[int, ...]
    at_ms: int


@value
class RematchVoted:
    """The first yes begins the vote."""

    seat: int
    yes: bool
    until_ms: int
    """When the vote ends."""
    at_ms: int


@value
class RematchAgreed:
    """All who were asked have said yes. They sit down at the other table, in the same seats."""

    table: str
    at_ms: int


@value
class RematchFailed:
    """Somebody said no or left, or the time is over: all votes are forgotten."""

    at_ms: int


RoundEvent = (
    ReadyGiven
    | Committed
    | Dealt
    | ExchangeOpened
    | RoundScored
    | RoundVoid
    | GameEnded
    | RematchVoted
    | RematchAgreed
    | RematchFailed
)
