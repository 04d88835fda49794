"""Counts one call of a method, and with what status it ends."""

import time

from services.gateway.doors.ends import CANCELLED
from services.gateway.observer import MethodName, Observer


class Observed:
    """Begins when it is made; the first end counts."""

    __slots__ = ("_begun_s", "_method", "_observer")

    def __init__(self, method: MethodName | None, observer: Observer) -> None:
        """`method` is `None` for one that nobody counts."""
        self._method = method
        self._observer = observer
        self._begun_s = time.monotonic()
        if method is not None:
            observer.call_began(method)

    def ended(self, code: int = CANCELLED) -> None:
        method, self._method = self._method, None
        if method is not None:
            self._observer.call_ended(method, code, time.monotonic() - self._begun_s)
