"""An exchange that the load tester was given to start, and may kill pieces of."""

from collections.abc import Mapping
from typing import Protocol


class LocalExchange(Protocol):
    """Store, matchers, gateway and archiver as processes of their own, without bots."""

    @property
    def target(self) -> str:
        """`host:port` of its gateway, once it is started."""

    @property
    def operators(self) -> tuple[str, str]:
        """`host:port` of the operators' port, and a token for it; empty where there is none."""

    @property
    def banner(self) -> str:
        """What store it is on, and what that promises."""

    def start(self) -> None:
        """Until players can be served."""

    def check(self) -> None:
        """Raises when a process has ended by itself."""

    def kill(self, role: str) -> str:
        """Kill a `matcher` or the `gateway` as a power cut does, and start it again as a
        supervisor would; its name."""

    def cpu_s(self) -> Mapping[str, float]:
        """Processor seconds so far, by role."""

    def rss_bytes(self) -> Mapping[str, int]:
        """Memory held, by role."""

    def stream_entries(self) -> Mapping[str, int]:
        """Entries that the store keeps of commands (`in`) and of events (`out`), over all shards;
        empty where it cannot be asked."""

    def end(self) -> None: ...
