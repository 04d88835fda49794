"""The durable loop: in stream -> matcher -> out stream, on a real Valkey, append-only everysec.

Everything runs on this machine at once: the server, one or two matchers, and this process, which
feeds the in streams with entries packed beforehand and follows the out streams undecoded.
"""

import os
import subprocess
import sys
import tempfile
from base64 import b32encode
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from time import perf_counter, sleep

from engine import commands as c
from engine import events as e
from loadtest import processes
from loadtest.bench.plan import GOAL, Planner, tables_ready
from services.log import keys
from services.log.codec import InBatch, pack_batch, pack_command, unpack_record
from services.log.connection import SyncConnection, pack
from services.log.entry import parse_id
from services.log.redis import RedisReaderLog
from services.log.server import EmbeddedServer
from services.log.store import init_store

GATEWAY = "gateway"
"""The one through which the plan's streams go: its entries show that it lives."""
SHARDS = 16
TABLES = 500
COMMANDS = 300_000
ENTRY_COMMANDS = 8
"""No entry holds more: what a gateway gathers in one turn of its loop for one shard."""
WINDOW_ENTRIES = 4_000
"""Entries that may be on their way at once."""
SEND_ENTRIES = 64
"""Entries sent in one pipeline."""
THROUGHPUT_GOAL = 100_000
LIGHT_COMMANDS = 1_000
LIGHT_PAUSE_S = 0.004
LIGHT_GOAL_MS = (0.35, 1.5)

MATCHER = """
import sys
from loadtest.bench.plan import no_chance
from services.matcher.main import run
from services.settings import load
sys.exit(run(load(), no_chance))
"""
"""A matcher whose deals are those of the plan."""

Entries = list[tuple[int, bytes]]
"""(shard, packed command for the server)"""


@dataclass
class Exchange:
    """A store with matchers that own all of it, and the processes behind it."""

    url: str
    pids: dict[str, list[int]]

    def cpu_s(self) -> dict[str, float]:
        """Processor time so far by kind of process."""
        return {kind: sum(map(processes.cpu_s, pids)) for kind, pids in self.pids.items()}


def main() -> None:
    """Print throughput with one and with two matchers, and latency at light load."""
    asked_of: list[list[c.Command]] = []
    planner = Planner(tables_ready(TABLES, 1, asked_of), 2)
    planner.run(COMMANDS)
    setting_up = _entries(
        [(number, command) for number, asked in enumerate(asked_of) for command in asked]
    )
    play = [(number, kind(*args)) for kind, number, args in planner.steps]
    playing = _entries(play)
    for matchers in (1, 2):
        with _exchange(matchers) as exchange:
            _Feeder(exchange.url).feed(setting_up)
            _throughput(exchange, matchers, playing)
    with _exchange(1) as exchange:
        _Feeder(exchange.url).feed(setting_up)
        _light_load(exchange, _entries(play[:LIGHT_COMMANDS], 1))


def _entries(commands: Sequence[tuple[int, c.Command]], size: int = ENTRY_COMMANDS) -> Entries:
    """The commands in order, as entries of a shard each, packed down to the server's protocol."""
    gathered: dict[int, list[tuple[str, bytes]]] = {shard: [] for shard in range(SHARDS)}
    entries: Entries = []
    for number, command in commands:
        shard = number % SHARDS
        batch = gathered[shard]
        batch.append((_table(number), pack_command(command)))
        if len(batch) == size:
            entries.append((shard, _packed(shard, batch)))
            batch.clear()
    entries += [(shard, _packed(shard, batch)) for shard, batch in gathered.items() if batch]
    return entries


def _packed(shard: int, batch: Sequence[tuple[str, bytes]]) -> bytes:
    body = pack_batch(InBatch(GATEWAY, tuple(batch)))
    return pack(("XADD", keys.in_stream(shard), "*", "b", body))


class _Feeder:
    """Sends entries and follows the out streams, with a bounded number on the way."""

    def __init__(self, url: str) -> None:
        self._store = SyncConnection(url)
        self._reader = SyncConnection(url)
        self._after = dict.fromkeys(range(SHARDS), "0-0")
        self._waiting: list[deque[str]] = [deque() for _ in range(SHARDS)]
        self.on_the_way = 0

    def feed(self, entries: Entries) -> float:
        """Seconds from the first send until the last answer is in an out stream."""
        begun = perf_counter()
        sent = 0
        while sent < len(entries) or self.on_the_way:
            some = entries[sent : sent + min(SEND_ENTRIES, WINDOW_ENTRIES - self.on_the_way)]
            if some:
                self._store.send(b"".join(packed for _, packed in some))
                for shard, _ in some:
                    self._waiting[shard].append(self._store.reply().decode())
                sent += len(some)
                self.on_the_way += len(some)
            self.follow(block_ms=0 if some else 5)
        return perf_counter() - begun

    def time_one(self, shard: int, packed: bytes) -> float:
        """Seconds from sending one entry until its answer has been read."""
        self.follow(0)
        key, after = keys.out_stream(shard), self._after[shard]
        self._reader.send(pack(("XREAD", "BLOCK", 1_000, "STREAMS", key, after)))
        sleep(LIGHT_PAUSE_S)
        begun = perf_counter()
        self._store.send(packed)
        self._reader.reply()
        took_s = perf_counter() - begun
        self._store.reply()
        return took_s

    def follow(self, block_ms: int) -> None:
        """Read what is new in the out streams; only each entry's input position is looked at."""
        wait = ("BLOCK", block_ms) if block_ms else ()
        streams = map(keys.out_stream, self._after)
        command = ("XREAD", "COUNT", 100, *wait, "STREAMS", *streams, *self._after.values())
        for key, raw in self._store.ask(*command, wait_s=block_ms / 1000) or ():
            shard = keys.shard_of(key)
            self._after[shard] = raw[-1][0].decode()
            reached, _, done = raw[-1][1][5].decode().partition("/")
            waiting = self._waiting[shard]
            while waiting and (
                parse_id(waiting[0]) < parse_id(reached) or (waiting[0] == reached and done == "0")
            ):
                waiting.popleft()
                self.on_the_way -= 1


