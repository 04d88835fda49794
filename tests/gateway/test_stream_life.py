"""How streams begin and end: attached, refused, lost, expired, one too many."""

from copy import deepcopy

import pytest
from pit.v1 import play_pb2, table_pb2

from engine.events import Event
from services.client.happenings import Happened, WasReset
from services.client.protocol import SeatProtocol
from services.gateway import feed, hub
from services.gateway.errors import Refused
from services.gateway.gateway import Gateway
from services.gateway.main import new_metrics
from services.gateway.session.limits import (
    ATTACH_TIMEOUT_S,
    EXPIRY_GRACE_S,
    FIRST_MESSAGE_TIMEOUT_S,
    PUBLIC,
)
from services.gateway.session.roles import Role
from services.log.memory import Fault, MemoryGatewayLog
from support.asking import offer, ping, withdraw
from support.front import Front, OpenDoor, Seated


async def unattached(front: Front) -> Seated:
    """A stream that has sent nothing, of a person with a seat."""
    seat = await front.join(front.person(0), await front.table(front.person(0)))
    seat.door = OpenDoor()
    seat.session = front.gateway.open(seat.door, seat.caller)
    return seat


async def test_a_message_that_is_none_ends_the_stream() -> None:
    async with Front() as front:
        seat = await unattached(front)
        assert seat.session is not None
        seat.session.receive(b"\xff\xff\xff")
        assert seat.door.end_reason == "MALFORMED_REQUEST"


async def test_a_command_before_the_attach_ends_the_stream() -> None:
    async with Front() as front:
        seat = await unattached(front)
        seat.receive(play_pb2.PlayRequest(command=withdraw()))
        assert seat.door.end_reason == "ATTACH_EXPECTED"


async def test_an_empty_message_names_what_it_could_be() -> None:
    async with Front() as front:
        seat = await unattached(front)
        seat.receive(play_pb2.PlayRequest())
        assert seat.door.end_reason == "INVALID_FIELD"


@pytest.mark.parametrize("what", ["garbage", "other table", "other person", "access token"])
async def test_a_seat_token_that_is_not_of_this_seat_ends_the_stream(what: str) -> None:
    async with Front() as front:
        seat = await unattached(front)
        table = seat.protocol.table
        other = front.tokens.access(seat.caller.person, "sid", Role.PLAYER)
        token = {
            "garbage": "garbage",
            "other table": front.seat_token(seat.caller, "tables/00" + "a" * 20, 0),
            "other person": front.seat_token(front.person(1), table, 0),
            "access token": other,
        }[what]
        seat.receive(play_pb2.PlayRequest(attach=play_pb2.Attach(table=table, seat_token=token)))
        expected = "FOREIGN_SEAT_TOKEN" if what.startswith("other") else "INVALID_SEAT_TOKEN"
        assert seat.door.end_reason == expected


async def test_a_seat_that_is_somebody_elses_is_refused_by_the_table() -> None:
    async with Front() as front:
        seat = await unattached(front)
        stranger = front.person(1)
        token = front.seat_token(stranger, seat.protocol.table, 0)
        intruder = Seated(front, stranger, SeatProtocol(seat.protocol.table, token))
        intruder.connect()
        await front.settle()
        assert intruder.door.end_reason == "NOT_SEATED"


async def test_commands_sent_while_attaching_are_held_until_the_seat_is_ours() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        one.connect()
        command = offer(one, 1)
        command.number, command.round, command.seen_seq = 3, one.view.round, one.view.seq
        one.receive(play_pb2.PlayRequest(command=command))
        await front.settle()
        one.take()
        items = [each for each in one.happenings if type(each) is Happened and each.number == 3]
        assert len(items) == 1


async def test_a_stream_without_an_attach_and_one_without_an_answer_are_ended() -> None:
    async with Front() as front:
        seat = await unattached(front)
        front.world.sleep(FIRST_MESSAGE_TIMEOUT_S + 1)
        front.gateway.tick()
        assert seat.door.end_reason == "ATTACH_EXPECTED"
        seat.connect()
        await front.breathe()
        front.world.sleep(ATTACH_TIMEOUT_S + 1)
        front.gateway.tick()
        assert seat.door.end_reason == "TABLE_UNAVAILABLE"


