"""Streams, generations, numbers and remembered answers (design.md "Answers", "Attachments")."""

from dataclasses import replace
from typing import Any

import pytest

from engine import commands as c
from engine.cards import ONE
from engine.decide import refuse
from engine.evolve import evolve
from engine.rejections import CONSUMES_FROM, PARAMETERS, Rejection
from engine.table import Table
from support.playing import Playing, kinds


def pit() -> Playing:
    return Playing("classic", 4).trading({0: "4 wheat", 1: "4 barley"})


def offering(playing: Playing, seat: int = 0, **fields: Any) -> Any:
    plain = {"lot": ONE[seat], "directed_at": -1, "immediate": False, "limit_ms": 0}
    return playing.command(c.Offer, seat, **{**plain, **fields})


# ------------------------------------------------------------------ numbers


@pytest.mark.parametrize("step", [0, 2, 3, 1_000_000])
def test_numbers_are_strictly_the_last_plus_one(step: int) -> None:
    """Matrix B33: a gap is refused with the number expected, and consumes nothing."""
    playing = pit()
    last = playing.table.seats[0].current.last
    number = 0 if step == 0 else last + step
    assert playing.offer(0, ONE[0], number=number) == Rejection.NUMBER_OUT_OF_RANGE
    assert playing.answer.parameters == (last + 1,)
    assert not playing.answer.kept
    assert kinds(playing.offer(0, ONE[0])) == ["OfferOpened"]


def test_the_same_number_with_the_same_content_gets_the_same_answer() -> None:
    """Matrix B34, B50: and no new event."""
    playing = pit()
    command = offering(playing)
    _, first = playing.give(command)
    events, again = playing.give(command)
    assert events == ()
    assert (again.number, again.seq, again.rejection) == (first.number, first.seq, 0)
    assert not again.kept


def test_a_refusal_is_an_answer_too() -> None:
    """It consumes its number and is given again, though it would be accepted now."""
    playing = pit()
    command = offering(playing, immediate=True)
    assert playing.give(command)[1].rejection == Rejection.NO_PARTNER
    playing.offer(1, ONE[1])
    assert playing.give(command)[1].rejection == Rejection.NO_PARTNER
    assert playing.table.seats[0].current.last == command.number


def test_parameters_are_remembered_with_it() -> None:
    playing = pit()
    command = offering(playing, lot=0)
    playing.give(command)
    assert playing.give(command)[1].parameters == (1, 4)


def test_the_same_number_with_other_content_is_refused() -> None:
    """Matrix B35."""
    playing = pit()
    command = offering(playing)
    playing.give(command)
    other = offering(playing, number=command.number, content=command.content ^ 1)
    assert playing.give(other)[1].rejection == Rejection.NUMBER_REUSED


def test_16_answers_are_remembered_an_older_one_is_out_of_range() -> None:
    playing = pit()
    commands = [offering(playing)]
    playing.give(commands[0])
    for _ in range(16):
        commands.append(offering(playing))
        playing.give(commands[-1])
    assert playing.give(commands[0])[1].rejection == Rejection.NUMBER_OUT_OF_RANGE
    assert playing.give(commands[1])[1].rejection == 0


# ------------------------------------------------------------------ attach numbers


def test_the_newest_stream_holds_the_seat_an_older_is_superseded() -> None:
    """F46: and consumes no number."""
    playing = pit()
    old = offering(playing)
    playing.attach(0)
    assert playing.give(old)[1].rejection == Rejection.SUPERSEDED
    assert playing.table.seats[0].current.last == 0


def test_an_older_detach_is_ignored() -> None:
    playing = pit()
    old = playing.table.seats[0].attach
    playing.attach(0)
    assert playing.detach(0, old) == ()
    assert playing.table.seats[0].connected


def test_a_fresh_attach_begins_a_generation_at_one() -> None:
    playing = pit()
    playing.offer(0, ONE[0])
    _, attached = playing.attach(0)
    assert (attached.resumed, attached.last_number, attached.answers) == (False, 0, ())
    command = offering(playing, generation=attached.generation - 1)
    assert playing.give(command)[1].rejection == Rejection.GENERATION_ENDED
    assert kinds(playing.offer(0, ONE[0], number=1)) == ["OfferOpened"]


def test_a_resume_keeps_its_generation_and_is_told_its_answers() -> None:
    playing = pit()
    playing.offer(0, ONE[0])
    playing.offer(0, 0)
    before = playing.table.seats[0].current
    _, attached = playing.attach(0, resume=before.generation)
    assert attached.resumed
    assert attached.last_number == before.last
    assert [answer.number for answer in attached.answers] == list(range(1, before.last + 1))
    assert attached.answers[-1].rejection == Rejection.LOT_SIZE
    assert attached.answers[-1].parameters == (1, 4)


@pytest.mark.parametrize("claimed", [0, 7, -1])
def test_resuming_what_is_not_the_current_one_begins_anew(claimed: int) -> None:
    _, attached = pit().attach(0, resume=claimed)
    assert not attached.resumed
    assert attached.generation == 2


