"""Coming back: what is filled in, what is reset, who holds the seat."""

from itertools import pairwise

import pytest
from pit.v1 import play_pb2, table_pb2

from services.client.happenings import Happened, Started, WasReset
from services.gateway import gateway
from services.gateway.session.limits import (
    OVERFLOW_WINDOW_S,
    OVERFLOWS_MAX,
    QUEUE_EVENTS_MAX,
    SLOW_READER_S,
)
from support.asking import numbered, offer, withdraw
from support.front import Front, Seated


async def chatter(front: Front, seat: Seated, times: int) -> None:
    """Events that everybody at the table sees."""
    call = play_pb2.Command(call=play_pb2.Call(phrase=table_pb2.PHRASE_HURRY))
    for _ in range(times):
        seat.submit(call)
        await front.settle(2)
        seat.take()


def gap_free(seat: Seated) -> bool:
    seqs = [each.event.seq for each in seat.happenings if type(each) is Happened]
    return all(later == earlier + 1 for earlier, later in pairwise(seqs))


async def test_a_short_absence_is_filled_event_by_event() -> None:
    async with Front() as front:
        one, two, *_ = await front.playing()
        await chatter(front, two, 3)
        one.take()
        assert one.session is not None
        one.session.closed()
        await front.settle()
        await chatter(front, two, 3)
        one.connect()
        await front.settle()
        found = one.take()
        assert found[0] == Started(resumed=True)
        assert gap_free(one)
        two.take()
        assert one.view.seq == two.view.seq


async def test_an_own_command_of_the_absence_is_settled_by_the_resume() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        number = one.submit(offer(one, 1))
        await front.settle()
        one.connect()
        await front.settle()
        one.take()
        assert one.outcomes()[number].traded is False
        assert one.view.offer_lot


async def test_a_resume_on_another_gateway_that_has_seen_nothing_gets_a_snapshot() -> None:
    async with Front() as front:
        one, two, *_ = await front.playing()
        await chatter(front, two, 2)
        front.gateway = await front.second_gateway()
        one.connect()
        await front.settle()
        [first, *_] = one.take()
        assert type(first) is WasReset
        assert first.reason == play_pb2.RESET_REASON_GAP
        assert not first.undone


async def test_a_resume_elsewhere_that_missed_nothing_continues() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        await front.settle()
        one.take()
        front.gateway = await front.second_gateway()
        one.connect()
        await front.settle()
        assert one.take()[0] == Started(resumed=True)


@pytest.mark.parametrize(
    ("epoch", "seq", "reason"),
    [
        ("own", +1_000, play_pb2.RESET_REASON_DIVERGED),
        ("unknown", 0, play_pb2.RESET_REASON_HISTORY),
        ("own", -10_000, play_pb2.RESET_REASON_GAP),
    ],
)
async def test_a_place_that_is_not_ours_is_reset(epoch: str, seq: int, reason: int) -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        front.gateway.hub.ring.forget_shard(int(one.protocol.table[7:9]))
        if epoch == "unknown":
            one.protocol.epoch = b"\1" * 16
        one.view.seq = max(1, one.view.seq + seq)
        one.connect()
        await front.settle()
        [first, *_] = one.take()
        assert type(first) is WasReset
        assert first.reason == reason


async def test_an_epoch_that_is_none_is_refused() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        one.protocol.epoch = b"short"
        one.connect()
        assert one.door.end_reason == "INVALID_FIELD"


async def test_an_older_stretch_of_our_history_continues() -> None:
    async with Front() as front:
        one, two, *_ = await front.playing()
        before = one.protocol.epoch
        front.matcher.stop()
        front.matcher = front.world.owner("m2")
        await chatter(front, two, 1)
        assert two.protocol.epoch != before
        assert one.protocol.epoch == before
        one.door.messages.clear()
        one.connect()
        await front.settle()
        assert one.take()[0] == Started(resumed=True)
        assert gap_free(one)
        assert one.protocol.epoch == two.protocol.epoch


async def test_the_newest_stream_holds_the_seat() -> None:
    async with Front() as front:
        one, two, *_ = await front.playing()
        older = one.door, one.session
        one.connect()
        await front.settle()
        one.take()
        assert older[0].end_reason == "SUPERSEDED"
        assert not one.door.ended
        assert older[1] is not None
        two.items()
        older[1].receive(numbered(one, 3, offer(one, 1)).SerializeToString())
        await front.settle()
        assert two.items() == []
        one.submit(offer(one, 1))
        await front.settle()
        assert len(two.items()) == 1


