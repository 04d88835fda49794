"""What `GatewayLog` and `ReaderLog` promise, on every store."""

import asyncio
from dataclasses import replace

import pytest

from services.log.port import START, StoreChanged, StoreFull
from support.stores import Backend
from support.turns import Turns, table


@pytest.fixture
def turns(backend: Backend) -> Turns:
    found = Turns(backend.owner())
    found.acquire()
    return found


async def test_appended_entries_reach_their_shards(backend: Backend, turns: Turns):
    gateway = backend.gateway()
    first = await gateway.append({1: b"first", 2: b"other"})
    second = await gateway.append({1: b"second"})
    assert await gateway.append({}) == {}
    _, entries = turns.log.exchange([], {1: START, 2: START}, 0, 10)
    assert [(entry.id, entry.body) for entry in entries[1]] == [
        (first[1], b"first"),
        (second[1], b"second"),
    ]
    assert [(entry.id, entry.body) for entry in entries[2]] == [(first[2], b"other")]
    await gateway.close()


async def test_an_entry_too_long_to_be_read_is_not_appended(backend: Backend, turns: Turns):
    gateway = backend.gateway()
    with pytest.raises(ValueError, match="65537"):
        await gateway.append({1: b"fine", 2: bytes(65_537)})
    assert turns.log.exchange([], {1: START, 2: START}, 0, 10)[1] == {}
    await gateway.close()


async def test_a_full_store_refuses_entries(backend: Backend, turns: Turns):
    gateway = backend.gateway()
    await gateway.append({1: b"before"})
    backend.fill()
    outcomes = await gateway.append({1: b"lost", 2: b"lost"})
    assert [type(outcome) for outcome in outcomes.values()] == [StoreFull, StoreFull]
    backend.make_room()
    assert isinstance((await gateway.append({1: b"after"}))[1], str)
    _, entries = turns.log.exchange([], {1: START, 2: START}, 0, 10)
    assert [entry.body for entry in entries[1]] == [b"before", b"after"]
    assert set(entries) == {1}
    await gateway.close()


async def test_a_gateway_reads_what_owners_commit(backend: Backend, turns: Turns):
    gateway = backend.gateway()
    turns.turn((table(0), b"one"), (table(1), b"two"))
    turns.turn((table(0), b"three"))
    found = await gateway.read({1: "0-0", 2: "0-0"}, 0)
    assert list(found) == [1]
    assert found[1] == turns.log.out_after(1, "0-0", 10)
    assert [chunk.body for entry in found[1] for chunk in entry.chunks] == [
        b"one",
        b"two",
        b"three",
    ]
    assert await gateway.read({1: found[1][-1].id}, 5) == {}
    assert await gateway.newest(1) == found[1][-1]
    assert await gateway.newest(3) is None
    await gateway.close()


async def test_a_gateway_waits_for_the_first_entry(backend: Backend, turns: Turns):
    gateway = backend.gateway()
    after = {1: turns.expected[0], 2: "0-0"}
    waiting = asyncio.create_task(gateway.read(after, 20_000))
    await asyncio.sleep(0)
    while not waiting.done():
        # Appending is not held up by the read that waits, nor are questions.
        assert isinstance((await gateway.append({3: b"meanwhile"}))[3], str)
        assert await gateway.newest(1) is not None
        turns.turn((table(0), b"news"))
    found = await waiting
    assert found[1][0].chunks[0].body == b"news"
    await gateway.close()


async def test_an_entry_is_still_there_or_trimmed_or_another(backend: Backend, turns: Turns):
    gateway = backend.gateway()
    turns.turn(later_ms=100_000)
    early = await gateway.newest(1)
    assert early is not None
    assert await gateway.still_there(1, early)
    assert not await gateway.still_there(1, replace(early, nonce=bytes(16))), "other writer"
    assert not await gateway.still_there(1, replace(early, now_ms=1)), "other content"
    assert not await gateway.still_there(1, replace(early, id=f"{turns.epoch}-99")), "beyond"
    assert not await gateway.still_there(3, early), "an empty shard"
    for _ in range(2):
        turns.turn(later_ms=100_000)
        turns.snapshot(keep_ms=0)
    assert early.id not in turns.out()
    assert await gateway.still_there(1, early), "trimmed beyond it"
    await gateway.close()


