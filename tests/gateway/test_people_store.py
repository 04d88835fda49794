"""What every people store does: the one on a real server, and its twin in memory."""

import asyncio
import secrets
from collections.abc import AsyncIterator

import pytest

from services.gateway.identity.memory import MemoryPeopleStore
from services.gateway.identity.store import PeopleStore, RedisPeopleStore
from services.log import keys

SEATS = [("01" + "a" * 20, 0), ("01" + "a" * 20, 1)]


@pytest.fixture(params=["memory", "valkey"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[PeopleStore]:
    found: PeopleStore = MemoryPeopleStore()
    if request.param == "valkey":
        found = RedisPeopleStore(request.getfixturevalue("valkey_url"))
    yield found
    await found.close()


async def test_names(store: PeopleStore) -> None:
    assert await store.keep_name("pa", "Änne", 60) == "Änne"
    assert await store.keep_name("pa", "Ann", 60) == "Änne"
    await store.keep_name("pb", "Ben", 60)
    await store.prolong_name("pb", 0)
    await store.prolong_name("pc", 60)
    assert await store.names(["pa", "pb", "pc"]) == {"pa": "Änne"}


async def test_a_note_is_kept_first_or_whatever_was_there(store: PeopleStore) -> None:
    key = keys.guest(secrets.token_hex(8))
    assert await store.noted(key) is None
    assert await store.note_first(key, "one", 60) == "one"
    assert await store.note_first(key, "two", 60) == "one"
    await store.note(key, "three", 60)
    assert await store.noted(key) == "three"


async def test_a_refresh_token_is_kept_once_and_retired(store: PeopleStore) -> None:
    await store.keep_refresh("d", "new", 60)
    await store.retire_refresh("d", "used", 60)
    await store.keep_refresh("d", "new", 60)
    assert await store.refresh_content("d") == "used"
    assert await store.refresh_content("e") is None


async def test_the_newest_expiry_counts(store: PeopleStore) -> None:
    assert await store.newest_expiry("s") == 0
    for expires_s in (50, 90, 70):
        await store.raise_expiry("s", expires_s, 60)
    assert await store.newest_expiry("s") == 90


async def test_of_two_gateways_at_once_the_newer_expiry_stays(valkey_url: str) -> None:
    one, other = RedisPeopleStore(valkey_url), RedisPeopleStore(valkey_url)
    sign_ins = [secrets.token_hex(8) for _ in range(5)]
    for sign_in in sign_ins:
        await asyncio.gather(
            one.raise_expiry(sign_in, 1_764_506_190, 60),
            other.raise_expiry(sign_in, 1_764_506_170, 60),
        )
    assert [await one.newest_expiry(each) for each in sign_ins] == [1_764_506_190] * 5
    await one.close()
    await other.close()


async def test_tables_are_noted_with_the_time_of_the_first(store: PeopleStore) -> None:
    assert await store.table_opened("pa", "t1", 5, 60) == {"t1": 5}
    assert await store.table_opened("pa", "t2", 6, 60) == {"t1": 5, "t2": 6}
    assert await store.table_opened("pa", "t1", 7, 60) == {"t1": 5, "t2": 6}
    assert await store.table_opened("pb", "t3", 7, 60) == {"t3": 7}
    await store.tables_over("pa", ["t1", "t9"])
    await store.tables_over("pa", [])
    assert await store.table_opened("pa", "t4", 8, 60) == {"t2": 6, "t4": 8}


async def test_a_wanted_seat_is_claimed_once(store: PeopleStore) -> None:
    assert await store.claim_bot_seats(SEATS[:1], "g1", 60_000) == [True]
    assert await store.claim_bot_seats(SEATS, "g2", 60_000) == [False, True]
    assert await store.claim_bot_seats([], "g1", 60_000) == []
