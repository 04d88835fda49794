"""A server's disk and its clock: files cut short, tails lost, no room, an hour off."""

import random
import shutil
from pathlib import Path

import pytest

from services.log.chain import NOTHING, Verdict, held, take
from services.log.connection import SyncConnection
from services.log.port import DeadLetter, Fenced, InPosition, Lease, StoreFull
from services.log.redis import RedisOwnerLog
from services.log.server import EmbeddedServer
from services.log.store import init_store
from support.full_disk import small_disk
from support.require import need
from support.stores import ServerBackend, contents_of
from support.turns import Turns, table
from support.valkey import SHARDS, binary_of, running
from support.waiting import wait_until

A, B = table(0), table(1)


# ------------------------------------------------------------------ lost tails, cut files


def append_only_file(directory: Path) -> Path:
    """The file that grows, of a server that has never rewritten it."""
    [found] = (directory / "appendonlydir").glob("*.incr.aof")
    return found


def test_a_lost_tail_on_a_real_server(own_valkey: EmbeddedServer):
    """F14: with the old owner, with a new one, and for who had read what is lost."""
    init_store(own_valkey.url, SHARDS)
    turns, heir = Turns(RedisOwnerLog(own_valkey.url)), Turns(RedisOwnerLog(own_valkey.url))
    turns.acquire()
    turns.turn((A, b"0"))
    survives = append_only_file(own_valkey.directory).stat().st_size
    for number in range(1, 4):
        turns.turn((A, b"%d" % number))
    seen = turns.log.out_after(1, "0-0", 100)
    lose_tail(own_valkey, survives)

    assert isinstance(turns.send(turns.next_commit((A, b"4"))), Fenced)
    assert heir.acquire(heir.log.leases([1])[0]) is not None
    for number in range(4):
        heir.turn((A, b"new %d" % number))
    after = heir.log.out_after(1, seen[-1].id, 100)
    assert after
    assert take(held(seen[-1]), after)[2] is Verdict.RESET
    whole = heir.log.out_after(1, "0-0", 100)
    assert take(NOTHING, whole) == (whole, held(whole[-1]), Verdict.ACCEPT)
    turns.log.close()
    heir.log.close()


def lose_tail(server: EmbeddedServer, survives: int) -> None:
    server.kill()
    with append_only_file(server.directory).open("r+b") as file:
        file.truncate(survives)
    server.start()


CUTS = 6
CUTS_ALL = 40


@pytest.mark.parametrize("kind", ["valkey", "redis"])
def test_a_cut_file_shows_one_moment(kind: str, tmp_path: Path):
    """All keys of the shard as they once were together, wherever the file is cut."""
    cut_and_compare(kind, tmp_path, CUTS)


@pytest.mark.all
@pytest.mark.parametrize("kind", ["valkey", "redis"])
def test_a_file_cut_at_forty_places_shows_one_moment(kind: str, tmp_path: Path):
    cut_and_compare(kind, tmp_path, CUTS_ALL)


def cut_and_compare(kind: str, directory: Path, cuts: int) -> None:
    with running(kind, directory / "whole") as server:
        raw = SyncConnection(server.url)
        moments = {contents_of(raw, 1)}
        init_store(server.url, SHARDS)
        start = append_only_file(server.directory).stat().st_size
        play(server, lambda: moments.add(contents_of(raw, 1)))
        raw.close()
        server.kill()
    end = append_only_file(directory / "whole").stat().st_size
    chance = random.Random(end)
    for number in range(cuts):
        place = chance.randrange(start, end)
        copy = directory / f"cut-{number}"
        shutil.copytree(directory / "whole", copy)
        with append_only_file(copy).open("r+b") as file:
            file.truncate(place)
        with EmbeddedServer(copy, binary=binary_of(kind)) as server:
            raw = SyncConnection(server.url)
            assert contents_of(raw, 1) in moments, f"cut at {place} of {end}"
            raw.close()
            assert_goes_on(server)
        shutil.rmtree(copy)


