"""Commands by Act beside a Watch, message by message, without any I/O."""

from collections.abc import Sequence

import pytest
from google.rpc import code_pb2
from pit.v1 import play_pb2

from services.client.acting import Acting, WatchProtocol
from services.client.happenings import (
    Effective,
    Happening,
    Over,
    Rejected,
    RetryAfter,
    Settled,
    Unknown,
)
from support.responses import attached, event, offer, opened, snapshot, traded

TABLE = "tables/00" + "a" * 20


def take(protocol: WatchProtocol, *items: play_pb2.Item) -> list[Happening]:
    return list(protocol.take(play_pb2.TableBatch(epoch=b"e1", log_us=1, items=items)))


def holding(attachment: bytes, **fields: object) -> play_pb2.Item:
    item = attached(generation=3, **fields)  # type: ignore[arg-type]
    item.attached.attachment = attachment
    return item


def playing(commands: int = 0) -> WatchProtocol:
    """A seat that is attached at event 10, with so many offers submitted."""
    protocol = WatchProtocol(TABLE, "token")
    protocol.wanted()
    take(protocol, holding(b"first", shown=snapshot(seq=10)))
    for _ in range(commands):
        protocol.submit(offer(size=2), now=1.0)
    return protocol


def due(protocol: WatchProtocol) -> Acting:
    acting = protocol.next_act()
    assert acting is not None
    return acting


def failed(
    protocol: WatchProtocol, acting: Acting, reason: str, **fields: object
) -> list[Happening]:
    number = acting.request.command.number
    rejected = play_pb2.Rejected(number=number, reason=reason, **fields)  # type: ignore[arg-type]
    return list(protocol.act_failed(acting, rejected))


def effective(protocol: WatchProtocol, acting: Acting, seq: int, traded: bool) -> list[Happening]:
    return list(protocol.acted(acting, play_pb2.ActResponse(seq=seq, traded=traded)))


def outcomes(happenings: Sequence[Happening]) -> list[tuple[int, object]]:
    return [(one.command.number, one.outcome) for one in happenings if isinstance(one, Settled)]


def test_a_stream_is_asked_for_where_the_client_stands() -> None:
    protocol = playing()
    take(protocol, event(opened(seat=1, size=2), seq=11))
    wanted = protocol.wanted()
    assert (wanted.table, wanted.seat_token) == (TABLE, "token")
    assert (wanted.resume.epoch, wanted.resume.seq, wanted.resume.generation) == (b"e1", 11, 3)


def test_one_call_is_on_its_way_at_a_time() -> None:
    protocol = playing(commands=2)
    first = due(protocol)
    assert first.request.attachment == b"first"
    assert (first.request.generation, first.request.command.number) == (3, 1)
    assert protocol.next_act() is None
    effective(protocol, first, 11, traded=False)
    assert due(protocol).request.command.number == 2


def test_an_outcome_waits_for_the_event_that_the_view_must_have() -> None:
    protocol = playing(commands=1)
    assert effective(protocol, due(protocol), 11, traded=True) == []
    told = take(protocol, event(traded(seat=0, partner=1, size=2), seq=11, number=1))
    assert outcomes(told) == [(1, Effective(11, True))]


def test_an_event_that_comes_first_settles_once() -> None:
    protocol = playing(commands=1)
    acting = due(protocol)
    told = take(protocol, event(opened(seat=0, size=2), seq=11, number=1))
    assert outcomes(told) == [(1, Effective(11, False))]
    assert effective(protocol, acting, 11, traded=False) == []
    assert protocol.next_act() is None


def test_an_old_answer_is_an_outcome_at_once() -> None:
    protocol = playing(commands=1)
    assert outcomes(effective(protocol, due(protocol), 9, traded=True)) == [(1, Effective(9, True))]


def test_a_call_that_failed_is_made_again_under_the_same_number() -> None:
    protocol = playing(commands=2)
    first = due(protocol)
    told = failed(
        protocol, first, "TABLE_UNAVAILABLE", code=code_pb2.UNAVAILABLE, retry_after_ms=500
    )
    assert [type(one) for one in told] == [RetryAfter]
    assert protocol.next_act() is None
    protocol.retry()
    assert due(protocol).request.command == first.request.command
    assert protocol.retries == 1


