"""The list of tables as it changes."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from pit.v1 import lobby_pb2, table_pb2

from engine import commands
from services.gateway.convert.commands import content_hash
from services.gateway.errors import Refused
from services.gateway.lobby.limits import NEWS_TABLES_MAX
from services.gateway.lobby.news import TableWatch
from services.gateway.operate.orders import Ban, Standing
from services.gateway.session.limits import EXPIRY_GRACE_S, PUBLIC
from services.gateway.session.roles import Caller
from services.log.codec import pack_command
from support.front import Front


class Banned:
    """The orders of an exchange with one banned person."""

    def __init__(self, person: str, until_s: int) -> None:
        self._ban = {person: Ban(until_s, "cheating")}

    async def standing(self) -> Standing:
        return Standing("", 1, {})

    async def bans(self) -> dict[str, Ban]:
        return self._ban

    async def close(self) -> None:
        """It holds nothing."""


async def watch(front: Front, caller: Caller, **wanted: Any) -> TableWatch:
    front.world.sleep(1)
    found = front.gateway.open_table_watch(caller, lobby_pb2.TableFilter(**wanted))
    await front.gateway.table_news.begin(found)
    return found


async def news(front: Front, watch: TableWatch) -> tuple[list[str], list[str], bool]:
    """What it is told after one look: changed, gone, complete."""
    front.world.sleep(1)
    await front.gateway.table_news.look()
    told = await watch.next_news()
    return [table.name for table in told.changed], list(told.gone), told.complete


async def nothing(front: Front, watch: TableWatch) -> bool:
    front.world.sleep(1)
    await front.gateway.table_news.look()
    return not watch.waiting


async def test_the_list_comes_first_and_then_what_changes() -> None:
    async with Front() as front:
        ada, ben = front.person(0), front.person(1)
        await front.store.keep_name(ben.person, "Ben", 60)
        made = sorted([await front.table(ada) for _ in range(3)])
        seen = await watch(front, ada)
        first = await seen.next_news()
        assert sorted(table.name for table in first.changed) == made
        assert first.complete
        assert await nothing(front, seen)
        await front.join(ben, made[1])
        front.world.sleep(1)
        await front.gateway.table_news.look()
        [table] = (await seen.next_news()).changed
        assert (table.name, table.taken[0].display_name) == (made[1], "Ben")
        new = await front.table(ada)
        assert await news(front, seen) == ([new], [], True)


async def test_an_empty_list_is_told_too() -> None:
    async with Front() as front:
        first = await (await watch(front, front.person(0))).next_news()
        assert (list(first.changed), first.complete) == ([], True)


async def test_a_table_that_no_longer_fits_the_filter_is_gone() -> None:
    async with Front() as front:
        ada = front.person(0)
        deluxe = await front.table(ada, preset="deluxe", seats=3)
        await front.table(ada)
        joinable = await watch(front, ada, preset="deluxe", joinable=True)
        every = await watch(front, ada, preset="deluxe")
        for each in (joinable, every):
            assert [table.name for table in (await each.next_news()).changed] == [deluxe]
        for number in range(3):
            await front.join(front.person(number), deluxe)
        assert await news(front, joinable) == ([], [deluxe], True)
        assert (await every.next_news()).changed[0].name == deluxe


async def test_a_closed_table_is_gone() -> None:
    async with Front() as front:
        table = await front.table(front.person(0))
        seen = await watch(front, front.person(1))
        await seen.next_news()
        closing = commands.CloseTable(b"c" * 16, content_hash(b""), "", "a reason", "ann")
        name = table.partition("/")[2]
        await front.answer(front.gateway.hub.request(name, b"c" * 16, pack_command(closing)))
        assert await news(front, seen) == ([], [table], True)


@pytest.mark.parametrize("visibility", ["VISIBILITY_UNLISTED", "VISIBILITY_PRIVATE"])
async def test_what_is_not_public_is_never_told(visibility: str) -> None:
    async with Front() as front:
        ada = front.person(0)
        seen = await watch(front, ada)
        await seen.next_news()
        table = await front.table(ada, visibility=table_pb2.Visibility.Value(visibility))
        await front.join(ada, table) if visibility == "VISIBILITY_UNLISTED" else None
        assert await nothing(front, seen)


async def test_who_reads_slowly_is_told_the_newest_and_in_pieces() -> None:
    async with Front() as front:
        ada = front.person(0)
        table = await front.table(ada)
        line = await front.gateway.lobby._directory.line(table.partition("/")[2])
        assert line is not None
        many = [replace(line, table=f"01{n:0>20}") for n in range(NEWS_TABLES_MAX + 1)]
        seen = await watch(front, ada)
        await seen.next_news()
        for round_ in range(50):
            seen.tell([replace(each, round=round_) for each in many], ())
        assert seen.waiting == len(many)
        one, two = await seen.next_news(), await seen.next_news()
        assert (len(one.changed), one.complete) == (NEWS_TABLES_MAX, False)
        assert (len(two.changed), two.complete) == (1, True)
        assert {each.round for each in (*one.changed, *two.changed)} == {49}
        seen.tell(many, ())
        seen.tell((), [each.table for each in many])
        seen.tell(many[:1], ())
        last, end = await seen.next_news(), await seen.next_news()
        assert [each.round for each in (*last.changed, *end.changed)] == [line.round]
        assert len(last.gone) + len(end.gone) == NEWS_TABLES_MAX
        new = replace(line, table="01" + "b" * 20)
        seen.tell([new], ())
        seen.tell((), [new.table])
        assert not seen.waiting, "what came and went between two messages is not told of"


async def test_it_ends_with_its_token_unless_that_was_refreshed() -> None:
    async with Front() as front:
        ada = front.person(0, for_s=10)
        seen = await watch(front, ada)
        await seen.next_news()
        front.gateway.tick()
        for _ in range(2):  # it was looked for once, and was not there yet
            front.world.sleep(10)
            front.gateway.tick()
            await front.gateway.expiries.settle()
        front.gateway.tick()
        await front.store.raise_expiry(ada.sign_in, front.wall() + 900, 900)
        await front.gateway.expiries.settle()
        front.world.sleep(EXPIRY_GRACE_S + 1)
        front.gateway.tick()
        waiting = asyncio.ensure_future(seen.next_news())
        await front.breathe()
        assert not waiting.done()
        front.world.sleep(900)
        front.gateway.tick()
        with pytest.raises(Refused, match="TOKEN_EXPIRED"):
            await waiting
        front.gateway.table_watch_ended(seen)


async def test_who_was_banned_while_the_request_was_on_its_way_opens_no_stream() -> None:
    async with Front() as front:
        mal = front.person(0)
        await front.gateway.obey(Banned(mal.person, int(front.wall()) + 60))
        with pytest.raises(Refused, match="BANNED"):
            await watch(front, mal)
        assert await watch(front, front.person(1))


async def test_it_ends_with_the_gateway_and_counts_as_a_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("services.gateway.gateway.DRAIN_S", 0)
    async with Front(people=PUBLIC) as front:
        streams = [await watch(front, front.person(0)) for _ in range(PUBLIC.streams_max)]
        with pytest.raises(Refused, match="TOO_MANY_STREAMS"):
            await watch(front, front.person(0))
        front.gateway.table_watch_ended(streams.pop())
        streams.append(await watch(front, front.person(0)))
        await front.gateway.drain()
        for each in streams:
            with pytest.raises(Refused, match="DRAINING"):
                await each.next_news()
