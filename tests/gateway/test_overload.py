"""A table that does not keep up is given less: new tables wait first, trading next, going last."""

import pytest

from services.gateway.appender import STALLED_AFTER_S, Inflow
from services.gateway.errors import Refused
from services.gateway.session.limits import SHED_AFTER_S, Rank
from services.log.port import InPosition
from support.asking import numbered, offer, rejected, withdraw
from support.front import Front, Seated

TRADING_S = SHED_AFTER_S[Rank.TRADING]
OPENING_S = SHED_AFTER_S[Rank.OPENING]


async def unread(front: Front, seat: Seated, seconds: float) -> None:
    """A command of `seat` has been in the log for so long, and nobody has read it."""
    seat.receive(numbered(seat, 3, offer(seat, 1)))
    await front.breathe()
    front.world.sleep(seconds)


async def behind(front: Front, seat: Seated, seconds: float) -> None:
    """The same, while the table's shard is at work on what came before."""
    await unread(front, seat, seconds)
    at_work(front)


def at_work(front: Front) -> None:
    """Something has just come out of every shard, of commands before all of ours."""
    for inflow in front.gateway.hub._appender.inflows:
        inflow.heard(front.world.now_s, InPosition("0-1", 0))


async def test_trading_is_put_off_while_the_oldest_command_is_unread() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        await behind(front, one, TRADING_S + 0.1)
        one.receive(numbered(one, 4, withdraw()))
        await front.breathe()
        [refused] = one.items()
        assert rejected([refused]) == [(4, "OVERLOADED", False)]
        assert 0 < refused.rejected.retry_after_ms <= 1_000 * TRADING_S
        await front.settle()
        one.receive(numbered(one, 4, withdraw()))
        await front.settle()
        assert [item.own.number for item in one.items()] == [3, 4], "the same number, later"


async def test_commands_wait_for_a_new_owner_and_are_not_sent_away() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        await unread(front, one, STALLED_AFTER_S - 0.1)
        one.receive(numbered(one, 4, withdraw()))
        await front.settle()
        assert [item.own.number for item in one.items()] == [3, 4]


async def test_a_table_that_keeps_up_is_never_overloaded_however_long_it_was_quiet() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        for number in range(3, 9):
            front.world.sleep(TRADING_S + 0.1)
            one.receive(numbered(one, number, offer(one, 1)))
            await front.settle()
        assert not rejected(one.items())


async def test_new_tables_are_put_off_first_and_coming_back_last() -> None:
    async with Front(shards=1) as front:
        one, two, *_ = await front.playing()
        await behind(front, one, OPENING_S + 0.1)
        with pytest.raises(Refused, match="OVERLOADED"):
            await front.table(front.person(9))
        one.receive(numbered(one, 4, withdraw()))
        await front.breathe()
        assert not rejected(one.items()), "trading goes on"
        front.world.sleep(TRADING_S)
        at_work(front)
        two.connect()
        await front.breathe()
        assert not two.door.ended, "coming back goes before"
        front.world.sleep(STALLED_AFTER_S + 0.1)
        two.connect()
        await front.breathe()
        assert two.door.end_reason == "TABLE_UNAVAILABLE", "until nobody answers at all"


async def test_what_is_owed_no_answer_is_not_waited_for() -> None:
    """A Detach of a stream that was superseded is passed over without a word."""
    async with Front() as front:
        one, *_ = await front.playing()
        assert one.session is not None
        front.gateway.detach(one.session.table, one.session.seat, one.session.attach - 1)
        await front.settle()
        front.world.sleep(TRADING_S + 0.1)
        one.receive(numbered(one, 3, offer(one, 1)))
        await front.settle()
        assert not rejected(one.items())


# ------------------------------------------------------------------ what is known of a shard


def inflow(*entries: tuple[str, float]) -> Inflow:
    found = Inflow()
    for entry, now_s in entries:
        found.landed(entry, now_s)
    return found


@pytest.mark.parametrize(
    ("reached", "waiting_s"),
    [
        (InPosition("0-0", 0), 10.0),
        (InPosition("5-0", 0), 10.0),
        (InPosition("7-1", 0), 8.0),  # the first is read
        (InPosition("7-2", 1), 8.0),  # the second in part
        (InPosition("8-0", 0), 5.0),  # both
        (InPosition("9-0", 2), 5.0),  # the third in part
        (InPosition("9-0", 0), 0.0),
        (InPosition("10-0", 1), 0.0),
    ],
)
def test_how_long_the_oldest_is_unread(reached: InPosition, waiting_s: float) -> None:
    shard = inflow(("7-1", 90.0), ("7-2", 92.0), ("9-0", 95.0))
    shard.heard(99.0, reached)
    assert shard.waiting_s(100.0) == waiting_s
    assert shard.silent_s(100.0) == (1.0 if waiting_s else 0.0)


def test_an_answer_that_comes_before_the_reply() -> None:
    shard = inflow()
    shard.heard(99.0, InPosition("7-1", 0))
    shard.landed("7-1", 99.5)
    assert shard.waiting_s(100.0) == 0.0
