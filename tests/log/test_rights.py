"""Each role with the rights that the folder's README gives it, and no more."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.gateway.identity.store import RedisPeopleStore
from services.log.connection import SyncConnection
from services.log.port import START, DeadLetter, Lease, LogError
from services.log.redis import RedisGatewayLog, RedisOwnerLog, RedisReaderLog
from services.log.server import EmbeddedServer
from support.turns import Turns, table
from support.valkey import emptied

README = Path(__file__).parents[2] / "services" / "log" / "README.md"
RULES = dict(re.findall(r"^(matcher|gateway|archiver) +(resetkeys .*)$", README.read_text(), re.M))


@pytest.fixture(params=["valkey", "redis"])
def urls(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The URL of each role on an emptied server."""
    server: EmbeddedServer = request.getfixturevalue(f"{request.param}_server")
    emptied(server)
    raw = SyncConnection(server.url)
    for role, rules in RULES.items():
        raw.call("ACL", "SETUSER", role, "reset", "on", f">{role}-password", *rules.split())
    yield {
        role: server.url.replace("redis://", f"redis://{role}:{role}-password@") for role in RULES
    }
    raw.call("ACL", "DELUSER", *RULES)
    raw.close()


def test_the_readme_names_three_roles():
    assert sorted(RULES) == ["archiver", "gateway", "matcher"]


async def test_every_role_can_do_its_work(urls: dict[str, str]):
    turns = Turns(RedisOwnerLog(urls["matcher"]))
    gateway, reader = RedisGatewayLog(urls["gateway"]), RedisReaderLog(urls["archiver"])
    log = turns.log
    assert log.meta() == await gateway.meta() == reader.meta()
    assert log.leases([1]) == [None]
    turns.acquire()
    assert isinstance((await gateway.append({1: b"command"}))[1], str)
    _, entries = log.exchange([], {1: START}, 5, 10)
    assert [entry.body for entry in entries[1]] == [b"command"]
    lobby = ((table(0), b"line"), (table(1), None))
    dead = (DeadLetter(entries[1][0].id, 0, "type", b"x"),)
    assert turns.send(turns.next_commit(dead=dead, lobby=lobby)) is None
    for number in range(3):
        turns.turn(later_ms=100_000)
        turns.snapshot([(table(number), b"state")], gone=[table(number - 1)], keep_ms=0)
    log.load(1)
    log.out_after(1, "0-0", 10)
    log.count_attempt(1, "1-0", 0)
    log.renew(1, turns.nonce)
    assert set(log.look("m", [1, 2], [(1, turns.nonce)]).matchers) == {"m"}
    log.forget("m")
    turns.acquire(Lease(turns.nonce, 0))
    found = await gateway.read({1: "0-0", 2: "0-0"}, 5)
    assert await gateway.newest(1) == found[1][-1]
    assert await gateway.still_there(1, found[1][-1])
    assert await gateway.out_after(1, "0-0", 100) == found[1]
    assert await gateway.lobby(1) == {table(0): b"line"}
    assert await gateway.lobby_line(1, table(0)) == b"line"
    assert reader.out_after(1, "0-0", 100, 0) == reader.out_after(1, "0-0", 100, 5)
    reader.archived(1, turns.expected[0])
    assert reader.archived_up_to(1) == turns.expected[0]
    log.release(1, turns.nonce)
    await gateway.close()
    for one in (log, reader):
        one.close()


async def test_a_gateway_keeps_what_it_knows_of_people(urls: dict[str, str]):
    people = RedisPeopleStore(urls["gateway"])
    await people.keep_name("p1", "Ann", 60)
    await people.prolong_name("p1", 60)
    assert await people.note_first("pit:id:guest:1", "note", 60) == "note"
    assert await people.table_opened("p1", "t", 1, 60) == {"t": 1}
    await people.tables_over("p1", ["t"])
    assert await people.names(["p1", "p2"]) == {"p1": "Ann"}
    await people.keep_refresh("digest", "content", 60)
    await people.keep_refresh("digest", "other", 60)
    assert await people.refresh_content("digest") == "content"
    await people.retire_refresh("digest", "used", 60)
    assert await people.refresh_content("digest") == "used"
    await people.raise_expiry("sid", 5.0, 60)
    await people.raise_expiry("sid", 4.0, 60)
    assert await people.newest_expiry("sid") == 5.0
    assert await people.claim_bot_seats([(table(0), 1)], "g", 1_000) == [True]
    await people.close()


FORBIDDEN = {
    "matcher": [
        ("HSET", "pit:meta", "store_id", "x"),
        ("GET", "pit:id:name:p"),
        ("XADD", "pit:audit", "*", "a", "b"),
        ("EVAL", "return redis.call('HSET', KEYS[1], 'a', 'b')", 1, "pit:meta"),
    ],
    "gateway": [
        ("XADD", "pit:{01}:out", "*", "b", "forged"),
        ("XREAD", "STREAMS", "pit:{01}:in", "0-0"),
        ("HGETALL", "pit:{01}:snap"),
        ("HGETALL", "pit:{01}:lease"),
        ("DEL", "pit:{01}:out"),
        ("SET", "pit:{01}:arch", "1-1"),
        ("XRANGE", "pit:audit", "-", "+"),
        ("EVAL", "return 1", 0),
    ],
    "archiver": [
        ("SET", "pit:{01}:lease", "x"),
        ("XADD", "pit:{01}:out", "*", "b", "forged"),
        ("XRANGE", "pit:{01}:in", "-", "+"),
    ],
}
FOR_NOBODY = [("FLUSHALL",), ("KEYS", "*"), ("CONFIG", "GET", "*"), ("SCRIPT", "FLUSH")]


@pytest.mark.parametrize("role", FORBIDDEN)
def test_no_role_can_do_more(urls: dict[str, str], role: str):
    server = SyncConnection(urls[role])
    for command in FORBIDDEN[role] + FOR_NOBODY:
        with pytest.raises(LogError, match=r"(?i)no permissions|can't access|ACL failure"):
            server.call(*command)
    server.close()