def test_a_stand_ins_generation_lies_beside_the_persons() -> None:
    playing = pit()
    playing.offer(0, ONE[0])
    person = playing.table.seats[0].current
    playing.detach(0)
    playing.wait(30_000)
    _, bot = playing.attach(0, bot=True)
    playing.offer(0, ONE[0])
    assert playing.answer.bot
    _, attached = playing.attach(0, resume=person.generation)
    assert attached.resumed
    assert attached.last_number == person.last
    assert bot.generation == 1


def test_what_is_attached_is_shown_the_table_just_before() -> None:
    playing = pit()
    playing.detach(0)
    seq = playing.table.seq
    events, attached = playing.attach(0)
    assert attached.shown.seq == seq
    assert attached.shown.hand == playing.hand(0)
    assert kinds(events) == ["SeatBack"]


def test_only_the_person_whose_seat_it_is() -> None:
    playing = pit()
    assert playing.attach(0, person="p1")[1].rejection == Rejection.NOT_SEATED
    assert playing.attach(4, person="p0")[1].rejection == Rejection.NO_SUCH_SEAT


@pytest.mark.parametrize("seat", [-1, 4, 99])
def test_a_seat_there_is_not(seat: int) -> None:
    playing = pit()
    command = c.Withdraw(seat, 1, 1, 1, 1, 0, 0)
    assert playing.give(command)[1].rejection == Rejection.NO_SUCH_SEAT


def test_nobody_acts_with_attach_number_zero() -> None:
    """Though a seat without a stream is held by nobody."""
    playing = pit()
    playing.detach(0)
    assert playing.offer(0, ONE[0], attach=0) == Rejection.SUPERSEDED


# ------------------------------------------------------------------ refused without being decided


def test_a_poisoned_command_is_answered_for_good() -> None:
    """`refuse`: the number is consumed, so that the seat can go on."""
    playing = pit()
    command = offering(playing)
    answer = refuse(playing.table, command, Rejection.UNDECIDED)
    assert answer is not None
    evolve(playing.table, answer)
    assert playing.give(command)[1].rejection == Rejection.UNDECIDED
    assert kinds(playing.offer(0, ONE[0])) == ["OfferOpened"]


def test_or_for_now_where_the_refusal_consumes_nothing() -> None:
    playing = pit()
    command = offering(playing)
    answer = refuse(playing.table, command, Rejection.TABLE_STOPPED)
    assert answer is not None
    evolve(playing.table, answer)
    assert playing.give(command)[1].rejection == 0


@pytest.mark.parametrize(
    ("command", "note"),
    [
        (c.Withdraw(0, 1, 1, 1, 1, 0, 0), "Answered"),
        (c.Leave(b"r" * 16, 0, "p0"), "RequestAnswered"),
        (c.Attach(0, "p0", "g1", b"s" * 16, False, 0), "AttachRefused"),
        (c.Detach(0, 1), "NoneType"),
        (c.Tick(), "NoneType"),
    ],
)
def test_refusing_works_on_a_table_that_does_not_exist(command: c.Command, note: str) -> None:
    table = Table("00aaaaaaaaaaaaaaaaaaaa")
    answer = refuse(table, command, Rejection.UNDECIDED)
    assert type(answer).__name__ == note
    assert not getattr(answer, "kept", False)


# ------------------------------------------------------------------ precedence


LADDER: list[tuple[dict[str, Any], Rejection]] = [
    ({"seat": 9}, Rejection.NO_SUCH_SEAT),
    ({"attach": 99}, Rejection.SUPERSEDED),
    ({"generation": 99}, Rejection.GENERATION_ENDED),
    ({"number": 99}, Rejection.NUMBER_OUT_OF_RANGE),
    ({"lot": 0}, Rejection.LOT_SIZE),
    ({"lot": 3 * ONE[8]}, Rejection.LOT_BULL_BEAR),
    ({"lot": ONE[7]}, Rejection.NO_SUCH_COMMODITY),
    ({"lot": ONE[0] + ONE[1]}, Rejection.ONE_COMMODITY),
    ({"directed_at": 0}, Rejection.DIRECTED_AT_SELF),
    ({"directed_at": 9}, Rejection.DIRECTED_AT_NO_SEAT),
    ({"limit_ms": 1}, Rejection.LIMIT_RANGE),
    ({"round": 9}, Rejection.STALE_ROUND),
    ({"lot": 4 * ONE[6]}, Rejection.CARDS_NOT_IN_HAND),
    ({"immediate": True}, Rejection.NO_PARTNER),
]
"""What is wrong with an offer, in the order of the enum."""


@pytest.mark.parametrize("place", range(len(LADDER)))
def test_the_order_of_the_enum_is_the_order_of_the_guards(place: int) -> None:
    """An offer wrong in one way and in all later ones is refused for the first."""
    assert [why for _, why in LADDER] == sorted(why for _, why in LADDER)
    fields: dict[str, Any] = {}
    for wrong, _ in reversed(LADDER[place:]):
        fields.update(wrong)
    playing = pit()
    command = replace(offering(playing), **fields)
    assert playing.give(command)[1].rejection == LADDER[place][1]


def test_every_refusal_with_parameters_names_them() -> None:
    assert all(why in Rejection for why in PARAMETERS)
    assert CONSUMES_FROM == Rejection.WRONG_PURPOSE
    assert list(Rejection) == sorted(Rejection)
