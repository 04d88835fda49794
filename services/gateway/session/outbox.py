"""What waits to be sent to one reader: bounded in items and in bytes."""

from collections import deque

from services.gateway.session.limits import (
    OVERFLOW_WINDOW_S,
    OVERFLOWS_MAX,
    QUEUE_BYTES_MAX,
    QUEUE_EVENTS_MAX,
)


class Outbox:
    """Items in order. When it overflows its reader needs a fresh snapshot instead."""

    def __init__(self) -> None:
        self._items: list[bytes] = []
        self._bytes = 0
        self._overflows_s: deque[float] = deque()
        self.stale = False
        """Items were dropped; nothing more is kept until `restart`."""

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: bytes) -> bool:
        """Whether it is too full now."""
        if self.stale:
            return False
        items = self._items
        items.append(item)
        self._bytes += len(item)
        return self._bytes > QUEUE_BYTES_MAX or len(items) > QUEUE_EVENTS_MAX

    def overflow(self, now_s: float) -> bool:
        """Drop everything; whether this happened so often that the reader is to be cut."""
        self.mute()
        self._overflows_s.append(now_s)
        while self._overflows_s[0] < now_s - OVERFLOW_WINDOW_S:
            self._overflows_s.popleft()
        return len(self._overflows_s) >= OVERFLOWS_MAX

    def mute(self) -> None:
        """Drop everything, and keep nothing until `restart`."""
        self.restart()
        self.stale = True

    def restart(self) -> None:
        """Forget what was not sent: a snapshot takes its place."""
        self._items = []
        self._bytes = 0
        self.stale = False

    def take(self) -> list[bytes]:
        items = self._items
        self._items = []
        self._bytes = 0
        return items
