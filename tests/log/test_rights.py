"""Each role with the rights that the folder's README gives it, and no more."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.gateway.identity.store import RedisPeopleStore
from services.gateway.operate.orders import Ban, Standing
from services.gateway.operate.store import Act, RedisOperateStore
from services.log.connection import SyncConnection
from services.log.port import START, DeadLetter, Lease, LogError
from services.log.redis import RedisGatewayLog, RedisOwnerLog, RedisReaderLog
from services.log.server import EmbeddedServer
from support.turns import Turns, table
from support.valkey import emptied

README = Path(__file__).parents[2] / "services" / "log" / "README.md"
RULES = dict(
    re.findall(r"^(matcher|gateway|operator|archiver) +(resetkeys .*)$", README.read_text(), re.M)
)


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


def test_the_readme_names_four_roles():
    assert sorted(RULES) == ["archiver", "gateway", "matcher", "operator"]


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
    assert reader.news({1: "0-0"}, 100) == {1: reader.out_after(1, "0-0", 100, 0)}
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


async def test_a_gateway_reads_orders_and_one_with_the_internal_port_gives_them(
    urls: dict[str, str],
):
    turns = Turns(RedisOwnerLog(urls["matcher"]))
    turns.acquire()
    turns.log.look("m", [1], [(1, turns.nonce)])
    operator, gateway = RedisOperateStore(urls["operator"]), RedisOperateStore(urls["gateway"])
    people = RedisPeopleStore(urls["operator"])
    act = Act("Ann", "o1", "ban", "people/p1", "why", bytes(16), (("until", "5"),))
    first = await operator.append(act)
    assert [line.act for line in await operator.audit_after("0-0", 10)] == [act]
    assert await operator.append(act) > first
    await people.keep_name("p1", "Anna", 60)
    await operator.rename("p1", "Anne")
    assert await operator.people_named("aN", 10) == {"p1": "Anne"}
    await operator.keep_operator("o1", "Ann")
    await operator.set_maintenance("upgrade")
    await operator.ban("p1", Ban(5, "why"))
    assert await gateway.standing() == Standing("upgrade", 2, {"o1": "Ann"})
    assert await gateway.bans() == {"p1": Ban(5, "why")}
    await operator.lift_bans(["p1"])
    await operator.set_maintenance("")
    assert await gateway.standing() == Standing("", 3, {"o1": "Ann"})
    await operator.ask_to_leave(1, "m", bytes(16))
    assert await operator.asked_to_leave(1, bytes(16)) == "m"
    assert await operator.asked_to_leave(1, bytes(15) + b"1") == ""
    assert turns.log.look("m", [1], []).drains == ("m",)
    assert set(await operator.matchers()) == {"m"}
    assert await operator.owner(1) == turns.nonce
    state = await operator.shard(1, ["m"])
    assert (state.owner, state.epoch, state.lag_entries) == ("?", turns.epoch, 0)
    assert await operator.dead_letters(1, "0-0", 5) == []
    for store in (operator, gateway, people, turns.log):
        closing = store.close()
        if closing is not None:
            await closing


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
        ("XADD", "pit:audit", "*", "a", "b"),
        ("HSET", "pit:operate", "maintenance", "x"),
        ("SET", "pit:{01}:drain", "m"),
        ("SCAN", "0"),
        ("EVAL", "return 1", 0),
    ],
    "operator": [
        ("XADD", "pit:{01}:out", "*", "b", "forged"),
        ("HSET", "pit:{01}:lease", "o", "x"),
        ("HGETALL", "pit:{01}:snap"),
        ("XTRIM", "pit:audit", "MAXLEN", "0"),
        ("DEL", "pit:audit"),
        ("SET", "pit:audit", "x"),
        ("HSET", "pit:matchers", "m", "1 1"),
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
