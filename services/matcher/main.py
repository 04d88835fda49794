"""`pit serve matcher`: the process around the loop."""

import os
import signal
import socket
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

import structlog

from services.collector import settle_collector
from services.log.redis import RedisOwnerLog
from services.matcher.crash import CrashPoints
from services.matcher.matcher import Matcher
from services.matcher.observer import UNOBSERVED, Observer
from services.matcher.ownership import NameTaken
from services.metrics.matcher import MatcherMetrics
from services.settings import Settings, SettingsProblem
from services.starting import fit_store

EXIT_FORCED: Final = 130
"""A second signal: ended without handing over."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Stopping:
    """The first SIGTERM or SIGINT asks for a hand-over, the second ends the process at once."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            os._exit(EXIT_FORCED)
        self.asked = True


def run(settings: Settings, chance: Callable[[int], bytes] = os.urandom) -> int:
    """Play until told to stop; the exit code. Raises `StoreChanged`, and at start
    `SettingsProblem`, `Unfit`, `Unavailable`.

    `chance` is for benchmarks, which need the same deals every time.
    """
    name = settings.name or f"{socket.gethostname()}-{os.getpid()}"
    structlog.contextvars.bind_contextvars(name=name)
    crash = _crash_points(settings.crash_at)
    fit = fit_store(settings.redis_url)
    stopping = Stopping()
    owner_log = RedisOwnerLog(settings.redis_url)
    try:
        observer = _observer(settings, owner_log)
        matcher = Matcher(
            owner_log,
            name,
            monotonic=time.monotonic,
            sleep=time.sleep,
            chance=chance,
            crash=crash,
            observer=observer,
        )
        if isinstance(observer, MatcherMetrics):
            observer.serve(settings, matcher.ownership.shards)
        settle_collector()
        log.info(
            "matcher started",
            shards=matcher.ownership.meta.shards,
            store=fit.server,
            durability=fit.durability,
            promise=fit.promise,
        )
        try:
            while not stopping.asked:
                matcher.step()
        except NameTaken:
            matcher.stop()
            raise SettingsProblem(
                f"PIT_NAME: another matcher is at work under the name {name}. Give each a name of "
                "its own, or none: it is then made of the host's and the process id."
            ) from None
        matcher.stop()
    finally:
        owner_log.close()
    log.info("matcher stopped")
    return 0


def _crash_points(asked: str) -> CrashPoints:
    """Raises `SettingsProblem`."""
    try:
        return CrashPoints(asked)
    except ValueError as error:
        raise SettingsProblem(f"PIT_CRASH_AT has a bad value: {error}.") from None


def _observer(settings: Settings, owner_log: RedisOwnerLog) -> Observer:
    if not settings.metrics_port:
        return UNOBSERVED
    metrics = MatcherMetrics(owner_log.meta().shards)
    owner_log.on_commit = metrics.committed
    return metrics