# ------------------------------------------------------------------ what is measured


def _throughput(exchange: Exchange, matchers: int, playing: Entries) -> None:
    before, cpu_before = _newest(exchange.url), exchange.cpu_s()
    took_s = _Feeder(exchange.url).feed(playing)
    cpu_after = exchange.cpu_s()
    mix, entries = _mix_run(exchange.url, before)
    commands = sum(mix.values())
    print(
        f"in -> matcher -> out, {matchers} matcher(s), {TABLES:,} tables, everysec:"
        f" {commands / took_s:,.0f} commands/s (goal {THROUGHPUT_GOAL:,});"
        f" {commands / entries:.0f} commands an out entry"
    )
    spent = {kind: (cpu_after[kind] - cpu_before[kind]) / commands * 1e6 for kind in cpu_after}
    print("  processor time a command: " + ", ".join(f"{k} {v:.1f} us" for k, v in spent.items()))
    print("  mix really run: " + _shares(mix))


def _newest(url: str) -> dict[int, str]:
    reader = RedisReaderLog(url)
    newest = {}
    for shard in range(SHARDS):
        newest[shard] = "0-0"
        while page := reader.out_after(shard, newest[shard], 1_000, 0):
            newest[shard] = page[-1].id
    reader.close()
    return newest


def _mix_run(url: str, after: dict[int, str]) -> tuple[Counter[str], int]:
    """What became of the commands, by the log; how many out entries that took."""
    reader = RedisReaderLog(url)
    mix: Counter[str] = Counter()
    entries = 0
    for shard, newest in after.items():
        at = newest
        while page := reader.out_after(shard, at, 1_000, 0):
            at = page[-1].id
            entries += len(page)
            for entry in page:
                for chunk in entry.chunks:
                    _count(mix, unpack_record(chunk.table, chunk.body))
    reader.close()
    return mix, entries


def _count(mix: Counter[str], record: e.Record) -> None:
    for at, item in enumerate(record.items):
        if isinstance(item, e.Answered):
            follows = record.items[at + 1] if at + 1 < len(record.items) else None
            if item.rejection:
                mix["refused"] += 1
            elif isinstance(follows, e.OfferOpened):
                mix["open"] += 1
            elif isinstance(follows, e.Traded):
                mix["traded"] += 1
            elif isinstance(follows, e.OfferEnded) and follows.why == e.Why.WITHDRAWN:
                mix["withdrawn"] += 1
            else:
                mix["ready and bells"] += 1


def _shares(mix: Counter[str]) -> str:
    total = sum(mix.values())
    return ", ".join(
        f"{name} {100 * mix[name] / total:.1f} % (aim {aim})" for name, aim in GOAL.items()
    )


def _light_load(exchange: Exchange, playing: Entries) -> None:
    """One command at a time, some time apart: from its sending until a reader that waits for it
    has its answer from the out stream."""
    feeder = _Feeder(exchange.url)
    feeder.follow(0)
    took_ms = [feeder.time_one(*entry) * 1_000 for entry in playing]
    cuts = quantiles(took_ms, n=100)
    print(
        f"light load, {LIGHT_COMMANDS:,} commands {LIGHT_PAUSE_S * 1e3:g} ms apart:"
        f" p50 {cuts[49]:.2f} ms (goal {LIGHT_GOAL_MS[0]}),"
        f" p99 {cuts[98]:.2f} ms (goal {LIGHT_GOAL_MS[1]})"
    )


# ------------------------------------------------------------------ the exchange


@contextmanager
def _exchange(matchers: int) -> Iterator[Exchange]:
    """A new store and so many matchers that own all of it."""
    with tempfile.TemporaryDirectory() as directory, EmbeddedServer(Path(directory)) as server:
        init_store(server.url, SHARDS)
        environment = os.environ | {"PIT_REDIS_URL": server.url}
        running = [
            subprocess.Popen(  # noqa: S603 (our own words)
                [sys.executable, "-c", MATCHER],
                env=environment | {"PIT_NAME": f"m{number}"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for number in range(matchers)
        ]
        try:
            _wait_for_owners(server.url, matchers)
            pids = {"Valkey": [server.pid], "matcher": [matcher.pid for matcher in running]}
            yield Exchange(server.url, pids)
        finally:
            for matcher in running:
                matcher.terminate()
                matcher.wait()


def _wait_for_owners(url: str, matchers: int) -> None:
    store = SyncConnection(url)
    shares = [SHARDS // matchers] * matchers
    owners: Counter[bytes] = Counter()
    while sorted(owners.values()) != shares:
        sleep(0.05)
        found = [store.ask("HGET", keys.lease(shard), "o") for shard in range(SHARDS)]
        owners = Counter(owner[:6] for owner in found if owner)
    store.close()


def _table(number: int) -> str:
    return f"{number % SHARDS:02}" + b32encode(number.to_bytes(12, "big")).decode().lower()[:20]