def play(server: EmbeddedServer, seen) -> None:
    """A life of a shard: commands, turns with everything, snapshots, takeovers."""
    backend = ServerBackend(server)
    owner = Turns(backend.owner())
    watched = None
    for round_number in range(6):
        assert owner.acquire(watched) is not None
        seen()
        for number in range(6):
            backend.append_raw(1, b"command %d" % number)
            seen()
            _, entries = owner.log.exchange([], {1: owner.position}, 0, 10)
            owner.send(
                owner.next_commit(
                    (A, b"a" * 200),
                    (B, b"b" * 300),
                    position=InPosition(entries[1][-1].id, 0),
                    later_ms=20_000,
                    dead=(DeadLetter("1-0", number, "type", b"bad"),),
                    lobby=((A, b"line %d" % number), (B, None)),
                )
            )
            seen()
            owner.log.count_attempt(1, "1-0", number)
            seen()
            if number % 2:
                owner.snapshot([(A, b"state %d" % number)], gone=[B])
                seen()
        owner.log.renew(1, owner.nonce)
        seen()
        watched = Lease(owner.nonce, 0)
        if round_number == 3:
            owner.log.release(1, owner.nonce)
            seen()
    backend.close()


def assert_goes_on(server: EmbeddedServer) -> None:
    """Whatever is left, somebody takes over, and the history after it is one."""
    heir = Turns(RedisOwnerLog(server.url))
    [lease] = heir.log.leases([1])
    acquired = heir.acquire(lease)
    assert acquired is not None
    loaded = heir.log.load(1)
    assert loaded.damaged == ()
    entries = heir.log.out_after(1, loaded.out_id, 1_000)
    assert take(held(entries[0]), entries[1:])[2] is Verdict.ACCEPT
    heir.turn()
    heir.snapshot([(A, b"after")])
    heir.log.close()


# ------------------------------------------------------------------ a full disk


@pytest.mark.all
@pytest.mark.parametrize("kind", ["valkey", "redis"])
def test_a_full_disk_refuses_writes_until_there_is_room(kind: str, tmp_path: Path):
    """F25: reading goes on; what was acknowledged is there after all, also on disk."""
    with small_disk(tmp_path, 3), running(kind, tmp_path / "data") as server:
        filler = tmp_path / "filler"
        filler.write_bytes(bytes(1_500_000))
        init_store(server.url, SHARDS)
        turns = Turns(RedisOwnerLog(server.url))
        turns.acquire()
        acknowledged, outcome = [turns.expected[0]], None
        while outcome is None:
            commit = turns.next_commit((A, bytes(40_000)))
            outcome = turns.send(commit)
            if outcome is None:
                acknowledged.append(commit.id)
        assert isinstance(outcome, StoreFull)
        with pytest.raises(StoreFull):
            turns.snapshot([(A, b"state")])
        assert turns.out() == acknowledged
        filler.unlink()
        # The server tries again once a second.
        wait_until(lambda: not isinstance(turns.send(commit), StoreFull))
        acknowledged.append(commit.id)
        server.stop()
        server.start()
        assert turns.out() == acknowledged
        turns.log.close()


# ------------------------------------------------------------------ wrong clocks


def clock(off: str) -> tuple[str, ...]:
    """Start a server with its clock off. (The `faketime` program would stay as its parent.)"""
    need("faketime")
    [library] = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
    return ("env", f"LD_PRELOAD={library}", f"FAKETIME={off}")


@pytest.mark.parametrize(("first", "then"), [("+1h", "+0h"), ("+0h", "+1h")])
def test_a_deleted_lease_with_the_server_clock_an_hour_off(tmp_path: Path, first: str, then: str):
    """F11, F41 on the wheel's Valkey under faketime (Debian's redis does not start under it)."""
    server = EmbeddedServer(tmp_path, prefix=clock(first))
    with server:
        init_store(server.url, SHARDS)
        turns, heir = Turns(RedisOwnerLog(server.url)), Turns(RedisOwnerLog(server.url))
        turns.acquire()
        turns.turn((A, b"first"))
    with EmbeddedServer(tmp_path, server.port, prefix=clock(then)) as server:
        raw = SyncConnection(server.url)
        raw.call("DEL", "pit:{01}:lease")
        acquired = heir.acquire()
        assert acquired is not None
        assert acquired.epoch > turns.epoch
        assert acquired.now_ms == turns.now_ms
        assert isinstance(turns.send(turns.next_commit((A, b"old"))), Fenced)
        heir.turn((A, b"second"))
        entries = heir.log.out_after(1, "0-0", 100)
        assert take(NOTHING, entries)[2] is Verdict.ACCEPT
        for connection in (turns.log, heir.log, raw):
            connection.close()
