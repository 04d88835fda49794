"""What a session says: the table, events, answers to commands, signs of life."""

from pit.v1 import play_pb2, table_pb2

from services.client.happenings import Effective, Happened, Started
from services.gateway.session.limits import (
    ACCEPTED_AFTER_S,
    HEARTBEAT_S,
    IN_FLIGHT_MAX,
    PUBLIC,
)
from services.log.memory import Fault
from support.asking import numbered, offer, ping, rejected, withdraw
from support.front import Front


async def test_attach_shows_the_table_and_what_follows_comes_as_events() -> None:
    async with Front() as front:
        table = await front.table(front.person(0))
        [first] = await front.seated(table, 0)
        assert type(first.happenings[0]) is Started
        assert first.view.phase == table_pb2.PHASE_SEATING
        await front.seated(table, 1)
        kinds = [each.event.WhichOneof("kind") for each in first.take() if type(each) is Happened]
        assert kinds == ["seat_taken"]


async def test_names_of_people_from_elsewhere_are_learnt_before_they_are_shown() -> None:
    async with Front() as front:
        await front.store.keep_name(front.person(1).person, "Ada", 60)
        table = await front.table(front.person(0))
        [first] = await front.seated(table, 0)
        [second] = await front.seated(table, 1)
        first.take()
        assert [first.view.seats[1].display_name, second.view.seats[1].display_name] == [
            "Ada",
            "Ada",
        ]


async def test_an_offer_and_its_trade_carry_the_numbers_of_those_who_asked() -> None:
    async with Front() as front:
        one, two, third, _ = await front.playing()
        first = one.submit(offer(one, 2))
        await front.settle()
        second = two.submit(offer(two, 2))
        await front.settle()
        for each in (one, two, third):
            each.take()
        assert one.outcomes()[first].traded is False
        assert two.outcomes()[second].traded is True
        [trade] = [
            each
            for each in third.happenings
            if type(each) is Happened and each.event.HasField("traded")
        ]
        assert trade.number == 0
        assert not trade.received.counts
        assert not trade.given.counts


async def test_what_waits_for_a_session_leaves_in_one_message_a_turn() -> None:
    async with Front() as front:
        one, two, third, _ = await front.playing()
        for seat in (one, two):
            seat.submit(offer(seat, 1))
        third.door.messages.clear()
        await front.settle()
        assert len(third.door.messages) == 1
        assert len(third.items()) == 2


async def test_the_public_part_is_the_same_bytes_for_everybody() -> None:
    async with Front() as front:
        one, two, third, _ = await front.playing()
        for each in (one, two, third):
            each.items()
        one.submit(offer(one, 1))
        await front.settle()
        [own], [other], [another] = one.items(), two.items(), third.items()
        assert own.public == other.public == another.public
        assert own.HasField("own")
        assert not other.HasField("own")


async def test_accepted_is_said_only_when_the_effect_is_late() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        one.submit(offer(one, 1))
        await front.breathe()
        front.gateway.hub.check_acceptances()
        assert one.items() == []
        front.world.sleep(ACCEPTED_AFTER_S + 0.01)
        front.gateway.hub.check_acceptances()
        await front.breathe()
        [item] = one.items()
        assert item.accepted.number == 3
        await front.settle()
        front.world.sleep(ACCEPTED_AFTER_S)
        front.gateway.hub.check_acceptances()
        await front.breathe()
        assert [item.WhichOneof("kind") for item in one.items()] == [None]


async def test_after_a_refusal_that_consumes_nothing_later_numbers_wait_for_that_one() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        too_many = play_pb2.Command(offer=play_pb2.Offer(lot=table_pb2.Lot(commodity=1, count=5)))
        one.receive(numbered(one, 3, too_many))
        one.receive(numbered(one, 4, offer(one, 1)))
        one.receive(numbered(one, 3, offer(one, 1)))
        one.receive(numbered(one, 4, withdraw()))
        await front.settle()
        items = one.items()
        assert rejected(items) == [(3, "LOT_SIZE", False), (4, "NUMBER_OUT_OF_RANGE", False)]
        assert [item.own.number for item in items if item.public] == [3, 4]


async def test_a_refusal_of_the_table_uses_the_number_up() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        number = one.submit(withdraw())
        await front.settle()
        assert rejected(one.items()) == [(number, "NOTHING_TO_WITHDRAW", True)]
        one.submit(offer(one, 1))
        await front.settle()
        assert [item.own.number for item in one.items()] == [number + 1]


