"""When each table wants to be woken."""

from heapq import heappop, heappush


class Timers:
    """A heap of (log time, table).

    A table has at most one wake-up that counts, the earliest asked for. Asking for a later one
    changes nothing: the early one comes, finds nothing due, and the table is asked anew. So the
    heap stays about as large as there are tables.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []
        self._wakes: dict[str, int] = {}

    def wake(self, table: str, at_ms: int) -> None:
        """Wake the table at `at_ms` (0: it wants nothing) unless it is woken before that."""
        if not at_ms:
            return
        known = self._wakes.get(table)
        if known is None or at_ms < known:
            self._wakes[table] = at_ms
            heappush(self._heap, (at_ms, table))

    def forget(self, table: str) -> None:
        self._wakes.pop(table, None)

    def next_ms(self) -> int:
        """The earliest wake-up, 0 for none."""
        heap, wakes = self._heap, self._wakes
        while heap and wakes.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else 0

    def pop_due(self, now_ms: int) -> str | None:
        """A table whose time has come; its wake-up is used up."""
        at_ms = self.next_ms()
        if not at_ms or at_ms > now_ms:
            return None
        table = heappop(self._heap)[1]
        del self._wakes[table]
        return table
