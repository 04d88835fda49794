"""One seat's protocol, message by message, without any I/O."""

from collections.abc import Callable, Sequence

import pytest
from google.rpc import code_pb2
from pit.v1 import play_pb2

from services.client.happenings import (
    Drain,
    Effective,
    Happened,
    Happening,
    OutOfStep,
    Rejected,
    RetryAfter,
    Settled,
    Started,
    Unknown,
    WasReset,
)
from services.client.items import PublicItems
from services.client.protocol import IN_FLIGHT_MAX, InFlightFull, SeatProtocol
from support.responses import attached, event, offer, opened, response, snapshot, traded

TABLE = "tables/00" + "a" * 20


def take(protocol: SeatProtocol, *items: play_pb2.Item, epoch: bytes = b"e1") -> list[Happening]:
    return list(protocol.receive(response(*items, epoch=epoch)))


def sent(protocol: SeatProtocol) -> list[play_pb2.Command]:
    messages = (play_pb2.PlayRequest.FromString(data) for data in protocol.outgoing())
    return [message.command for message in messages if message.HasField("command")]


def numbers(protocol: SeatProtocol) -> list[int]:
    return [command.number for command in sent(protocol)]


def playing(generation: int = 3) -> SeatProtocol:
    """A protocol that has attached afresh at seq 10."""
    protocol = SeatProtocol(TABLE, "token")
    protocol.attach()
    take(protocol, attached(snapshot(seq=10), generation=generation))
    return protocol


def submit(protocol: SeatProtocol, count: int = 1) -> None:
    for _ in range(count):
        protocol.submit(offer(size=2), now=1.0)


def resumed_at(protocol: SeatProtocol) -> play_pb2.Resume:
    return play_pb2.PlayRequest.FromString(protocol.attach()).attach.resume


def outcomes(happenings: Sequence[Happening]) -> list[tuple[int, object]]:
    return [(one.command.number, one.outcome) for one in happenings if isinstance(one, Settled)]


def rejected(
    number: int,
    reason: str,
    code: int = code_pb2.FAILED_PRECONDITION,
    consumed: bool = False,
    retry_after_ms: int = 0,
) -> play_pb2.Item:
    return play_pb2.Item(
        rejected=play_pb2.Rejected(
            number=number,
            code=code,
            reason=reason,
            consumed=consumed,
            retry_after_ms=retry_after_ms,
        )
    )


# ---------------------------------------------------------------------- attaching


def test_a_fresh_attach_names_table_and_token_and_no_resume() -> None:
    protocol = SeatProtocol(TABLE, "token")
    message = play_pb2.PlayRequest.FromString(protocol.attach())
    assert (message.attach.table, message.attach.seat_token) == (TABLE, "token")
    assert not message.attach.HasField("resume")


def test_a_new_stream_resumes_from_the_newest_epoch_and_event() -> None:
    protocol = playing(generation=3)
    take(protocol, event(opened(seat=1, size=2), seq=11), epoch=b"e2")
    resume = resumed_at(protocol)
    assert (resume.epoch, resume.seq, resume.generation) == (b"e2", 11, 3)


def test_an_epoch_without_an_event_is_not_where_the_client_stands() -> None:
    """A refusal may come from a history that the view does not belong to."""
    protocol = playing()
    submit(protocol)
    take(protocol, rejected(1, "STALE_ROUND", consumed=True), epoch=b"e2")
    assert resumed_at(protocol).epoch == b"e1"


@pytest.mark.parametrize("seq", [9, 10, 12])
def test_an_event_out_of_order_ends_the_stream_and_changes_nothing(seq: int) -> None:
    protocol = playing()
    happenings = take(
        protocol,
        event(opened(seat=1, size=2), seq=seq),
        event(opened(seat=2, size=2), seq=11),
        epoch=b"e2",
    )
    assert happenings == [OutOfStep()]
    resume = resumed_at(protocol)
    assert (resume.epoch, resume.seq) == (b"e1", 10)


