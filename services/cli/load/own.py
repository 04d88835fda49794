"""The exchange that `pit load --local` starts: real processes in a directory of their own."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from loadtest import processes
from services.cli.demo import secrets
from services.cli.demo.exchange import Exchange
from services.cli.demo.plan import Plan
from services.cli.demo.plan import plan as demo_plan
from services.cli.failures import Exit, Failure
from services.gateway.identity.tokens import SignedTokens, parse_keys
from services.log import keys
from services.log.connection import SyncConnection
from services.log.port import LogError

PORT_BASES = range(17_700, 27_700, 100)
"""Where an exchange of our own looks for free ports, away from a demo's."""
SHARDS = 4
"""Enough for the matchers that find room beside a generator; each has a price in every turn."""
OPERATOR_S = 3600
"""Life of the token that opens tables for an opening bell."""


class OwnExchange:
    """An exchange in a directory that goes away with it, unless a part of it has failed."""

    def __init__(self, matchers: int) -> None:
        self._matchers = matchers
        self._data = Path(tempfile.mkdtemp(prefix="pit-load-"))
        self._exchange: Exchange | None = None
        self._asked: SyncConnection | None = None
        self._cpu_gone_s: dict[str, float] = {}
        """Used by processes that were killed."""
        self._failed = False
        """Its logs are to be read."""

    @property
    def target(self) -> str:
        plan = self._running.plan
        return f"{plan.settings.bind}:{plan.gateway_port}"

    @property
    def operators(self) -> tuple[str, str]:
        plan = self._running.plan
        keys = secrets.environment(plan.data, plan.settings)["PIT_TOKEN_KEYS"]
        token = SignedTokens(parse_keys(keys)).operator("pit load", OPERATOR_S)
        return f"{plan.settings.operate_bind}:{plan.operate_port}", token

    @property
    def banner(self) -> str:
        plan = self._running.plan
        return (
            f"{self._running.banner}; {self._matchers} matcher{'s' * (self._matchers != 1)}, "
            f"1 gateway (door {plan.settings.native_door}, limits {plan.settings.profile}), "
            f"1 archiver, {self._running.meta.shards} shards"
        )

    def start(self) -> None:
        self._exchange = Exchange(_demo_plan(self._data, self._matchers))
        with self._logs_kept():
            self._exchange.start()
        self._asked = SyncConnection(self._exchange.url)

    def check(self) -> None:
        with self._logs_kept():
            self._running.check_children()

    @contextmanager
    def _logs_kept(self) -> Iterator[None]:
        """A failure names logs that lie in the directory."""
        try:
            yield
        except Failure:
            self._failed = True
            raise

    def kill(self, role: str) -> str:
        before = self.cpu_s()[role]
        name = self._running.kill(role)
        self._cpu_gone_s[role] = before - sum(map(processes.cpu_s, self._running.processes()[role]))
        return name

    def cpu_s(self) -> Mapping[str, float]:
        return {
            role: round(sum(map(processes.cpu_s, pids)) + self._cpu_gone_s.get(role, 0.0), 2)
            for role, pids in self._running.processes().items()
        }

    def rss_bytes(self) -> Mapping[str, int]:
        return {
            role: sum(map(processes.rss_bytes, pids))
            for role, pids in self._running.processes().items()
        }

    def stream_entries(self) -> Mapping[str, int]:
        shards = range(self._running.meta.shards)
        names = {"in": keys.in_stream, "out": keys.out_stream}
        questions = [("XLEN", key(shard)) for key in names.values() for shard in shards]
        try:
            assert self._asked is not None
            answers = self._asked.ask_all(questions)
        except LogError:  # whoever plays on it will say so
            return {}
        return {
            name: sum(answers[place * len(shards) : (place + 1) * len(shards)])
            for place, name in enumerate(names)
        }

    def end(self) -> None:
        if self._asked is not None:
            self._asked.close()
        if self._exchange is not None:
            self._exchange.end()
        if not self._failed:
            shutil.rmtree(self._data, ignore_errors=True)

    @property
    def _running(self) -> Exchange:
        assert self._exchange is not None
        return self._exchange


def _demo_plan(data: Path, matchers: int) -> Plan:
    """The first ports that are all free. Limits are those for measuring unless set otherwise."""
    os.environ.setdefault("PIT_PROFILE", "load")
    for port_base in PORT_BASES:
        try:
            plan = demo_plan(
                tables=0, seats=4, rules="blitz", duration_s=0, as_json=True, pace="max",
                bots=False, data=data, port_base=port_base, matchers=matchers, kill_every_s=0,
            )  # fmt: skip
            return replace(
                plan,
                shards=SHARDS,
                begun="the exchange of this run",
                elsewhere="set TMPDIR to a directory on a larger one",
            )
        except Failure as failure:
            if failure.code != Exit.IN_USE:
                raise
    raise Failure(
        Exit.IN_USE, f"no free ports between {PORT_BASES[0]} and {PORT_BASES[-1]}", "", "free some"
    )
