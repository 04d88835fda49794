"""What a seat needs of a connection: one stream, bytes in and bytes out, no task of its own."""

from typing import Protocol

from grpc import StatusCode

Metadata = tuple[tuple[str, str], ...]


class Listener(Protocol):
    """The seat's side of its stream. Called in the loop's thread; must not block."""

    def received(self, message: bytes) -> None:
        """A whole message."""

    def ended(self, code: StatusCode, reason: str, wait_s: float) -> None:
        """The stream is over, by whatever cause but our own `abandon`; called once."""


class Stream(Protocol):
    """One Play call."""

    def send(self, message: bytes) -> None:
        """In order. What cannot be sent any more is dropped: `ended` has told, or will."""

    def flush(self) -> None:
        """What was sent leaves now, where it would else wait for the end of the loop's turn."""

    def finish(self) -> None:
        """Close our half: leave in order. The other side then ends the stream."""

    def abandon(self) -> None:
        """Reset the stream; `ended` will not be called."""


class Connections(Protocol):
    """Connections to one gateway, so many streams on each."""

    def open(self, group: int, listener: Listener, metadata: Metadata) -> Stream:
        """A stream on a connection of this group; groups never share a connection. Seats of one
        table are of different groups, as persons are: their messages share no write."""

    async def close(self) -> None: ...