def test_a_resume_that_goes_on_keeps_the_view_and_the_numbers() -> None:
    protocol = playing()
    submit(protocol)
    view = protocol.view
    protocol.attach()
    happenings = take(protocol, attached(None, generation=3, next_number=1))
    assert happenings == [Started(resumed=True)]
    assert protocol.view is view
    assert numbers(protocol) == [1]


# ---------------------------------------------------------------------- outcomes


def test_an_event_with_the_number_is_the_effective_answer() -> None:
    protocol = playing()
    submit(protocol, 2)
    happenings = take(
        protocol,
        event(opened(seat=0, size=2), seq=11, number=1),
        event(traded(seat=0, partner=1, size=2), seq=12, number=2),
    )
    assert [type(one) for one in happenings] == [Happened, Settled, Happened, Settled]
    assert outcomes(happenings) == [(1, Effective(11, False)), (2, Effective(12, True))]
    assert protocol.in_flight == 0


def test_a_refusal_that_uses_the_number_up_is_an_outcome() -> None:
    protocol = playing()
    submit(protocol)
    happenings = take(protocol, rejected(1, "STALE_ROUND", consumed=True))
    assert outcomes(happenings) == [
        (1, Rejected(code_pb2.FAILED_PRECONDITION, "STALE_ROUND", {}, ""))
    ]
    submit(protocol)
    assert numbers(protocol) == [1, 2]


def test_more_than_sixteen_without_an_outcome_are_not_taken() -> None:
    protocol = playing()
    submit(protocol, IN_FLIGHT_MAX)
    with pytest.raises(InFlightFull):
        submit(protocol)


def test_a_command_carries_the_round_and_the_last_event_seen() -> None:
    protocol = playing()
    take(protocol, event(opened(seat=1, size=2), seq=11))
    submit(protocol)
    (command,) = sent(protocol)
    assert (command.round, command.seen_seq) == (1, 11)


def test_every_command_without_an_outcome_is_unknown_when_no_stream_follows() -> None:
    protocol = playing()
    submit(protocol, 2)
    assert outcomes(protocol.abandon("SUPERSEDED")) == [
        (1, Unknown("SUPERSEDED")),
        (2, Unknown("SUPERSEDED")),
    ]


# ---------------------------------------------------------------------- the same numbers again


def test_a_resume_settles_what_was_answered_and_repeats_the_rest() -> None:
    protocol = playing()
    submit(protocol, 4)
    sent(protocol)
    protocol.attach()
    happenings = take(
        protocol,
        attached(
            None,
            generation=3,
            next_number=4,
            answers=[effective(1, 10), answer_rejected(2, "NO_PARTNER"), effective(3, 12)],
        ),
    )
    # Number 3 had its effect in event 12, which is still to come and will say what it was.
    assert [number for number, _ in outcomes(happenings)] == [1, 2]
    assert numbers(protocol) == [4]
    assert protocol.retries == 1
    take(protocol, event(opened(seat=1, size=1), seq=11))
    happenings = take(protocol, event(traded(seat=0, partner=1, size=2), seq=12, number=3))
    assert outcomes(happenings) == [(3, Effective(12, True))]


def test_the_same_command_again_is_the_same_bytes() -> None:
    protocol = playing()
    submit(protocol)
    (first,) = protocol.outgoing()
    take(protocol, event(opened(seat=1, size=1), seq=11))
    protocol.attach()
    take(protocol, attached(None, generation=3, next_number=1))
    assert protocol.outgoing() == [first]


def test_what_was_submitted_between_streams_goes_out_with_the_next() -> None:
    protocol = playing()
    protocol.attach()
    submit(protocol)
    assert numbers(protocol) == []
    take(protocol, attached(None, generation=3, next_number=1))
    assert numbers(protocol) == [1]
    assert protocol.retries == 0


