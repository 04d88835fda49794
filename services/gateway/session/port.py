"""What a session needs of those around it: a door in front, the exchange behind."""

from collections.abc import Mapping
from typing import Protocol

from engine.events import Answered, Attached, Record
from engine.rejections import Rejection
from services.gateway.errors import Refused
from services.gateway.identity.attachments import Attachment
from services.gateway.observer import Observer
from services.gateway.session.limits import Profile, Rank
from services.gateway.session.roles import Caller, SeatClaim
from services.gateway.wire import Turn
from services.log.port import LogError


class Door(Protocol):
    """One connection's stream."""

    @property
    def ready(self) -> bool:
        """Whether a message may be sent. Where `send` makes it false, `writable` follows."""

    def send(self, message: bytes) -> None: ...

    def end(self, refused: Refused | None, last: bytes) -> None:
        """Nothing more will be sent but `last`, unless empty. `None`: an orderly end."""


class Receipt(Protocol):
    """Told once what became of appending a command to the log."""

    @property
    def answer_due(self) -> bool:
        """Whether the table says something to every such command."""

    def landed(self, error: LogError | None) -> None: ...


class Viewer(Protocol):
    """Who follows a table's feed. `seat` is `NOBODY` for a spectator."""

    seat: int
    attach: int
    generation: int
    bot: bool
    stream: bytes
    effect_since_s: float
    """When the command was sent that caused the event; 0 where that is not known."""

    def own_number(self, seq: int) -> int:
        """The viewer's own command that caused event `seq`; 0 for none, as for whoever was not
        `answered` in the same record. Asked at most once an event."""

    def put_event(self, item: bytes) -> None: ...

    def answered(self, note: Answered) -> None: ...

    def record_done(self) -> None:
        """The record whose note answered this viewer is through."""

    def attached(self, note: Attached) -> None: ...

    def attach_refused(self, rejection: int) -> None: ...

    def superseded(self) -> None: ...

    def taken_for_lost(self) -> None: ...

    def history_lost(self) -> None: ...

    def over(self, why: Rejection) -> None:
        """Nothing more will come, after what has been put."""


class Feed(Protocol):
    """One table's events, as this gateway passes them on."""

    epoch: bytes
    head_seq: int

    def await_attach(self, viewer: Viewer) -> None: ...

    def add(self, viewer: Viewer) -> None: ...

    def remove(self, viewer: Viewer) -> None: ...

    def items(self, record: Record, after_seq: int, up_to_seq: int, viewer: Viewer) -> list[bytes]:
        """Events of an old record as `viewer` sees them."""


class Tokens(Protocol):
    """Those that read raise `Refused`."""

    def caller(self, access_token: str) -> Caller: ...

    def seat_claim(self, seat_token: str) -> SeatClaim: ...

    def attachment(self, table: str, person: str, held: Attachment) -> bytes: ...


class Exchange(Protocol):
    """Everything behind the sessions of one gateway."""

    name: str
    shards: int
    names: Mapping[str, str]
    observer: Observer

    @property
    def tokens(self) -> Tokens: ...

    def now_s(self) -> float:
        """Monotonic."""

    def wall_s(self) -> float: ...

    def log_us(self, table: str) -> int:
        """Log time now."""

    def new_stream(self) -> bytes:
        """16 bytes that no other stream of this gateway has."""

    def feed(self, table: str) -> Feed: ...

    def replay(self, table: str, seq: int, head_seq: int) -> list[Record] | None: ...

    def submit(self, table: str, command: bytes, receipt: Receipt, rank: Rank) -> None:
        """Append a packed command. Raises `Refused` where the table cannot be reached, or has too
        much to do for a command of this rank.
        """

    def detach(self, table: str, seat: int, attach: int) -> None:
        """Tell the table that a stream is gone."""

    def watch_acceptance(self, session: "Overdue", number: int) -> None:
        """Call `session.overdue(number)` when the effect should have come."""

    def spend(self, caller: Caller, table: str = "") -> None:
        """Take one from the rates of the caller and of the table. Raises `Refused`."""

    def invite_tried(self, caller: Caller) -> None:
        """Raises `Refused` where this caller has tried too many wrong codes."""

    def invite_wrong(self, caller: Caller) -> None: ...

    def touched(self, session: "Flushed") -> None:
        """Call `session.flush` at the end of this turn of the loop."""

    def newer_expiry_wanted(self, session: "Expiring") -> None: ...

    def expiry_raised(self, caller: Caller) -> None: ...

    def session_ended(self, session: "Ending", reason: str) -> None:
        """`reason` is empty where the client ended it."""

    def profile(self, caller: Caller) -> Profile: ...


class Overdue(Protocol):
    def overdue(self, number: int) -> None: ...


class Ending(Protocol):
    caller: Caller

    @property
    def table(self) -> str:
        """Empty before an Attach."""


class Flushed(Protocol):
    def flush(self, turn: Turn) -> int:
        """Send what waits; how many items that was."""

    def end(self, refused: Refused | None) -> None:
        """End the stream, with a status unless it ends in order."""


class Expiring(Protocol):
    """A stream, as `session/expiry.py` looks after it."""

    caller: Caller
    expiry_asked: bool
    """Whether it waits to be told the newest expiry of its sign-in."""