def test_a_number_that_is_not_used_up_goes_to_the_next_command() -> None:
    protocol = playing(commands=2)
    told = failed(protocol, due(protocol), "INVALID_FIELD", code=code_pb2.INVALID_ARGUMENT)
    assert [(number, type(outcome)) for number, outcome in outcomes(told)] == [(1, Rejected)]
    assert due(protocol).request.command.number == 1


def test_a_number_that_is_used_up_is_not_used_again() -> None:
    protocol = playing(commands=2)
    code = code_pb2.FAILED_PRECONDITION
    told = failed(protocol, due(protocol), "NO_CORNER", code=code, consumed=True)
    assert [(number, type(outcome)) for number, outcome in outcomes(told)] == [(1, Rejected)]
    assert due(protocol).request.command.number == 2


def test_the_streams_word_on_what_is_not_settled_is_left_to_the_call() -> None:
    protocol = playing(commands=1)
    acting = due(protocol)
    unused = play_pb2.Rejected(number=1, reason="INVALID_FIELD", code=code_pb2.INVALID_ARGUMENT)
    again = play_pb2.Effective(number=1, seq=9)
    assert take(protocol, play_pb2.Item(rejected=unused), play_pb2.Item(effective=again)) == []
    assert outcomes(effective(protocol, acting, 9, traded=True)) == [(1, Effective(9, True))]


def test_a_refusal_told_by_the_stream_is_an_outcome() -> None:
    protocol = playing(commands=1)
    acting = due(protocol)
    refused = play_pb2.Rejected(number=1, reason="NO_CORNER", consumed=True)
    told = take(protocol, play_pb2.Item(rejected=refused))
    assert [number for number, _ in outcomes(told)] == [1]
    assert failed(protocol, acting, "NO_CORNER", consumed=True) == []


@pytest.mark.parametrize("reason", ["SUPERSEDED", "GENERATION_ENDED", "INVALID_ATTACHMENT"])
def test_an_attachment_that_is_too_old_waits_for_the_streams_word(reason: str) -> None:
    protocol = playing(commands=1)
    told = failed(protocol, due(protocol), reason, code=code_pb2.ABORTED)
    assert [type(one) for one in told] == [RetryAfter]
    assert protocol.next_act() is None
    take(protocol, holding(b"second", shown=None))
    acting = due(protocol)
    assert (acting.request.attachment, acting.request.command.number) == (b"second", 1)


def test_what_was_on_its_way_over_a_reset_means_another_command_now() -> None:
    protocol = playing(commands=1)
    lost = due(protocol)
    reset = play_pb2.Reset(
        reason=play_pb2.RESET_REASON_HISTORY, snapshot=snapshot(seq=8), generation=4
    )
    assert outcomes(take(protocol, play_pb2.Item(reset=reset))) == [(1, Unknown("HISTORY"))]
    protocol.submit(offer(size=1), now=2.0)
    following = due(protocol)
    assert effective(protocol, lost, 9, traded=True) == []
    assert (following.request.generation, following.request.command.number) == (4, 1)
    take(protocol, event(opened(seat=0, size=1), seq=9, number=1))
    assert protocol.in_flight == 0


def test_nothing_is_called_while_there_is_no_stream() -> None:
    protocol = playing(commands=1)
    protocol.wanted()
    assert protocol.next_act() is None
    take(protocol, holding(b"second", shown=None))
    assert due(protocol).request.attachment == b"second"


def test_a_table_that_ends_alone_says_so() -> None:
    ended = play_pb2.Ended(code=code_pb2.FAILED_PRECONDITION, reason="TABLE_CLOSED")
    over = Over(code_pb2.FAILED_PRECONDITION, "TABLE_CLOSED")
    assert take(playing(), play_pb2.Item(ended=ended)) == [over]


def test_a_call_that_failed_and_was_in_the_log_all_the_same() -> None:
    protocol = playing(commands=2)
    code = code_pb2.UNAVAILABLE
    told = failed(protocol, due(protocol), "TABLE_UNAVAILABLE", code=code)
    assert [type(one) for one in told] == [RetryAfter]
    told = take(protocol, event(opened(seat=0, size=2), seq=11, number=1))
    assert outcomes(told) == [(1, Effective(11, False))]
    protocol.retry()
    assert due(protocol).request.command.number == 2