def test_a_new_generation_leaves_what_was_sent_unknown_and_renumbers_the_rest() -> None:
    protocol = playing(generation=3)
    submit(protocol, 2)
    sent(protocol)
    protocol.attach()
    submit(protocol)
    happenings = take(protocol, attached(snapshot(seq=40), generation=4))
    assert outcomes(happenings) == [(1, Unknown("HISTORY")), (2, Unknown("HISTORY"))]
    assert numbers(protocol) == [1]


# ---------------------------------------------------------------------- refusals that use nothing up


def test_it_goes_back_to_the_refused_number_once_all_later_ones_are_refused() -> None:
    protocol = playing()
    submit(protocol, 3)
    sent(protocol)
    assert take(protocol, rejected(1, "UNAVAILABLE", code_pb2.UNAVAILABLE)) == []
    assert take(protocol, rejected(2, "NUMBER_OUT_OF_RANGE", code_pb2.OUT_OF_RANGE)) == []
    (wait,) = take(protocol, rejected(3, "NUMBER_OUT_OF_RANGE", code_pb2.OUT_OF_RANGE))
    assert isinstance(wait, RetryAfter)
    submit(protocol)
    assert numbers(protocol) == [], "nothing new is sent before the refused number is in"
    protocol.retry()
    assert numbers(protocol) == [1, 2, 3, 4]
    assert protocol.retries == 3


def test_a_retry_waits_as_long_as_the_exchange_asks() -> None:
    protocol = playing()
    submit(protocol)
    refusal = rejected(1, "RATE_LIMIT", code_pb2.RESOURCE_EXHAUSTED, retry_after_ms=700)
    (wait,) = take(protocol, refusal)
    assert isinstance(wait, RetryAfter)
    assert wait.delay_s >= 0.7


def test_a_number_refused_for_good_is_given_to_the_next_command() -> None:
    protocol = playing()
    submit(protocol, 3)
    sent(protocol)
    take(protocol, event(opened(seat=0, size=2), seq=11, number=1))
    take(protocol, rejected(2, "LOT_SIZE", code_pb2.INVALID_ARGUMENT))
    happenings = take(protocol, rejected(3, "NUMBER_OUT_OF_RANGE", code_pb2.OUT_OF_RANGE))
    assert [(number, type(one)) for number, one in outcomes(happenings)] == [(2, Rejected)]
    assert numbers(protocol) == [2]
    submit(protocol)
    assert numbers(protocol) == [3]


def test_a_number_the_exchange_did_not_expect_ends_the_stream() -> None:
    protocol = playing()
    submit(protocol)
    refusal = rejected(1, "NUMBER_OUT_OF_RANGE", code_pb2.OUT_OF_RANGE)
    assert take(protocol, refusal) == [OutOfStep()]


# ---------------------------------------------------------------------- refused, and in the log


def unavailable(number: int) -> play_pb2.Item:
    """As the gateway refuses where the store's word about an append was lost."""
    return rejected(number, "TABLE_UNAVAILABLE", code_pb2.UNAVAILABLE)


def out_of_range(number: int) -> play_pb2.Item:
    return rejected(number, "NUMBER_OUT_OF_RANGE", code_pb2.OUT_OF_RANGE)


def used_up(number: int) -> play_pb2.Item:
    return rejected(number, "STALE_ROUND", consumed=True)


def took_effect(number: int) -> play_pb2.Item:
    return event(opened(seat=0, size=2), seq=10 + number, number=number)


def by_answer(number: int) -> play_pb2.Item:
    return play_pb2.Item(effective=play_pb2.Effective(number=number, seq=3))


def again(protocol: SeatProtocol) -> None:
    protocol.retry()


