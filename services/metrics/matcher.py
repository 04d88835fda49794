"""The matcher's figures. `MatcherMetrics` is a `services.matcher.observer.Observer`."""

import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from prometheus_client import CollectorRegistry

from engine.cards import LOT_MAX
from engine.commands import Command, RequestCommand, SeatCommand
from engine.events import Event, Note, Traded
from engine.rejections import Rejection
from engine.shown import Phase
from engine.table import Table
from services.log.port import DeadLetter
from services.log.schema import REASONS
from services.metrics import catalogue
from services.metrics.catalogue import AMOUNTS, Figure, gauge
from services.metrics.lean import Counts, Histogram
from services.metrics.process import Exposed
from services.metrics.store import StoreFigures
from services.settings import Settings

OWNERS: Final = frozenset({"Tick", "GatewayLost", "StartDue"})
"""Commands that owners give themselves."""
DEAD_REASONS: Final = (*REASONS, "wrong shard", "undecided")


def _kinds(union: Any) -> Iterator[type]:
    for kind in get_args(union):
        yield from kind.__subclasses__() if kind in {SeatCommand, RequestCommand} else (kind,)


COMMANDS: Final = tuple(kind for kind in _kinds(Command) if kind.__name__ not in OWNERS)
EVENTS: Final[frozenset[type]] = frozenset(get_args(Event))

Answer = tuple[type, Note | None]
"""Kind of a command, and what it was answered."""


class MatcherMetrics:
    """Everything `pit_*` that a matcher tells, and where it is counted."""

    def __init__(self, shards: int, wall: Callable[[], float] = time.time) -> None:
        self._exposed = Exposed()
        self._shards = shards
        self._wall = wall
        self.registry = registry = self._exposed.registry
        self._count_commands(registry)
        self._count_events(registry)
        self._time(registry)
        self._count_ownership(registry)
        self._show_state(registry, shards)

    def serve(self, settings: Settings, owned: Container[int]) -> None:
        """Answer scrapes; of all matchers the owner of shard 0 tells of the server.

        Raises `SettingsProblem`.
        """
        StoreFigures(self.registry, settings.redis_url, self._shards, lambda: 0 in owned)
        self._exposed.serve(settings)

    # ---------------------------------------------------------------- what is told

    def _count_commands(self, registry: CollectorRegistry) -> None:
        self._answers = Counts(
            registry,
            catalogue.COMMANDS,
            [(kind.__name__, outcome) for kind in COMMANDS for outcome in ("accepted", "refused")],
            lambda key: (key[0].__name__, "refused" if key[1] else "accepted"),
        ).counts
        Counts(
            registry,
            catalogue.REJECTIONS,
            [(each.name,) for each in Rejection],
            lambda key: (Rejection(key[1]).name,) if key[1] else None,
            self._answers,
        )
        self._dead_letters = Counts(
            registry,
            catalogue.DEAD_LETTERS,
            [(reason,) for reason in DEAD_REASONS],
        ).counts

    def _count_events(self, registry: CollectorRegistry) -> None:
        self._items = Counts(
            registry,
            catalogue.EVENTS,
            [(kind.__name__,) for kind in get_args(Event)],
            lambda kind: (kind.__name__,) if kind in EVENTS else None,
        ).counts
        self._trades = Counts(
            registry,
            catalogue.TRADES,
            [(str(size),) for size in range(1, LOT_MAX + 1)],
            lambda size: (str(size),),
        ).counts

    def _time(self, registry: CollectorRegistry) -> None:
        self._turn_seconds = Histogram(registry, catalogue.TURN_SECONDS).spread
        self._turn_commands = Histogram(registry, catalogue.TURN_COMMANDS, AMOUNTS).spread
        stages = Histogram(
            registry,
            catalogue.STAGES,
            known=[("queue",), ("decide",), ("commit",)],
        ).spreads
        self._queued, self._decide = stages["queue",], stages["decide",]
        self._commit = stages["commit",]
        self._snapshot = Histogram(registry, catalogue.SNAPSHOT_SECONDS).spread
        self._recovery = Histogram(registry, catalogue.RECOVERY_SECONDS).spread

    def _count_ownership(self, registry: CollectorRegistry) -> None:
        self._takeovers = Counts(registry, catalogue.TAKEOVERS).counts
        self._fenced = Counts(registry, catalogue.FENCED).counts
        self._broken = Counts(registry, catalogue.INVARIANT_BREAKS).counts

    def _show_state(self, registry: CollectorRegistry, shards: int) -> None:
        def by_shard(figure: Figure) -> list[Any]:
            told = gauge(registry, figure)
            return [told.labels(f"{number:02d}") for number in range(shards)]

        self._owned = by_shard(catalogue.OWNED)
        self._lag_entries = by_shard(catalogue.LAG_ENTRIES)
        self._lag_seconds = by_shard(catalogue.LAG_SECONDS)
        self._longest_s = [0.0] * shards
        tables = gauge(registry, catalogue.TABLES)
        self._tables = {phase: tables.labels(phase.name) for phase in Phase if phase}
        self._stopped = gauge(registry, catalogue.TABLES_STOPPED)
        self._open_offers = gauge(registry, catalogue.OPEN_OFFERS)

    # ---------------------------------------------------------------- what is observed

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
        """A turn is decided. `oldest`: the first in entry in it, or empty."""
        counts = self._answers
        for kind, note in answers:
            counts[kind, getattr(note, "rejection", 0)] += 1
        happened = self._items
        for of_table in items.values():
            for item in of_table:
                happened[type(item)] += 1
                if type(item) is Traded:
                    self._trades[item.size] += 1
        for letter in dead:
            self._dead_letters[letter.reason,] += 1
        self._turn_seconds.observe(took_s)
        if answers:
            self._turn_commands.observe(len(answers))
            self._decide.observe(took_s)
        if oldest:
            # An entry's id begins with the server's clock; ours may be a little behind it.
            waited_s = max(0.0, self._wall() - took_s - int(oldest.partition("-")[0]) / 1000)
            self._queued.observe(waited_s)
            self._longest_s[shard] = max(self._longest_s[shard], waited_s)

    def committed(self, took_s: float) -> None:
        self._commit.observe(took_s)

    def acquired(self, took_s: float, *, takeover: bool) -> None:
        self._recovery.observe(took_s)
        self._takeovers[()] += takeover

    def fenced(self) -> None:
        self._fenced[()] += 1

    def snapshot(self, took_s: float) -> None:
        self._snapshot.observe(took_s)

    def invariant_broken(self) -> None:
        self._broken[()] += 1

    def state(self, waiting: Mapping[int, int], tables: Iterable[Table], stopped: int) -> None:
        """Now and then: entries that wait, by owned shard, all tables, and how many are stopped."""
        for shard, owned in enumerate(self._owned):
            owned.set(shard in waiting)
            self._lag_entries[shard].set(waiting.get(shard, 0))
            self._lag_seconds[shard].set(self._longest_s[shard])
            self._longest_s[shard] = 0.0
        phases: Counter[Phase] = Counter()
        offers = 0
        for table in tables:
            phases[Phase(table.phase)] += 1
            if table.phase == Phase.OPEN:
                offers += sum(seat.offer_size > 0 for seat in table.seats)
        for phase, held in self._tables.items():
            held.set(phases[phase])
        self._open_offers.set(offers)
        self._stopped.set(stopped)