async def test_a_late_attachment_of_a_stream_that_is_gone_is_taken_back() -> None:
    """Whoever holds the seat through the same gateway goes on: when all come back at once, the
    words of a connection that was given up may be heard after those of the one that replaced it."""
    async with Front() as front:
        one, two, *_ = await front.playing()
        late = front.gateway.open(OpenDoor(), one.caller)
        late.receive(deepcopy(one.protocol).attach())
        late.closed()
        await front.settle(12)
        assert told_to(two)[-2:] == ["seat_away", "seat_back"]
        assert not one.door.ended
        one.take()
        one.submit(offer(one, 1))
        await front.settle()
        one.take()
        assert one.view.offer_lot
        assert one.view.seq == (two.take(), two.view.seq)[1]


@pytest.mark.parametrize("late", [False, True])
async def test_a_stream_that_ends_while_it_attaches_leaves_nobody_connected(late: bool) -> None:
    async with Front() as front:
        one = await front.join(front.person(0), await front.table(front.person(0)))
        one.connect()
        assert one.session is not None
        one.session.closed()
        if late:  # and just then it is time to forget those who were given up long ago
            front.gateway.hub.forget_given_up()
        await front.settle(6)
        [two] = await front.seated(one.protocol.table, 1)
        assert not snapshot_of(two).seats[0].connected
        assert len(front.gateway.hub._feeds) == 1


def snapshot_of(seat: Seated) -> table_pb2.Snapshot:
    """The first thing this seat was shown."""
    [item, *_] = play_pb2.PlayResponse.FromString(seat.raw[0]).batch.tables[0].items
    return item.attached.snapshot


async def test_a_stream_that_ends_while_the_store_is_away_is_told_of_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub, "DETACH_RETRY_S", 0)
    async with Front() as front:
        one, two, *_ = await front.playing()
        front.world.store.fault = lambda operation: (
            Fault.REFUSED if operation == "append" else Fault.NONE
        )
        assert one.session is not None
        one.session.closed()
        await front.settle()
        two.take()
        assert kinds_of(two)[-1] != "seat_away"
        front.world.store.fault = lambda operation: Fault.NONE
        await front.settle()
        assert told_to(two)[-1] == "seat_away"


def kinds_of(seat: Seated) -> list[str]:
    return [
        str(each.event.WhichOneof("kind")) for each in seat.happenings if type(each) is Happened
    ]


async def test_a_gateway_taken_for_lost_gets_its_seats_back_by_itself() -> None:
    async with Front() as front:
        one, two, *_ = await front.playing()
        front._alive_s = float("inf")
        await front.until(lambda: "seat_away" in told_to(two))
        await front.settle()
        assert "seat_back" in told_to(two)
        assert not one.door.ended
        one.submit(offer(one, 1))
        await front.settle()
        one.take()
        assert not any(type(each) is WasReset for each in one.happenings)
        assert one.view.offer_lot
        assert one.view.seq == (two.take(), two.view.seq)[1]


def told_to(seat: Seated) -> list[str]:
    seat.take()
    return kinds_of(seat)


async def test_a_damaged_record_stops_its_table_and_no_other() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        other = await front.seated(await front.table(front.person(9)), 9)
        front.gateway.feed(one.protocol.table.partition("/")[2]).stopped()
        assert one.door.end_reason == "TABLE_STOPPED"
        assert not other[0].door.ended


async def test_a_stream_that_cannot_be_sent_to_ends_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Front() as front:
        one, two, three, *_ = await front.playing()

        def broken(message: bytes) -> None:
            raise RuntimeError("secret")

        monkeypatch.setattr(one.door, "send", broken)
        two.submit(offer(two, 1))
        await front.settle()
        assert one.door.end_reason == "INTERNAL"
        assert one.door.refused is not None
        assert "secret" not in one.door.refused.message
        assert two.items()[0].own.number == 3
        told = [play_pb2.PublicItem.FromString(item.public).event for item in three.items()]
        kinds = [event.WhichOneof("kind") for event in told]
        assert kinds == ["offer_opened", "seat_away"], "who comes after the broken one is told, too"