async def test_a_stream_taken_over_on_another_gateway_is_ended_too() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        older = one.door
        front.gateway = await front.second_gateway()
        one.connect()
        await front.settle()
        assert older.end_reason == "SUPERSEDED"


async def block(seat: Seated) -> None:
    seat.door.blocked = True
    seat.door.ready = False


async def test_a_slow_reader_loses_chatter_for_a_fresh_snapshot() -> None:
    async with Front() as front:
        one, two, *_ = await front.playing()
        await block(one)
        await chatter(front, two, QUEUE_EVENTS_MAX // 2)
        await chatter(front, two, QUEUE_EVENTS_MAX // 2 + 1)
        assert not one.door.ended
        one.door.blocked, one.door.ready = False, True
        assert one.session is not None
        one.session.writable()
        await front.settle()
        [first, *_] = one.take()
        assert type(first) is WasReset
        assert first.reason == play_pb2.RESET_REASON_GAP
        await chatter(front, two, 2)
        one.take()
        two.take()
        assert one.view.seq == two.view.seq


async def test_a_reader_that_takes_nothing_is_cut_and_told_to_resume() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        await block(one)
        front.world.sleep(SLOW_READER_S - 1)
        front.gateway.tick()
        assert not one.door.ended
        front.world.sleep(2)
        front.gateway.tick()
        assert one.door.end_reason == "SLOW_READER"
        assert one.door.refused is not None
        assert one.door.refused.retry_after_ms > 0


async def test_a_reader_that_falls_behind_again_and_again_is_cut() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        assert one.session is not None
        outbox = one.session._outbox
        now_s = front.world.now_s
        assert not outbox.overflow(now_s)
        assert not outbox.overflow(now_s + OVERFLOW_WINDOW_S + 1)
        for _ in range(OVERFLOWS_MAX - 2):
            assert not outbox.overflow(now_s + OVERFLOW_WINDOW_S + 2)
        assert outbox.overflow(now_s + OVERFLOW_WINDOW_S + 3)


async def test_a_history_that_went_back_is_told_to_everybody_at_once() -> None:
    async with Front() as front:
        one, two, *_ = await front.playing()
        front.world.store.sync()
        number = one.submit(offer(one, 1))
        await front.settle()
        one.take()
        assert one.outcomes()[number].traded is False
        front.world.store.lose_tail(front.world.store.tail)
        front.matcher = front.world.owner("m2")
        await front.settle(12)
        [reset] = [each for each in one.take() if type(each) is WasReset]
        assert reset.reason == play_pb2.RESET_REASON_HISTORY
        assert [undone.command.number for undone in reset.undone] == [number]
        assert not one.view.offer_lot
        two.take()
        assert one.view.seq == two.view.seq
        assert front.gateway.hub.history_resets == 1


async def test_nothing_of_a_new_history_comes_before_its_reset() -> None:
    async with Front() as front:
        one, two, *_ = await front.playing()
        here = front.gateway
        front.gateway = await front.second_gateway()
        two.connect()
        await front.settle()
        two.take()
        front.world.store.sync()
        for seat in (one, two):
            seat.submit(offer(seat, 1))
        await front.settle()
        one.take()
        one.happenings.clear()
        front.world.store.lose_tail(front.world.store.tail)
        front.matcher = front.world.owner("m2")
        two.receive(numbered(two, 4, play_pb2.Command(call=play_pb2.Call(phrase=1))))
        two.receive(numbered(two, 3, play_pb2.Command(call=play_pb2.Call(phrase=1))))
        await front.settle(12)
        first, *_ = one.take()
        assert type(first) is WasReset
        assert first.reason == play_pb2.RESET_REASON_HISTORY
        assert gap_free(one)
        assert here.hub.history_resets == front.gateway.hub.history_resets == 1
        two.take()
        assert one.view.seq == two.view.seq


async def test_a_draining_gateway_says_so_and_ends_its_streams(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gateway, "DRAIN_S", 0.01)
    async with Front() as front:
        one, two, *_ = await front.playing()
        one.items()
        await front.gateway.drain()
        [item] = one.items()
        assert item.draining.retry_after_ms > 0
        assert one.door.end_reason == two.door.end_reason == "DRAINING"
        with pytest.raises(Exception, match="DRAINING"):
            front.gateway.open(one.door, one.caller)


async def test_withdrawing_after_a_resume_goes_on_with_the_numbers() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        one.submit(offer(one, 1))
        await front.settle()
        one.connect()
        await front.settle()
        one.take()
        number = one.submit(withdraw())
        await front.settle()
        one.take()
        assert number == 4
        assert one.outcomes()[4].seq == one.view.seq
