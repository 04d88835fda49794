"""What a seat's stream tells its user: events, outcomes of commands, and turns of fortune."""

from pit.v1 import play_pb2, table_pb2

from engine.value import value


@value
class Happened:
    """An event of the table; the view holds it already."""

    event: table_pb2.Event
    number: int
    """The own command that caused it, 0 for none."""
    received: table_pb2.Cards
    """The hand dealt, the lot of the own offer, or the cards received in a trade."""
    given: table_pb2.Cards
    """The cards given in a trade."""


@value
class Started:
    """The seat is attached: afresh, or going on where the last stream ended."""

    resumed: bool


@value
class WasReset:
    """What was known of the table is void; the view is new.

    `undone` are own commands that had been confirmed and that the exchange has lost. They are
    for the person to see, and never sent again without the person's word.
    """

    reason: int
    undone: tuple["Undone", ...]


@value
class Undone:
    command: play_pb2.Command
    seq: int
    """The event it was confirmed with, in the history that is gone."""


@value
class Effective:
    """The command has had its effect."""

    seq: int
    traded: bool | None
    """Of an offer: whether it traded at once, or stays open. `None` where that was not seen."""


@value
class Rejected:
    """The command was refused and has changed nothing."""

    code: int
    """A `google.rpc.Code`."""
    reason: str
    parameters: dict[str, str]
    message: str


@value
class Unknown:
    """Nobody can say any more whether the command had its effect."""

    reason: str


Outcome = Effective | Rejected | Unknown


@value
class Settled:
    """An own command's final outcome."""

    command: play_pb2.Command
    outcome: Outcome
    sent_at: float
    """Monotonic seconds of its first sending."""
    tries: int


@value
class InLog:
    """The command is safely in the table's log; its outcome follows."""

    number: int


@value
class RetryAfter:
    """The exchange cannot take commands now: call `retry` after the delay."""

    delay_s: float


@value
class OutOfStep:
    """Client and exchange disagree about numbers or events: end the stream and resume."""


@value
class Drain:
    """The gateway is going away: resume elsewhere within the delay."""

    delay_s: float


@value
class Over:
    """Of one table among several that are watched: nothing more will come of it."""

    code: int
    """A `google.rpc.Code`."""
    reason: str


@value
class Pong:
    client_us: int
    server_us: int


Happening = (
    Happened | Started | WasReset | Settled | InLog | RetryAfter | OutOfStep | Drain | Over | Pong
)
