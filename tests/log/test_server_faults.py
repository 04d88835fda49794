"""Faults of real servers and networks: killed, busy, damaged, lost replies."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.log.connection import SyncConnection
from services.log.port import (
    START,
    Damaged,
    DeadLetter,
    InPosition,
    LogError,
    Unavailable,
    Unclear,
)
from services.log.redis import RedisGatewayLog, RedisOwnerLog
from services.log.server import EmbeddedServer
from services.log.store import init_store
from support.proxy import Proxy
from support.stores import ServerBackend
from support.turns import Turns, table
from support.valkey import SHARDS, emptied, running

A, B = table(0), table(1)


@pytest.fixture(params=["valkey", "redis"])
def server(request: pytest.FixtureRequest) -> EmbeddedServer:
    """The session's Valkey, or Debian's redis 7.0, emptied."""
    found: EmbeddedServer = request.getfixturevalue(f"{request.param}_server")
    emptied(found)
    return found


@pytest.fixture
def proxy(server: EmbeddedServer) -> Iterator[Proxy]:
    with Proxy(server.port) as found:
        yield found


# ------------------------------------------------------------------ lost replies


async def test_no_write_is_ever_repeated(server: EmbeddedServer, proxy: Proxy):
    """F20: replies are lost five times running; each XADD is in the stream once."""
    gateway, owner = RedisGatewayLog(proxy.url), RedisOwnerLog(server.url)
    await gateway.append({1: b"0"})
    for number in range(1, 6):
        proxy.lose_replies()
        [outcome] = (await gateway.append({1: b"%d" % number})).values()
        if isinstance(outcome, Unavailable):  # the loss hit the new connection's own greeting
            [outcome] = (await gateway.append({1: b"%d" % number})).values()
        assert isinstance(outcome, str | Unclear)
    _, entries = owner.exchange([], {1: START}, 0, 100)
    found = [entry.body for entry in entries[1]]
    assert sorted(found) == sorted(set(found)), "none twice"
    await gateway.close()
    owner.close()


async def test_a_lost_reply_in_a_pipeline_leaves_each_shard_unclear(
    server: EmbeddedServer, proxy: Proxy
):
    gateway = RedisGatewayLog(proxy.url)
    await gateway.meta()
    await gateway.append({1: b"first"})
    proxy.lose_replies()
    outcomes = await gateway.append({1: b"x", 2: b"y", 3: b"z"})
    assert [type(outcome) for outcome in outcomes.values()] == [Unclear] * 3
    assert isinstance((await gateway.append({1: b"last"}))[1], str)
    await gateway.close()


def test_a_reset_connection_is_made_anew(server: EmbeddedServer, proxy: Proxy):
    """F22: between requests a cut costs nothing: it is seen before anything is sent."""
    turns = Turns(RedisOwnerLog(proxy.url))
    turns.acquire()
    for _ in range(5):
        turns.turn()
        proxy.cut()
    assert len(turns.out()) == 6
    turns.log.close()


async def test_a_gateways_reset_connection_is_made_anew(server: EmbeddedServer, proxy: Proxy):
    """F22: the same where nobody has looked at the connection since."""
    gateway, owner = RedisGatewayLog(proxy.url), RedisOwnerLog(server.url)
    for number in range(5):
        [outcome] = (await gateway.append({1: b"%d" % number})).values()
        assert isinstance(outcome, str)
        proxy.cut()
    _, entries = owner.exchange([], {1: START}, 0, 100)
    assert [entry.body for entry in entries[1]] == [b"0", b"1", b"2", b"3", b"4"]
    await gateway.close()
    owner.close()


async def test_the_reply_to_a_read_given_up_is_not_taken_for_the_next(server: EmbeddedServer):
    gateway, turns = RedisGatewayLog(server.url), Turns(RedisOwnerLog(server.url))
    turns.acquire()
    given_up = asyncio.create_task(gateway.read({1: turns.expected[0]}, 60_000))
    control = SyncConnection(server.url)
    while b"blocked_clients:0" in control.ask("INFO", "clients"):  # noqa: ASYNC110
        await asyncio.sleep(0)
    given_up.cancel()
    turns.turn((A, b"news"))
    assert await gateway.read({2: "0-0"}, 0) == {}
    await gateway.close()
    turns.log.close()
    control.close()


def test_a_slow_network_is_only_slow(server: EmbeddedServer, proxy: Proxy):
    proxy.delay_s = 0.02
    turns = Turns(RedisOwnerLog(proxy.url))
    turns.acquire()
    turns.turn()
    assert len(turns.out()) == 2
    turns.log.close()


@pytest.mark.all
def test_a_stalled_server_is_given_up(server: EmbeddedServer, proxy: Proxy):
    """F19: unclear after the time a reply may take, and usable as soon as it answers again."""
    turns = Turns(RedisOwnerLog(proxy.url))
    turns.acquire()
    proxy.stall()
    assert isinstance(turns.send(turns.next_commit()), Unclear)
    with pytest.raises(Unavailable):
        turns.log.leases([1])
    proxy.resume()
    turns.settle()
    turns.turn()
    turns.log.close()


# ------------------------------------------------------------------ a server that refuses


def test_a_server_that_is_gone_is_unavailable(tmp_path: Path):
    with running("valkey", tmp_path) as server:
        init_store(server.url, SHARDS)
        turns = Turns(RedisOwnerLog(server.url))
        turns.acquire()
        turns.turn()
        on_disk(server)
        server.kill()
        with pytest.raises(Unavailable):
            turns.log.exchange([turns.next_commit()], {1: START}, 0, 1)
        with pytest.raises(Unavailable):
            turns.log.renew(1, turns.nonce)
        server.start()
        turns.turn()
        assert len(turns.out()) == 3, "F13: a killed server has lost nothing"
        turns.log.close()


def on_disk(server: EmbeddedServer) -> None:
    """Wait until the server has written all that it acknowledged: with a slow disk that may be up
    to a second later."""
    raw = SyncConnection(server.url)
    assert raw.ask("WAITAOF", 1, 0, 20_000, wait_s=20)[0] == 1
    raw.close()


async def test_a_busy_server_has_done_nothing(server: EmbeddedServer):
    """F29: a script that runs too long makes it refuse everything, until it is killed."""
    turns = Turns(RedisOwnerLog(server.url))
    gateway = RedisGatewayLog(server.url)
    turns.acquire()
    await gateway.append({1: b"before"})
    blocker, control = SyncConnection(server.url), SyncConnection(server.url)
    control.call("CONFIG", "SET", "busy-reply-threshold", "1")
    blocker.send(b"*3\r\n$4\r\nEVAL\r\n$17\r\nwhile true do end\r\n$1\r\n0\r\n")
    while control_answers(control):
        pass
    assert isinstance(turns.send(turns.next_commit()), Unavailable)
    [outcome] = (await gateway.append({1: b"during"})).values()
    assert isinstance(outcome, Unavailable)
    control.call("SCRIPT", "KILL")
    while not control_answers(control):
        pass
    control.call("CONFIG", "SET", "busy-reply-threshold", "5000")
    turns.turn()
    _, entries = turns.log.exchange([], {1: START}, 0, 10)
    assert [entry.body for entry in entries[1]] == [b"before"]
    await gateway.close()
    for connection in (turns.log, blocker, control):
        connection.close()


def control_answers(control: SyncConnection) -> bool:
    try:
        control.ask("PING")
    except Unavailable:
        return False
    return True


def test_after_an_error_in_the_middle_no_reply_is_taken_for_another(server: EmbeddedServer):
    raw = SyncConnection(server.url)
    raw.call("SET", "text", "words")
    with pytest.raises(LogError, match="WRONGTYPE"):
        raw.ask_all([("GET", "text"), ("HGETALL", "text"), ("ECHO", "left over")])
    assert raw.ask("ECHO", "asked") == b"asked"
    turns = Turns(RedisOwnerLog(server.url))
    turns.acquire()
    raw.call("SET", "pit:{02}:in", "not a stream")
    positions = {1: InPosition("5-0", 1), 2: InPosition("5-0", 1), 3: START}
    commit = turns.next_commit()
    assert turns.log.exchange([commit], positions, 0, 1) == ([None], {})
    turns.applied(commit)
    turns.turn()
    with pytest.raises(LogError, match="WRONGTYPE"):
        turns.log.exchange([], positions, 0, 1)
    turns.turn()
    turns.log.close()
    raw.close()


def test_scripts_survive_a_script_flush(server: EmbeddedServer):
    """F28: they are sent whole, a commit by its digest only where the server holds the script."""
    turns, raw = Turns(RedisOwnerLog(server.url)), SyncConnection(server.url)
    turns.acquire()
    turns.turn()
    raw.call("SCRIPT", "FLUSH")
    written = [f"{turns.epoch}-0", f"{turns.epoch}-1", turns.turn()]
    raw.call("SCRIPT", "FLUSH")
    turns.snapshot([(A, b"state")])
    assert turns.out() == written
    turns.log.close()
    raw.close()


def test_what_a_server_does_not_hold_is_committed_once_and_in_order(server: EmbeddedServer):
    """F28: of several commits in flight, after a restart or a flush, too."""
    log, raw = RedisOwnerLog(server.url), SyncConnection(server.url)
    several = [Turns(log, shard) for shard in range(3)]
    for turns in several:
        turns.acquire()
        turns.turn()
    raw.call("SCRIPT", "FLUSH")
    raw.call("XADD", "pit:{01}:in", "*", "b", b"command")
    commits = [turns.next_commit() for turns in several]
    outcomes, entries = log.exchange(commits, {1: START}, 0, 5, pause_s=0.001)
    assert outcomes == [None, None, None]
    assert [entry.body for entry in entries[1]] == [b"command"]
    for turns, commit in zip(several, commits, strict=True):
        turns.applied(commit)
        assert turns.out()[-1] == commit.id
        turns.turn()
    log.close()
    raw.close()


def test_a_key_of_another_kind_is_damage_and_nothing_is_written(server: EmbeddedServer):
    backend = ServerBackend(server)
    turns = Turns(backend.owner())
    turns.acquire()
    backend.raw.call("SET", "pit:{01}:dead", "not a stream")
    before = turns.out()
    commit = turns.next_commit(dead=(DeadLetter("1-0", 0, "type", b""),))
    assert turns.send(commit) is not None
    assert turns.out() == before
    backend.close()


def test_an_unreadable_archive_position_stops_trimming_and_nothing_else(server: EmbeddedServer):
    backend = ServerBackend(server)
    turns = Turns(backend.owner())
    turns.acquire()
    backend.raw.call("SET", "pit:{01}:arch", "nonsense")
    for _ in range(3):
        turns.turn(later_ms=100_000)
        turns.snapshot([(A, b"state")], keep_ms=0)
    assert len(turns.out()) == 4
    backend.raw.call("DEL", "pit:{01}:arch")
    turns.turn()
    turns.snapshot([(A, b"state")], keep_ms=0)
    assert len(turns.out()) == 2
    backend.close()


def test_a_damaged_newest_entry_is_not_taken_over(server: EmbeddedServer):
    """F30: its position would be copied into the barrier, under a fresh checksum."""
    backend = ServerBackend(server)
    turns = Turns(backend.owner())
    turns.acquire()
    last = turns.turn()

    def flip(fields: list[bytes]) -> None:
        fields[5] = fields[5].replace(b"0/", b"1/")

    backend.rewrite_out(1, last, flip)
    heir = Turns(backend.owner())
    with pytest.raises(Damaged, match="shard 01"):
        heir.acquire(heir.log.leases([1])[0])
    with pytest.raises(Damaged, match=f"out entry {last} of shard 01"):
        heir.out()
    backend.close()


@pytest.mark.parametrize("field", [1, 3, 5, 7, 9, 11])
def test_every_field_of_an_entry_is_under_a_checksum(server: EmbeddedServer, field: int):
    """Of the body its index, in front; the records in it have their own."""
    backend = ServerBackend(server)
    turns = Turns(backend.owner())
    turns.acquire()
    last = turns.turn((A, b"one"), (B, b"two"))

    def flip(fields: list[bytes]) -> None:
        value = bytearray(fields[field])
        value[4] ^= 1
        fields[field] = bytes(value)

    backend.rewrite_out(1, last, flip)
    with pytest.raises(Damaged, match=f"out entry {last} of shard 01"):
        turns.out()
    backend.close()