Step = play_pb2.Item | Callable[[SeatProtocol], None]
BOTH = [took_effect(1), took_effect(2)]
ORDERS: dict[str, tuple[list[Step], list[int]]] = {
    # What happens to commands 1 to 3, and which numbers are sent afterwards, command 4 among them.
    "all in the log": ([unavailable(1), *BOTH, took_effect(3)], [4]),
    "told by answers": ([unavailable(1), by_answer(1), by_answer(2), by_answer(3)], [4]),
    "refused for good": ([unavailable(1), used_up(1), used_up(2), used_up(3)], [4]),
    "the refused one only": ([unavailable(1), took_effect(1)], [4]),
    "refused between": ([took_effect(1), unavailable(2), took_effect(2), took_effect(3)], [4]),
    "the next refused later": ([unavailable(1), took_effect(1), unavailable(2)], []),
    "two refused, in the log": ([unavailable(1), unavailable(2), *BOTH, took_effect(3)], [4]),
    "the last refused, not in": ([unavailable(1), unavailable(3), *BOTH], [3, 4]),
    "the last out of range": ([unavailable(1), out_of_range(3), *BOTH], [3, 4]),
    "one still to come": ([unavailable(1), unavailable(2), took_effect(1)], []),
    "all refused, one in": (
        [unavailable(1), out_of_range(2), out_of_range(3), took_effect(1)],
        [],  # the timer sends them, as long after as the exchange has asked for
    ),
    "one in before the timer": (
        [unavailable(1), out_of_range(2), out_of_range(3), took_effect(1), again],
        [2, 3, 4],
    ),
    "all in before the timer": (
        [unavailable(1), unavailable(2), unavailable(3), *BOTH, took_effect(3), again],
        [4],
    ),
    "all in after the timer": (
        [unavailable(1), unavailable(2), unavailable(3), again, *BOTH, took_effect(3)],
        [1, 2, 3, 4],
    ),
    "refused again": (
        [unavailable(1), unavailable(2), unavailable(3), again, unavailable(1), *BOTH],
        [1, 2, 3, 4],
    ),
}


@pytest.mark.parametrize("order", ORDERS)
def test_a_refused_command_that_was_in_the_log_holds_nothing_back(order: str) -> None:
    steps, expected = ORDERS[order]
    protocol = playing()
    submit(protocol, 3)
    sent(protocol)
    for step in steps:
        if isinstance(step, play_pb2.Item):
            take(protocol, step)
        else:
            step(protocol)
    submit(protocol)
    assert numbers(protocol) == expected


@pytest.mark.parametrize("order", [name for name, (_, expected) in ORDERS.items() if not expected])
def test_what_is_held_back_is_sent_by_the_last_refusal_or_the_timer(order: str) -> None:
    protocol = playing()
    submit(protocol, 3)
    sent(protocol)
    told = [one for step in ORDERS[order][0] for one in take(protocol, step)]  # type: ignore[arg-type]
    submit(protocol)
    if not any(isinstance(one, RetryAfter) for one in told):
        told = take(protocol, out_of_range(3))
        assert [type(one) for one in told] == [RetryAfter]
    protocol.retry()
    assert numbers(protocol) == [2, 3, 4]


@pytest.mark.parametrize("resets", [False, True])
def test_a_new_stream_lets_go_of_what_was_held(resets: bool) -> None:
    """And its first unclear append holds nothing back for ever either."""
    protocol = playing()
    submit(protocol, 2)
    take(protocol, unavailable(1), unavailable(2))
    protocol.attach()
    if resets:
        take(protocol, reset(play_pb2.RESET_REASON_GAP, generation=3, last_number=0))
    else:
        take(protocol, attached(None, generation=3, next_number=1))
    assert numbers(protocol) == [1, 2]
    take(protocol, unavailable(1), by_answer(1), by_answer(2))
    submit(protocol)
    assert numbers(protocol) == [3]


def test_a_user_that_takes_events_itself_is_let_go_as_well() -> None:
    protocol = playing()
    submit(protocol, 2)
    take(protocol, unavailable(1))
    submit(protocol)
    assert numbers(protocol) == [1, 2]
    assert protocol.take_effect(1, 11) is not None
    assert numbers(protocol) == [3]


