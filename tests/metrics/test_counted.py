"""What seldom happens is counted, too: made to happen here, one by one."""

import socket

import grpc
import pytest
from prometheus_client import CollectorRegistry

from services.gateway.doors.opening import Kind
from services.gateway.main import new_metrics
from services.gateway.session.limits import PUBLIC, QUEUE_EVENTS_MAX, SLOW_READER_S
from services.metrics.gateway import GatewayMetrics
from services.metrics.matcher import MatcherMetrics
from services.metrics.process import Exposed
from services.settings import Settings, SettingsProblem
from support.asking import numbered, withdraw
from support.doors import both_doors, opened
from support.front import Front
from support.world import World


def value(registry: CollectorRegistry, name: str, **labels: str) -> float:
    found = registry.get_sample_value(name, labels)
    assert found is not None, f"{name} {labels} was never told"
    return found


# -------------------------------------------------------------------- matchers


def test_takeovers_fencing_snapshots_and_recoveries() -> None:
    world = World(shards=2)
    old_metrics, new = MatcherMetrics(2), MatcherMetrics(2)
    old = world.matcher("m1", old_metrics)
    world.run(old, until=lambda: len(old.ownership.shards) == 2)
    conductor = world.conductor(tables=4)
    world.play(conductor, old, trades=20)
    world.idle(old, 12.0)
    assert value(old_metrics.registry, "pit_recovery_seconds_count") == 2
    assert value(old_metrics.registry, "pit_snapshot_seconds_count") > 0
    assert value(old_metrics.registry, "pit_shard_takeovers_total") == 0
    successor = world.matcher("m2", new)
    world.run(successor, until=lambda: len(successor.ownership.shards) == 2)
    assert value(new.registry, "pit_shard_takeovers_total") == 2
    assert value(old_metrics.registry, "pit_fenced_total") == 0
    world.run(old, until=lambda: not old.ownership.shards)
    assert value(old_metrics.registry, "pit_fenced_total") == 2


def test_a_table_that_no_table_can_be_is_told_at_the_next_snapshot() -> None:
    world = World(shards=1)
    metrics = MatcherMetrics(1)
    matcher = world.matcher("m1", metrics)
    world.run(matcher, until=lambda: bool(matcher.ownership.shards))
    world.play(world.conductor(tables=2), matcher, trades=10)
    world.idle(matcher, 12.0)
    assert value(metrics.registry, "pit_invariant_breaks_total") == 0
    [shard] = matcher.ownership.shards.values()
    name, table = next(iter(shard.tables.items()))
    table.seats[0].hand += 1  # a card that nobody was dealt
    shard.dirty.add(name)
    shard.snapshot_id = ""
    matcher.ownership.snapshot(shard)
    assert value(metrics.registry, "pit_invariant_breaks_total") == 1


# -------------------------------------------------------------------- gateways


def observing(front: Front) -> GatewayMetrics:
    metrics = new_metrics()
    front.gateway.observer = metrics
    return metrics


async def test_refusals_and_rates() -> None:
    async with Front(people=PUBLIC) as front:
        one, *_ = await front.playing()
        front.world.sleep(PUBLIC.commands.burst / PUBLIC.commands.per_s)
        registry = observing(front).registry
        for _ in range(PUBLIC.commands.burst + 1):
            one.receive(numbered(one, 9, withdraw()))
        assert (
            value(registry, "pit_rejections_total", reason="NUMBER_OUT_OF_RANGE")
            == PUBLIC.commands.burst
        )
        assert value(registry, "pit_rejections_total", reason="RATE_LIMITED") == 1
        assert value(registry, "pit_rate_limited_total", scope="sign-in") == 1


async def test_sessions_come_resume_and_go() -> None:
    async with Front() as front:
        metrics = observing(front)
        registry = metrics.registry
        one, *_ = await front.playing()
        assert value(registry, "pit_sessions", transport="grpc", role="player") == 4
        assert value(registry, "pit_attaches_total", kind="fresh", outcome="snapshot") == 4
        assert one.session is not None
        one.session.closed()
        assert value(registry, "pit_sessions", transport="grpc", role="player") == 3
        assert value(registry, "pit_session_ends_total", reason="CLOSED") == 1
        one.connect()
        await front.settle()
        assert value(registry, "pit_attaches_total", kind="resume", outcome="replay") == 1


async def test_slow_readers_and_their_queues() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        registry = observing(front).registry
        one.door.blocked, one.door.ready = True, False
        assert one.session is not None
        for _ in range(3):
            one.session.put_event(b"x")
        front.gateway.tick()
        assert value(registry, "pit_session_queue_events") == 3
        for _ in range(QUEUE_EVENTS_MAX):
            one.session.put_event(b"x")
        assert value(registry, "pit_slow_readers_total") == 1
        front.world.sleep(SLOW_READER_S + 1)
        front.gateway.tick()
        assert value(registry, "pit_slow_readers_total") == 2
        assert value(registry, "pit_session_ends_total", reason="SLOW_READER") == 1


@both_doors
async def test_calls_by_how_they_end(kind: Kind) -> None:
    async with Front() as front:
        registry = observing(front).registry
        names = {"grpc_service": "pit.v1.LobbyService", "grpc_method": "ListRules"}
        caller = front.person(1)
        token = front.tokens.access(caller.person, caller.sign_in, caller.role)
        good = (("authorization", f"Bearer {token}"),)
        async with opened(front, kind) as (_, channel):
            ask = channel.unary_unary("/pit.v1.LobbyService/ListRules")
            with pytest.raises(grpc.aio.AioRpcError):
                await ask(b"")
            await ask(b"", metadata=good)
        handled = "pit_grpc_server_handled_total"
        for code, count in (("Unauthenticated", 1), ("OK", 1), ("Internal", 0)):
            assert value(registry, handled, grpc_type="unary", grpc_code=code, **names) == count
        assert value(registry, "pit_grpc_server_started_total", grpc_type="unary", **names) == 2


# -------------------------------------------------------------------- the port


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsProblem, match=f"PIT_METRICS_PORT.*{port}"):
            Exposed().serve(Settings(metrics_port=port))
