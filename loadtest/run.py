"""The course of a load test: workers started, tables opened, the plan played, all summed up."""

import asyncio
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any, Final, Protocol

from loadtest.held import LOOK_EVERY_S, Held
from loadtest.histograms import Histograms
from loadtest.local import LocalExchange
from loadtest.messages import Done, Go, Opened, Orders, Progress, Report, Stop
from loadtest.null.process import NullExchange
from loadtest.opening import TableWish
from loadtest.options import KILLS, Options, Stage
from loadtest.results import Circumstances, document
from loadtest.tally import Tally
from loadtest.usage import Unreachable
from loadtest.workers import Workers
from services.client import trust

LOOK_S: Final = 0.25
LOOK_FOR_S: Final = 5.0
CEILING_S: Final = 3.0
CEILING_TABLES: Final = 200
CEILING_THINK_S: Final = 0.001
OPENING_S: Final = 8.0
OPENING_S_PER_TABLE: Final = 0.03
"""Time allowed for taking all seats before an opening bell; a table takes 4 to 10 ms here."""
GO_IN_S: Final = 0.5
"""Every worker has heard the word by then."""
GOOD, LATE, CHECK_FAILED, TOO_SLOW, INTERRUPTED = 0, 4, 5, 99, 130
"""Exit codes; README.md has them all."""


class Watcher(Protocol):
    """Shows a run while it goes on."""

    def ceiling(self) -> None:
        """What the generator reaches is tried first; no more is told of that."""

    def signing_in(self, guests: int, total: int) -> None:
        """So many of them are; the exchange may let them in slowly."""

    def opening(self, tables: int) -> None:
        """So many tables are open."""

    def playing(self, tally: Tally, at_s: float) -> None:
        """`at_s` counts from the start of the warm-up."""

    def ending(self) -> None: ...