async def test_output_after_an_entry_is_read_beside_a_read_that_waits(
    backend: Backend, turns: Turns
):
    gateway = backend.gateway()
    for _ in range(5):
        turns.turn()
    waiting = asyncio.create_task(gateway.read({2: "0-0"}, 60_000))
    entries = turns.log.out_after(1, "0-0", 100)
    assert await gateway.out_after(1, "0-0", 100) == entries
    assert await gateway.out_after(1, entries[1].id, 2) == entries[2:4]
    assert await gateway.out_after(1, entries[-1].id, 100) == []
    assert await gateway.out_after(3, "0-0", 100) == [], "an empty shard"
    waiting.cancel()
    await gateway.close()


async def test_lobby_lines(backend: Backend, turns: Turns):
    gateway = backend.gateway()
    assert await gateway.lobby(1) == {}
    assert turns.send(turns.next_commit(lobby=((table(0), b"a"), (table(1), b"b")))) is None
    assert await gateway.lobby(1) == {table(0): b"a", table(1): b"b"}
    assert await gateway.lobby_line(1, table(1)) == b"b"
    assert await gateway.lobby_line(1, table(2)) is None
    assert await gateway.lobby_line(2, table(1)) is None
    await gateway.close()


async def test_a_damaged_record_is_flagged_and_its_neighbours_live(backend: Backend, turns: Turns):
    gateway = backend.gateway()
    damaged = turns.turn((table(0), b"zero"), (table(1), b"one"), (table(2), b"two"))
    turns.turn((table(1), b"more"))
    backend.damage_chunk(1, damaged, table(1))
    found = (await gateway.read({1: "0-0"}, 0))[1]
    assert [(chunk.table, chunk.intact) for entry in found for chunk in entry.chunks] == [
        (table(0), True),
        (table(1), False),
        (table(2), True),
        (table(1), True),
    ]
    assert found == turns.log.out_after(1, "0-0", 10)
    await gateway.close()


async def test_an_emptied_store_is_no_new_one(backend: Backend, turns: Turns):
    """F16: every side stops, whatever it asks."""
    gateway, reader = backend.gateway(), backend.reader()
    await gateway.meta()
    reader.meta()
    await gateway.read({1: "0-0"}, 0)
    backend.empty()
    with pytest.raises(StoreChanged):
        turns.log.acquire(1, bytes(16), None)
    with pytest.raises(StoreChanged):
        turns.log.exchange([turns.next_commit()], {1: START}, 0, 1)
    with pytest.raises(StoreChanged):
        await gateway.append({1: b"lost"})
    with pytest.raises(StoreChanged):
        await gateway.read({1: "0-0"}, 0)
    with pytest.raises(StoreChanged):
        reader.out_after(1, "0-0", 1, 0)
    await gateway.close()


def test_a_reader_follows_and_waits(backend: Backend, turns: Turns):
    reader = backend.reader()
    turns.turn()
    turns.turn()
    entries = turns.log.out_after(1, "0-0", 10)
    assert reader.out_after(1, "0-0", 2, 0) == entries[:2]
    assert reader.out_after(1, entries[0].id, 10, 1_000) == entries[1:]
    assert reader.out_after(1, entries[-1].id, 10, 5) == []
    assert reader.out_after(1, entries[-1].id, 10, 0) == []


def test_a_reader_asks_for_the_news_of_many_shards_at_once(backend: Backend, turns: Turns):
    reader = backend.reader()
    turns.turn()
    turns.turn()
    entries = turns.log.out_after(1, "0-0", 10)
    asked = {0: "0-0", 1: entries[0].id, 3: "0-0"}
    assert reader.news(asked, 10) == {1: entries[1:]}
    assert reader.news(asked, 1) == {1: entries[1:2]}
    assert reader.news({1: entries[-1].id}, 10) == {}
