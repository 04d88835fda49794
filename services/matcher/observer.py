"""Who counts what a matcher does. Called once a turn, never once a command."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from engine.events import Event, Note
from engine.table import Table
from services.log.port import DeadLetter

Answer = tuple[type, Note | None]
"""Kind of a command, and what it was answered."""


class Observer(Protocol):
    def turn(
        self,
        shard: int,
        answers: Sequence[Answer],
        items: Mapping[str, Sequence[Event | Note]],
        dead: Sequence[DeadLetter],
        *,
        took_s: float,
        oldest: str,
    ) -> None:
        """A turn in which something happened. `oldest`: the first in entry in it, or empty."""

    def acquired(self, took_s: float, *, takeover: bool) -> None:
        """A shard was loaded."""

    def fenced(self) -> None:
        """A shard turned out to be another's."""

    def snapshot(self, took_s: float) -> None: ...

    def invariant_broken(self) -> None:
        """A table about to be stored is what no table can be."""

    def state(self, waiting: Mapping[int, int], tables: Iterable[Table], stopped: int) -> None:
        """Now and then: entries that wait, by owned shard, all tables, and how many are stopped."""


class Unobserved:
    """Nobody counts."""

    def turn(
        self,
        shard: int,
        answers: Sequence[Answer],
        items: Mapping[str, Sequence[Event | Note]],
        dead: Sequence[DeadLetter],
        *,
        took_s: float,
        oldest: str,
    ) -> None: ...

    def acquired(self, took_s: float, *, takeover: bool) -> None: ...

    def fenced(self) -> None: ...

    def snapshot(self, took_s: float) -> None: ...

    def invariant_broken(self) -> None: ...

    def state(self, waiting: Mapping[int, int], tables: Iterable[Table], stopped: int) -> None: ...


UNOBSERVED: Final = Unobserved()
