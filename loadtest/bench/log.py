"""The log alone: what packing costs, and round trips on a real Valkey, append-only everysec."""

import asyncio
import secrets
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engine.commands import Offer
from engine.events import Answered, OfferOpened, Record, Traded
from services.log import codec
from services.log.port import START, Commit, OwnerLog
from services.log.redis import RedisGatewayLog, RedisOwnerLog
from services.log.server import EmbeddedServer
from services.log.store import init_store

REPEATS = 20_000
TURNS = 3_000
FULL_TURNS = 300
RECORDS_IN_A_FULL_TURN = 500
SHARD = 1
TABLE = f"{SHARD:02d}" + "a" * 20

OFFER = Offer(1, 3, 1, 7, 2, 120, 1 << 63, 5, -1, False, 0)
ANSWER = Answered(1, 3, False, 1, 7, 1 << 63, 0, (), 121, True)
OPENED = Record(TABLE, 121, (ANSWER, OfferOpened(1, 1, 5, -1, 0, 1_800_000_000_000)))
TRADED = Record(TABLE, 121, (ANSWER, Traded(1, 2, 1, 5, 32, 1_800_000_000_000)))


def main() -> None:
    """Print every figure with the goal it has a part in."""
    print("microseconds; goal of the whole loop at light load: p50 <= 350, p99 <= 1500")
    _codec()
    with tempfile.TemporaryDirectory() as directory, EmbeddedServer(Path(directory)) as server:
        init_store(server.url, 4)
        _owner(RedisOwnerLog(server.url))
        if sys.platform == "win32":
            asyncio.run(_gateway(server.url))
        else:
            import uvloop  # noqa: PLC0415 (not on Windows)

            uvloop.run(_gateway(server.url))


def _codec() -> None:
    command, opened, traded = codec.pack_command(OFFER), *map(codec.pack_record, (OPENED, TRADED))
    batch = codec.InBatch("gateway", tuple((TABLE, command) for _ in range(8)))
    packed = codec.pack_batch(batch)
    _cost("pack an offer", lambda: codec.pack_command(OFFER), len(command))
    _cost("unpack an offer", lambda: codec.unpack_command(command), len(command))
    _cost("pack a batch of eight", lambda: codec.pack_batch(batch), len(packed))
    _cost("unpack a batch of eight", lambda: codec.unpack_batch(packed), len(packed))
    _cost("pack answer + offer opened", lambda: codec.pack_record(OPENED), len(opened))
    _cost("unpack answer + offer opened", lambda: codec.unpack_record(TABLE, opened), len(opened))
    _cost("pack answer + traded", lambda: codec.pack_record(TRADED), len(traded))
    _cost("unpack answer + traded", lambda: codec.unpack_record(TABLE, traded), len(traded))


def _cost(name: str, work: Callable[[], object], size: int) -> None:
    best_s = min(_timed(work, REPEATS) for _ in range(5)) / REPEATS
    print(f"  {name:<32}{best_s * 1e6:8.2f}   {size} bytes")


def _timed(work: Callable[[], object], times: int) -> float:
    start_s = time.perf_counter()
    for _ in range(times):
        work()
    return time.perf_counter() - start_s


def _owner(log: OwnerLog) -> None:
    nonce = secrets.token_bytes(16)
    acquired = log.acquire(SHARD, nonce, None)
    assert acquired is not None
    one = ((TABLE, codec.pack_record(OPENED)),)
    many = one * RECORDS_IN_A_FULL_TURN
    expected, number = f"{acquired.epoch}-0", 0
    for name, chunks, turns in (
        ("exchange, one record", one, TURNS),
        (f"exchange, {RECORDS_IN_A_FULL_TURN} records", many, FULL_TURNS),
    ):
        times_s, cpu_s = [], time.process_time()
        for _ in range(turns):
            number += 1
            commit = Commit(
                SHARD, nonce, expected, nonce, f"{acquired.epoch}-{number}", START,
                acquired.now_ms + number, chunks, (), (),
            )  # fmt: skip
            start_s = time.perf_counter()
            [outcome], _ = log.exchange([commit], {SHARD: START}, 0, 64)
            times_s.append(time.perf_counter() - start_s)
            assert outcome is None
            expected = commit.id
        _round_trips(name, times_s, time.process_time() - cpu_s)
    log.close()


async def _gateway(url: str) -> None:
    gateway = RedisGatewayLog(url)
    entry = codec.pack_batch(codec.InBatch("gateway", ((TABLE, codec.pack_command(OFFER)),)))
    times_s, cpu_s = [], time.process_time()
    for _ in range(TURNS):
        start_s = time.perf_counter()
        await gateway.append({SHARD: entry})
        times_s.append(time.perf_counter() - start_s)
    _round_trips("append, one command", times_s, time.process_time() - cpu_s)
    chunks, last, start_s = 0, "0-0", time.process_time()
    while found := await gateway.read({SHARD: last}, 0):
        last = found[SHARD][-1].id
        chunks += sum(len(out.chunks) for out in found[SHARD])
    cost_s = (time.process_time() - start_s) / chunks
    print(f"  {'read, a record':<32}{cost_s * 1e6:8.2f}   CPU, {chunks} records")
    await gateway.close()


def _round_trips(name: str, times_s: list[float], cpu_s: float) -> None:
    times_s.sort()
    p50, p99 = (times_s[int(len(times_s) * share)] * 1e6 for share in (0.5, 0.99))
    cpu = cpu_s / len(times_s) * 1e6
    print(f"  {name:<32}{p50:8.0f}   p50, {p99:.0f} p99, {cpu:.0f} client CPU")