class _Nobody:
    """Watches what is not to be shown."""

    def ceiling(self) -> None: ...

    def signing_in(self, guests: int, total: int) -> None: ...

    def opening(self, tables: int) -> None: ...

    def playing(self, tally: Tally, at_s: float) -> None: ...

    def ending(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Played:
    """What a run leaves."""

    result: dict[str, Any]
    """See README.md."""
    histograms: Histograms


def run(
    options: Options,
    command: str,
    local: LocalExchange | None,
    watcher: Watcher,
    control: dict[str, Any] | None = None,
    ceiling: dict[str, Any] | None = None,
) -> Played:
    """Play it. `control` is an earlier run's, shown beside this one, and `ceiling`
    that of `reached_at_most`. Raises `Limited`, `Unreachable`, `WorkerFailed`, and what
    `local` raises."""
    target = options.target
    if local is not None:
        local.start()
        target = local.target
    _look_for(target, options.authorities)
    around = Circumstances(
        command,
        datetime.now(UTC).isoformat(timespec="seconds"),
        local.banner if local is not None else target,
        control=control or {},
        ceiling=ceiling or {},
    )
    tally = Tally()
    orders = _orders(options, target)
    starts_at_s = 0.0
    if options.scenario == "opening-bell" and local is not None and local.operators[0]:
        # Whole seconds, as the exchange rounds; by then all seats are taken.
        starts_at_s = float(ceil(time.time() + OPENING_S + options.tables * OPENING_S_PER_TABLE))
        orders = [
            replace(one, operators=local.operators, starts_at_s=starts_at_s) for one in orders
        ]
    with Workers(orders) as workers:
        _Course(options, workers, tally, around, local, watcher, starts_at_s).play()
    return Played(document(options, tally, around), tally.histograms)


def reached_at_most(options: Options, watcher: Watcher) -> dict[str, Any]:
    """What this generator does a second against a server that does nothing, each seat acting as
    soon as it may: no run on this machine can ask for more. An interrupt is raised again."""
    watcher.ceiling()
    null = NullExchange()
    quick = replace(
        options,
        target="",
        tables=min(options.tables, CEILING_TABLES),
        scenario="steady",
        stages=(Stage(CEILING_S, 0),),
        think_time_s=CEILING_THINK_S,
        warmup_s=1.0,
        slos=(),
    )
    try:
        result = run(quick, "", null, _Nobody()).result
    finally:
        null.end()
    if result["run"]["interrupted"]:
        raise KeyboardInterrupt  # there is nothing to report yet
    return {
        "rate_done": result["rate_done"],
        "tables": quick.tables,
        "cpu": result["generator"]["cpu"],
        "cpu_us_per_action": result["run"]["generator_cpu_us_per_action"],
    }


def exit_code(result: dict[str, Any]) -> int:
    """What the run comes to."""
    if result["run"]["interrupted"]:
        return INTERRUPTED
    if not all(result["checks"].values()):
        return CHECK_FAILED
    if not result["generator"]["valid"]:
        return LATE
    regressed = result["run"]["compared"].get("regressed")
    held = all(line["pass"] for line in result["slo"]) and not regressed
    return GOOD if held else TOO_SLOW


def _look_for(target: str, authorities: Path | None) -> None:
    """Whether anybody listens there, and can be trusted, before processes are started."""
    there = trust.parse(target)
    try:
        socket.create_connection((there.host, there.port), LOOK_FOR_S).close()
    except OSError as error:
        raise Unreachable(f"nobody listens at {target}: {error.strerror or error}") from None
    untrusted = asyncio.run(trust.why_not(there, authorities))
    if untrusted is not None:
        raise Unreachable(untrusted.message, untrusted.remedy)


def _orders(options: Options, target: str) -> Sequence[Orders]:
    """The tables dealt out to the workers, as evenly as can be."""
    workers = min(options.workers, options.tables)
    each, more = divmod(options.tables, workers)
    tables = [each + (number < more) for number in range(workers)]
    return [
        Orders(
            target,
            number,
            TableWish(options.rules, options.switches, options.seats),
            count,
            options.stages,
            count / options.tables,
            options.think_time_s,
            options.warmup_s,
            options.seed,
            options.scenario,
            options.client,
            options.sign_ins,
            options.streams_per_connection,
            options.addresses,
            authorities=options.authorities,
            gives_up=bool(options.target),
        )
        for number, count in enumerate(tables)
    ]


class _Course:
    """One run."""

    def __init__(
        self,
        options: Options,
        workers: Workers,
        tally: Tally,
        around: Circumstances,
        local: LocalExchange | None,
        watcher: Watcher,
        starts_at_s: float,
    ) -> None:
        self._options = options
        self._workers = workers
        self._tally = tally
        self._around = around
        self._local = local
        self._watcher = watcher
        self._starts_at_s = starts_at_s
        self._begins_at = float("inf")
        self._todo: list[tuple[float, Callable[[], None]]] = []
        """What is to be done at a time of the run."""
        self._own_cpu_s = 0.0
        self._cpu_before: dict[str, float] = {}
        self._look_at_s = 0.0

    def play(self) -> None:
        try:
            self._open()
            self._begins_at = time.monotonic() + self._go_in_s()
            self._plan()
            self._workers.tell(Go(self._begins_at))
            self._hear_until_done()
        except KeyboardInterrupt:
            self._around.interrupted = True
            measured_s = time.monotonic() - self._begins_at - self._options.warmup_s
            self._around.measured_s = round(min(max(0.0, measured_s), self._options.seconds), 3)
            self._workers.tell(Stop())
            with suppress(KeyboardInterrupt):
                self._hear_until_done()

    def _open(self) -> None:
        opened: dict[int, Progress] = {}
        ready = 0
        while ready < self._workers.left:
            self._check_local()
            for worker, message in self._workers.hear(LOOK_S):
                if isinstance(message, Progress):
                    opened[worker] = message
                elif isinstance(message, Opened):
                    ready += 1
            known = opened.values()
            tables = sum(one.tables for one in known)
            guests = sum(one.guests for one in known)
            if guests and not tables:
                self._watcher.signing_in(sum(one.signed_in for one in known), guests)
            else:
                self._watcher.opening(tables)

    def _go_in_s(self) -> float:
        """Until the plan begins: with the opening bell, where the exchange rings it."""
        if not self._starts_at_s:
            return GO_IN_S
        go_in_s = self._starts_at_s - time.time()
        if go_in_s <= 0:
            raise Unreachable(
                f"seats were still being taken {-go_in_s:.0f} s after the opening bell"
            )
        return go_in_s

    def _plan(self) -> None:
        options, local = self._options, self._local
        warm = options.warmup_s
        self._todo = [(warm, self._note_cpu), (warm + options.seconds, self._note_used)]
        role = KILLS.get(options.scenario)
        if role is not None and local is not None:
            self._todo.append((warm + options.seconds / 2, lambda: self._kill(local, role)))
        self._todo.sort(key=lambda one: one[0])

    def _hear_until_done(self) -> None:
        while self._workers.left:
            at_s = time.monotonic() - self._begins_at
            while self._todo and self._todo[0][0] <= at_s:
                self._todo.pop(0)[1]()
            for worker, message in self._workers.hear(LOOK_S):
                if isinstance(message, Report):
                    self._tally.report(worker, message)
                elif isinstance(message, Done):
                    self._tally.done(message)
            self._check_local()
            if at_s < self._options.warmup_s + self._options.seconds:
                self._look(at_s)
                self._watcher.playing(self._tally, at_s)
            else:
                self._watcher.ending()

    def _check_local(self) -> None:
        if self._local is not None:
            self._local.check()

    def _look(self, at_s: float) -> None:
        """See what the server holds, now and then."""
        if self._local is not None and at_s >= self._look_at_s:
            self._look_at_s = at_s + LOOK_EVERY_S
            held = Held(round(at_s, 1), self._local.rss_bytes(), self._local.stream_entries())
            if held.rss_bytes:
                self._around.server_held.append(held)

    def _note_cpu(self) -> None:
        self._own_cpu_s = time.process_time()
        if self._local is not None:
            self._cpu_before = dict(self._local.cpu_s())

    def _note_used(self) -> None:
        own_cpu_s = time.process_time() - self._own_cpu_s
        self._tally.cpu_cores += own_cpu_s / self._options.seconds
        if self._local is not None:
            self._around.server_cpu_s = {
                role: cpu_s - self._cpu_before.get(role, 0.0)
                for role, cpu_s in self._local.cpu_s().items()
            }
            self._around.server_rss_bytes = dict(self._local.rss_bytes())

    def _kill(self, local: LocalExchange, role: str) -> None:
        at_s = time.monotonic() - self._begins_at  # before it: the outage begins here
        self._around.kills.append({"role": role, "name": local.kill(role), "at_s": round(at_s, 2)})
