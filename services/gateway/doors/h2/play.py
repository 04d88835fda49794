"""A `Play` or `Watch` call: bytes in call the session, the session calls `send`.

Nothing here waits: the stream tells of what comes, and of the peer's window, by plain calls.
"""

from collections.abc import Callable

from pit.v1 import play_pb2

from services.gateway.doors.ends import end_of, end_of_refused
from services.gateway.doors.h2.ending import Ending
from services.gateway.doors.h2.unary import BodyCall
from services.gateway.errors import Refusal, Refused
from services.gateway.gateway import Gateway
from services.gateway.session.core import Session
from services.gateway.session.roles import Caller
from services.gateway.session.watch import WatchStream
from services.http2.server import ServerEvents
from services.http2.status import Status
from services.http2.stream import Stream


class StreamDoor:
    """One stream as its session's door."""

    __slots__ = ("_ending", "_stream", "send")

    def __init__(self, ending: Ending) -> None:
        self._ending = ending
        self._stream: Stream = ending.call.stream
        self.send = self._stream.send

    @property
    def ready(self) -> bool:
        return self._stream.ready

    def end(self, refused: Refused | None, last: bytes) -> None:
        if self._ending.over:
            return
        if last:
            self._stream.send(last)
        if refused is None:
            self._ending.in_order()
        else:
            self._ending.by(end_of_refused(refused))


class SessionEvents(ServerEvents):
    """What comes on the stream, for the session."""

    __slots__ = ("_ending", "_session")

    def __init__(self, ending: Ending, session: Session | WatchStream) -> None:
        self._ending = ending
        self._session = session
        ending.on_end = self._close

    def message(self, data: bytes) -> None:
        try:
            self._session.receive(data)
        except Exception as error:
            self._ending.by_error(error)

    def writable(self) -> None:
        self._tell(self._session.writable)

    def half_closed(self) -> None:
        """The client has nothing more to say."""
        self._tell(self._session.closed)

    def broken(self, status: Status) -> None:
        self._ending.by_status(status)

    def closed(self, status: Status) -> None:
        self._ending.by_client()

    def going_away(self, *, now: bool) -> None:
        if now:
            self._tell(lambda: self._session.end(Refused(Refusal.DRAINING)))
        else:
            self._tell(self._session.drain)

    def _tell(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            self._ending.by_error(error)

    def _close(self) -> None:
        """The call has ended, in whatever way: the session goes with it."""
        try:
            self._session.closed()
        except Exception as error:
            end_of(error)  # for the log: there is nobody left to tell


class PlayCall(SessionEvents):
    """The bidirectional stream of one seat."""

    def __init__(self, ending: Ending, gateway: Gateway, caller: Caller) -> None:
        """Raises `Refused`."""
        super().__init__(ending, gateway.open(StreamDoor(ending), caller))
        ending.call.begin()


class WatchCall(BodyCall):
    """The stream of several tables: all that the client says is in its request."""

    def __init__(self, ending: Ending, gateway: Gateway, caller: Caller) -> None:
        super().__init__(ending, play_pb2.WatchRequest)
        self._gateway = gateway
        self._caller = caller
        self._events: SessionEvents | None = None

    def _begin(self, request: play_pb2.WatchRequest) -> None:
        stream = self._gateway.open_watch(StreamDoor(self._ending), self._caller)
        self._events = SessionEvents(self._ending, stream)
        self._ending.call.begin()
        stream.begin(request)

    def writable(self) -> None:
        if self._events is not None:
            self._events.writable()

    def going_away(self, *, now: bool) -> None:
        if self._events is not None:
            self._events.going_away(now=now)
        else:
            super().going_away(now=now)
