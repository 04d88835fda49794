"""Notes: what must survive and is not of the game's history. They have no number."""

from engine.shown import TableView
from engine.value import value


@value
class Answered:
    """What became of a seat's numbered command."""

    seat: int
    attach: int
    """Attach number of the stream it came on, which is to be told."""
    bot: bool
    """Which of the seat's two number tables it belongs to: the stand-in's, or the person's."""
    generation: int
    number: int
    content: int
    rejection: int
    """0 where accepted, else a `Rejection`."""
    parameters: tuple[int, ...]
    seq: int
    """Number of the first event it caused; where refused, of the last event before it."""
    kept: bool
    """Whether the table remembers it. False for an answer given again, and for a refusal that
    consumed no number: `evolve` passes over those."""

    def __init__(
        self,
        seat: int,
        attach: int,
        bot: bool,
        generation: int,
        number: int,
        content: int,
        rejection: int,
        parameters: tuple[int, ...],
        seq: int,
        kept: bool,
    ) -> None:
        self.seat = seat  # type: ignore[misc, unused-ignore]
        self.attach = attach  # type: ignore[misc, unused-ignore]
        self.bot = bot  # type: ignore[misc, unused-ignore]
        self.generation = generation  # type: ignore[misc, unused-ignore]
        self.number = number  # type: ignore[misc, unused-ignore]
        self.content = content  # type: ignore[misc, unused-ignore]
        self.rejection = rejection  # type: ignore[misc, unused-ignore]
        self.parameters = parameters  # type: ignore[misc, unused-ignore]
        self.seq = seq  # type: ignore[misc, unused-ignore]
        self.kept = kept  # type: ignore[misc, unused-ignore]


@value
class RequestAnswered:
    """What became of a command with a request id."""

    request: bytes
    content: int
    rejection: int
    parameters: tuple[int, ...]
    seq: int
    seat: int
    """The seat joined or left, else `NOBODY`."""
    kept: bool


@value
class PastAnswer:
    """A remembered answer, as a stream is told of it when it attaches."""

    number: int
    rejection: int
    parameters: tuple[int, ...]
    seq: int


@value
class Attached:
    """A stream holds the seat from here on. `shown` is all it missed: events after it follow."""

    seat: int
    attach: int
    generation: int
    bot: bool
    gateway: str
    stream: bytes
    resumed: bool
    """Whether the generation asked for goes on."""
    last_number: int
    answers: tuple[PastAnswer, ...]
    """The last sixteen of this generation, oldest first."""
    shown: TableView
    """Private to the seat: the table as it may know it, just before this note."""
    at_ms: int


@value
class AttachRefused:
    seat: int
    gateway: str
    stream: bytes
    rejection: int


@value
class Shown:
    """A spectator's stream is shown the table just before this note: events after it follow."""

    gateway: str
    stream: bytes
    shown: TableView


@value
class WatchRefused:
    gateway: str
    stream: bytes
    rejection: int


@value
class Detached:
    seat: int
    attach: int


@value
class StreamsLost:
    """A gateway has been silent too long: every stream through it counts as lost."""

    gateway: str


@value
class Marked:
    """Written before a table's first record under a new owner."""

    epoch: int
    nonce: bytes


Note = (
    Answered
    | RequestAnswered
    | Attached
    | AttachRefused
    | Shown
    | WatchRefused
    | Detached
    | StreamsLost
    | Marked
)
