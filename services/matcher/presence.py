"""Which gateways live, and the tables that have streams through them."""

from services.matcher.limits import GATEWAY_SILENCE_MS


class Presence:
    """Of one shard's gateways, in log time.

    A table is listed under a gateway from its first stream on and until the gateway is lost;
    whether it still has streams there is for the table itself to know.
    """

    def __init__(self) -> None:
        self._seen_ms: dict[str, int] = {}
        self._tables: dict[str, set[str]] = {}
        self._earliest_ms = 0
        """Before this none can have been silent for too long."""

    def seen(self, gateway: str, now_ms: int) -> None:
        """An entry of this gateway has been read."""
        self._seen_ms[gateway] = now_ms

    def attached(self, gateway: str, table: str, now_ms: int) -> None:
        """A stream of this table goes through the gateway: it counts as just seen if unknown."""
        self._seen_ms.setdefault(gateway, now_ms)
        self._tables.setdefault(gateway, set()).add(table)

    def forget(self, table: str) -> None:
        for tables in self._tables.values():
            tables.discard(table)

    def lost(self, now_ms: int) -> list[tuple[str, list[str]]]:
        """Gateways silent for too long with their tables, in a stable order; each told once."""
        if now_ms < self._earliest_ms:
            return []
        silent = [
            gateway
            for gateway, seen_ms in self._seen_ms.items()
            if now_ms - seen_ms >= GATEWAY_SILENCE_MS
        ]
        for gateway in silent:
            del self._seen_ms[gateway]
        self._earliest_ms = min(self._seen_ms.values(), default=now_ms) + GATEWAY_SILENCE_MS
        return [(gateway, sorted(self._tables.pop(gateway, ()))) for gateway in sorted(silent)]