async def test_an_event_that_cannot_be_told_stops_its_table_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Front() as front:
        one, two, *_ = await front.playing()
        [other] = await front.seated(await front.table(front.person(9)), 9)

        def broken(event: Event, *_: object) -> None:
            raise RuntimeError

        with monkeypatch.context() as patch:
            patch.setattr(feed, "public_bytes", broken)
            one.submit(offer(one, 1))
            await front.settle()
        assert one.door.end_reason == two.door.end_reason == "TABLE_STOPPED"
        other.receive(ping())
        await front.settle()
        assert len(other.items()) == 1
        one.connect()
        await front.settle()
        assert not one.door.ended


async def test_a_stream_ends_half_a_minute_after_its_token_unless_refreshed_in_it() -> None:
    async with Front() as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        left_s = one.caller.expires_s - front.wall()
        front.world.sleep(left_s + EXPIRY_GRACE_S - 1)
        front.gateway.tick()
        assert not one.door.ended
        token = front.tokens.access(one.caller.person, one.caller.sign_in, Role.PLAYER)
        one.receive(play_pb2.PlayRequest(refresh_access=play_pb2.RefreshAccess(access_token=token)))
        front.world.sleep(2)
        front.gateway.tick()
        assert not one.door.ended


async def test_a_stream_whose_token_has_expired_is_ended() -> None:
    async with Front() as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        front.world.sleep(one.caller.expires_s - front.wall() + EXPIRY_GRACE_S + 1)
        front.gateway.tick()
        assert one.door.end_reason == "TOKEN_EXPIRED"


async def test_a_token_of_another_sign_in_does_not_refresh() -> None:
    async with Front() as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        token = front.tokens.access(one.caller.person, "another", Role.PLAYER)
        one.receive(play_pb2.PlayRequest(refresh_access=play_pb2.RefreshAccess(access_token=token)))
        assert one.door.end_reason == "INVALID_TOKEN"


async def test_a_refresh_on_one_stream_keeps_the_others_of_its_sign_in_alive() -> None:
    async with Front() as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        await front.store.raise_expiry(one.caller.sign_in, front.wall() + 5_000, 5_000)
        front.world.sleep(one.caller.expires_s - front.wall() + 1)
        front.gateway.tick()
        await front.gateway.expiries.settle()
        front.world.sleep(EXPIRY_GRACE_S)
        front.gateway.tick()
        assert not one.door.ended


async def test_a_refresh_given_elsewhere_late_in_the_grace_is_heard_of() -> None:
    async with Front() as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        front.world.sleep(one.caller.expires_s - front.wall() + 1)
        for _ in range(int(EXPIRY_GRACE_S) - 3):
            front.gateway.tick()
            await front.gateway.expiries.settle()
            front.world.sleep(1)
        await front.breathe()
        assert any(item.HasField("heartbeat") for item in one.items())
        await front.store.raise_expiry(one.caller.sign_in, front.wall() + 5_000, 60)
        front.gateway.tick()
        await front.gateway.expiries.settle()
        front.world.sleep(EXPIRY_GRACE_S)
        front.gateway.tick()
        assert not one.door.ended


async def test_the_fifth_stream_of_a_sign_in_is_refused() -> None:
    async with Front(people=PUBLIC) as front:
        caller = front.person(0)
        for _ in range(PUBLIC.streams_max):
            front.gateway.open(OpenDoor(), caller)
        with pytest.raises(Exception, match="TOO_MANY_STREAMS"):
            front.gateway.open(OpenDoor(), caller)
        front.gateway.open(OpenDoor(), front.person(1, Role.BOT))


async def test_a_full_gateway_lets_in_whoever_comes_when_somebody_has_left() -> None:
    async with Front() as front:
        observer = new_metrics(4)
        assert observer.registry.get_sample_value("pit_sessions_max") == 4
        front.gateway = Gateway(
            MemoryGatewayLog(front.world.store),
            front.store,
            front.tokens,
            "g9",
            2,
            clock=front.clock,
            observer=observer,
            sessions_max=4,
        )
        sessions = [front.gateway.open(OpenDoor(), front.person(n, Role.BOT)) for n in range(4)]
        with pytest.raises(Refused, match="GATEWAY_FULL") as full:
            front.gateway.open(OpenDoor(), front.person(5))
        assert full.value.retry_after_ms > 0
        sessions[0].closed()
        front.gateway.open(OpenDoor(), front.person(5))