# ---------------------------------------------------------------------- resets


def reset(reason: play_pb2.ResetReason.ValueType, **fields: object) -> play_pb2.Item:
    return play_pb2.Item(reset=play_pb2.Reset(reason=reason, snapshot=snapshot(seq=9), **fields))  # type: ignore[arg-type]


def test_a_history_reset_lists_what_was_undone_and_repeats_none_of_it() -> None:
    protocol = playing()
    submit(protocol, 3)
    sent(protocol)
    take(
        protocol,
        event(opened(seat=0, size=2), seq=11, number=1),
        event(traded(seat=0, partner=1, size=2), seq=12, number=2),
    )
    protocol.attach()
    happenings = take(
        protocol, reset(play_pb2.RESET_REASON_HISTORY, generation=3, last_number=1), epoch=b"e9"
    )
    first = happenings[0]
    assert isinstance(first, WasReset)
    assert [(one.command.number, one.seq) for one in first.undone] == [(2, 12)]
    # Number 3 cannot follow number 1, and under another number it could happen twice.
    assert outcomes(happenings) == [(3, Unknown("HISTORY"))]
    assert numbers(protocol) == []
    assert protocol.view is not None
    assert protocol.view.seq == 9
    submit(protocol)
    assert numbers(protocol) == [2]


def test_a_history_reset_that_lost_the_generation_undoes_all_of_it() -> None:
    protocol = playing(generation=3)
    submit(protocol)
    take(protocol, event(opened(seat=0, size=2), seq=11, number=1))
    protocol.attach()
    happenings = take(protocol, reset(play_pb2.RESET_REASON_HISTORY, generation=2, last_number=5))
    assert isinstance(happenings[0], WasReset)
    assert [one.command.number for one in happenings[0].undone] == [1]
    submit(protocol)
    assert numbers(protocol) == [6]


def test_a_gap_reset_repeats_what_is_in_flight() -> None:
    protocol = playing()
    submit(protocol, 2)
    take(protocol, event(opened(seat=0, size=2), seq=11, number=1))
    protocol.attach()
    happenings = take(protocol, reset(play_pb2.RESET_REASON_GAP, generation=3, last_number=1))
    assert happenings == [WasReset(play_pb2.RESET_REASON_GAP, ())]
    assert numbers(protocol) == [2]


def test_a_gap_reset_undoes_nothing_even_in_a_new_generation() -> None:
    protocol = playing(generation=3)
    submit(protocol)
    take(protocol, event(opened(seat=0, size=2), seq=11, number=1))
    protocol.attach()
    happenings = take(protocol, reset(play_pb2.RESET_REASON_GAP, generation=4, last_number=0))
    assert happenings == [WasReset(play_pb2.RESET_REASON_GAP, ())]


# ---------------------------------------------------------------------- the rest


def test_draining_says_how_long_there_is() -> None:
    draining = play_pb2.Item(draining=play_pb2.Draining(retry_after_ms=1500))
    assert take(playing(), draining) == [Drain(1.5)]


def test_seats_that_share_their_items_parse_each_event_once() -> None:
    items = PublicItems()
    first, second = SeatProtocol(TABLE, "a", items), SeatProtocol(TABLE, "b", items)
    seen = []
    for protocol in (first, second):
        take(protocol, attached(snapshot(seq=10), generation=1))
        (happened,) = take(protocol, event(opened(seat=1, size=2), seq=11))
        assert isinstance(happened, Happened)
        seen.append(happened.event)
    assert seen[0] is seen[1]


def effective(number: int, seq: int) -> play_pb2.Answer:
    return play_pb2.Answer(number=number, effective=play_pb2.Effective(number=number, seq=seq))


def answer_rejected(number: int, reason: str) -> play_pb2.Answer:
    refusal = play_pb2.Rejected(number=number, reason=reason, consumed=True)
    return play_pb2.Answer(number=number, rejected=refusal)