async def test_a_repeated_number_gets_its_first_answer_and_other_content_is_refused() -> None:
    async with Front() as front:
        one, two, *_ = await front.playing()
        first = numbered(one, 3, offer(one, 1))
        one.receive(first)
        await front.settle()
        [item] = one.items()
        two.items()
        one.receive(first)
        one.receive(numbered(one, 3, withdraw()))
        one.receive(numbered(one, 4, withdraw()))
        await front.settle()
        again, reused, effect = one.items()
        seq = play_pb2.PublicItem.FromString(item.public).event.seq
        assert (again.effective.number, again.effective.seq) == (3, seq)
        assert rejected([reused]) == [(3, "NUMBER_REUSED", False)]
        assert effect.own.number == 4
        assert len(two.items()) == 1


async def test_no_more_than_sixteen_commands_wait_for_their_answers() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        for step in range(IN_FLIGHT_MAX + 1):
            one.receive(numbered(one, 3 + step, withdraw()))
        await front.breathe()
        assert rejected(one.items()) == [(3 + IN_FLIGHT_MAX, "TOO_MANY_IN_FLIGHT", False)]


async def test_the_twenty_first_command_of_a_burst_is_told_when_to_come_again() -> None:
    async with Front(people=PUBLIC) as front:
        one, *_ = await front.playing()
        front.world.sleep(PUBLIC.commands.burst / PUBLIC.commands.per_s)
        for _ in range(PUBLIC.commands.burst + 1):
            one.receive(numbered(one, 9, withdraw()))
        await front.breathe()
        *gaps, last = one.items()
        assert rejected(gaps) == [(9, "NUMBER_OUT_OF_RANGE", False)] * PUBLIC.commands.burst
        assert last.rejected.reason == "RATE_LIMITED"
        assert last.rejected.retry_after_ms == 100
        front.world.sleep(0.1)
        one.receive(numbered(one, 3, offer(one, 1)))
        await front.settle()
        assert [item.own.number for item in one.items()] == [3]


async def test_a_command_that_could_not_be_written_may_be_sent_again_under_its_number() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        command = numbered(one, 3, offer(one, 1))
        front.world.store.fault = lambda operation: (
            Fault.REFUSED if operation == "append" else Fault.NONE
        )
        one.receive(command)
        await front.breathe()
        assert rejected(one.items()) == [(3, "TABLE_UNAVAILABLE", False)]
        front.world.store.fault = lambda operation: Fault.NONE
        one.receive(command)
        await front.settle()
        assert [item.own.number for item in one.items()] == [3]


async def test_a_lost_reply_and_a_repetition_have_one_effect() -> None:
    async with Front() as front:
        one, two, *_ = await front.playing()
        two.items()
        command = numbered(one, 3, offer(one, 1))
        front.world.store.fault = lambda operation: (
            Fault.REPLY_LOST if operation == "append" else Fault.NONE
        )
        one.receive(command)
        await front.breathe()
        assert rejected(one.items()) == [(3, "TABLE_UNAVAILABLE", False)]
        front.world.store.fault = lambda operation: Fault.NONE
        one.receive(command)
        await front.settle()
        kinds = [item.WhichOneof("kind") or "event" for item in one.items()]
        assert sorted(kinds) == ["effective", "event"]
        assert len(two.items()) == 1


async def test_a_shard_that_says_nothing_is_unavailable() -> None:
    async with Front() as front:
        one, *_ = await front.playing()
        one.receive(numbered(one, 3, offer(one, 1)))
        await front.breathe()
        front.world.sleep(2.5)
        one.receive(numbered(one, 4, withdraw()))
        await front.breathe()
        assert rejected(one.items()) == [(4, "TABLE_UNAVAILABLE", False)]
        await front.settle()
        one.receive(numbered(one, 4, withdraw()))
        await front.settle()
        assert [item.own.number for item in one.items()] == [3, 4]


async def test_a_ping_is_answered() -> None:
    async with Front() as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        one.receive(ping(7))
        await front.breathe()
        [item] = one.items()
        assert (item.pong.client_us, item.pong.server_us) == (7, int(front.wall() * 1_000_000))


async def test_a_quiet_stream_has_a_heartbeat() -> None:
    async with Front() as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        front.gateway.tick()
        await front.breathe()
        assert one.items() == []
        front.world.sleep(HEARTBEAT_S + 1)
        front.gateway.tick()
        await front.breathe()
        [item] = one.items()
        assert item.heartbeat.head_seq == one.view.seq


async def test_effects_are_settled_outcomes() -> None:
    async with Front() as front:
        seats = await front.playing()
        for seat in seats:  # ready for the start, and to open
            assert [type(end) for end in seat.outcomes().values()] == [Effective, Effective]
