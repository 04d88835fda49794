"""Playing again: RULES.md, "Rematches"."""

from typing import Any

import pytest

from engine import commands as c
from engine import events as e
from engine.commands import Visibility
from engine.limits import FINISHED_MS, REMATCH_MS
from engine.rejections import Rejection
from engine.shown import Phase
from engine.state import digest, dump, load
from engine.table import Table
from support.playing import Playing, kinds

NEXT = "01bbbbbbbbbbbbbbbbbbbb"


@pytest.fixture
def over() -> Playing:
    """A game of four people that has just been won."""
    playing = Playing("blitz").trading()
    while playing.table.phase != Phase.ENDED:
        playing.corner(0)
        if playing.table.phase == Phase.BETWEEN:
            playing.next_round()
    return playing


def vote(playing: Playing, seat: int | str, yes: bool = True) -> Any:
    person = seat if isinstance(seat, str) else playing.table.seats[seat].person
    return playing.request(c.VoteRematch, person, yes=yes, next_table=NEXT)


def votes(playing: Playing) -> list[int]:
    return [index for index, seat in enumerate(playing.table.seats) if seat.plays_again]


def test_the_last_yes_agrees_it(over: Playing) -> None:
    first = vote(over, 2)
    until_ms = over.now_ms + REMATCH_MS
    assert first == [e.RematchVoted(2, True, until_ms, over.now_ms)]
    assert over.answer.seat == 2
    over.wait(5_000)
    for seat in (0, 1):
        assert vote(over, seat) == [e.RematchVoted(seat, True, until_ms, over.now_ms)]
    last = vote(over, 3)
    assert kinds(last) == ["RematchVoted", "RematchAgreed"]
    assert last[-1] == e.RematchAgreed(NEXT, over.now_ms)
    assert (over.table.rematch_table, over.table.rematch_until_ms) == (NEXT, 0)
    assert votes(over) == [0, 1, 2, 3]
    assert over.wait(FINISHED_MS)[-1] == e.TableClosed(over.now_ms - 5_000)


def test_who_has_said_so_already_says_nothing_new(over: Playing) -> None:
    vote(over, 0)
    assert vote(over, 0) == []
    for seat in (1, 2, 3):
        vote(over, seat)
    assert vote(over, 0) == []
    assert over.answer.seat == 0
    assert vote(over, 0, yes=False) == Rejection.NOT_NOW


def test_a_no_ends_the_vote_and_another_may_begin(over: Playing) -> None:
    for seat in (0, 1, 2):
        vote(over, seat)
    assert kinds(vote(over, 3, yes=False)) == ["RematchVoted", "RematchFailed"]
    assert (votes(over), over.table.rematch_until_ms) == ([], 0)
    vote(over, 3)
    assert kinds(vote(over, 0, yes=False)) == ["RematchVoted", "RematchFailed"]
    for seat in range(4):
        last = vote(over, seat)
    assert kinds(last)[-1] == "RematchAgreed"


def test_who_said_yes_may_still_say_no(over: Playing) -> None:
    vote(over, 0)
    vote(over, 1)
    assert kinds(vote(over, 0, yes=False)) == ["RematchVoted", "RematchFailed"]


def test_the_vote_lasts_sixty_seconds(over: Playing) -> None:
    vote(over, 0)
    assert over.wait(59_999) == []
    assert over.wait(1) == [e.RematchFailed(over.now_ms)]
    assert votes(over) == []


def test_a_table_does_not_close_in_the_middle_of_a_vote(over: Playing) -> None:
    over.wait(FINISHED_MS - 1)
    vote(over, 0)
    assert over.wait(REMATCH_MS - 1) == []
    assert kinds(over.wait(1)) == ["RematchFailed", "TableClosed"]


def test_leaving_is_a_no(over: Playing) -> None:
    vote(over, 0)
    assert kinds(over.leave("p1")) == ["SeatLeft", "RematchFailed"]
    vote(over, 0)
    operator = over.operate(c.RemoveSeat, seat=2)
    assert kinds(operator) == ["SeatLeft", "RematchFailed"]
    vote(over, 0)
    assert kinds(vote(over, 3)) == ["RematchVoted", "RematchAgreed"]
    assert votes(over) == [0, 3]
    over.leave("p3")
    assert (votes(over), over.table.rematch_table) == ([0], NEXT)


def test_who_is_not_there_is_not_asked(over: Playing) -> None:
    over.detach(1)
    for seat in (0, 2):
        vote(over, seat)
    over.detach(3)
    assert kinds(vote(over, 1)) == ["RematchVoted", "RematchAgreed"]
    assert votes(over) == [0, 1, 2]


def test_bots_agree() -> None:
    playing = Playing("blitz", seats=3)
    playing.open_table()
    playing.join("p0")
    playing.attach(0)
    playing.start()
    for seat in (1, 2):
        playing.attach(seat, bot=True)
    playing.opened()
    while playing.table.phase != Phase.ENDED:
        playing.corner(0)
        if playing.table.phase == Phase.BETWEEN:
            playing.next_round()
    assert kinds(vote(playing, 0)) == ["RematchVoted", "RematchAgreed"]


def test_who_comes_late_is_told_that_it_was_agreed(over: Playing) -> None:
    over.detach(3)
    for seat in (0, 1, 2):
        vote(over, seat)
    over.attach(3)
    assert vote(over, 3) == []
    assert over.answer.seat == 3
    assert votes(over) == [0, 1, 2]


def test_refusals_in_order_of_precedence(over: Playing) -> None:
    assert vote(Playing(), "p0") == Rejection.TABLE_NOT_FOUND
    assert vote(over, "stranger") == Rejection.NOT_SEATED
    over.table.seats[1].forfeited = True
    assert vote(over, 1) == Rejection.SEAT_FORFEITED
    assert vote(over, 0, yes=False) == Rejection.NOT_NOW
    over.freeze()
    assert vote(over, 0) == Rejection.TABLE_FROZEN
    over.unfreeze()
    over.operate(c.CloseTable)
    assert vote(over, 0) == Rejection.TABLE_CLOSED
    seating = Playing("blitz").seated()
    assert vote(seating, 0) == Rejection.NOT_STARTED
    assert vote(Playing("blitz").trading(), 0) == Rejection.NOT_NOW


def test_a_repeat_is_answered_as_before(over: Playing) -> None:
    command = c.VoteRematch(b"r" * 16, 7, "p0", True, NEXT)
    first = over.give(command)[1]
    assert over.give(command) == ((), type(first)(b"r" * 16, 7, 0, (), first.seq, 0, False))


def test_a_frozen_vote_keeps_what_remains_of_it(over: Playing) -> None:
    vote(over, 0)
    over.wait(50_000)
    over.freeze()
    over.wait(100_000)
    over.unfreeze()
    assert over.wait(9_999) == []
    assert kinds(over.wait(1)) == ["RematchFailed"]


def test_closing_ends_the_vote(over: Playing) -> None:
    vote(over, 0)
    assert kinds(over.operate(c.CloseTable)) == ["TableClosed"]
    assert over.table.wake_at_ms == 0


def test_the_vote_is_kept_with_the_table(over: Playing) -> None:
    for seat in (0, 1):
        vote(over, seat)
        again = load(dump(over.table))
        assert digest(again) == digest(over.table)
        assert again.wake_at_ms == over.table.wake_at_ms


# ------------------------------------------------------------------ the new table


def seated(persons: tuple[str, ...], **fields: Any) -> tuple[Playing, Any]:
    playing = Playing("blitz")
    opening = c.OpenSeated(
        b"r" * 16, 7, "p1", playing.rules, 4, "again", fields.pop("visibility", 1), 1, True, False,
        fields.pop("invite_hash", b""), 0, persons,
    )  # fmt: skip
    return playing, playing.give(opening)


def test_nobody_comes_before_those_who_play_again() -> None:
    playing, (events, answer) = seated(("p0", "p1", "", "p3"))
    assert kinds(events) == ["TableOpened", "SeatTaken", "SeatTaken", "SeatTaken", "Committed"]
    assert (answer.rejection, answer.seat) == (0, c.NOBODY)
    assert [seat.person for seat in playing.table.seats] == ["p0", "p1", "", "p3"]
    assert playing.table.owner == "p1"
    assert playing.join("p0") == []
    assert playing.answer.seat == 0
    assert playing.join("new") == [e.SeatTaken(2, "new", playing.now_ms)]


def test_a_private_table_is_joined_by_its_code_all_the_same() -> None:
    playing, (events, _) = seated(
        ("p0", "p1", "", ""), visibility=int(Visibility.PRIVATE), invite_hash=b"i" * 32
    )
    assert kinds(events)[:2] == ["TableOpened", "SeatTaken"]
    assert playing.join("new") == Rejection.TABLE_NOT_FOUND


@pytest.mark.parametrize("persons", [("p0",), ("p0",) * 4, ("p0", "p1", "", "", "")])
def test_an_impossible_company(persons: tuple[str, ...]) -> None:
    playing, (events, answer) = seated(persons)
    assert (events, answer.rejection) == ((), Rejection.SETTINGS_INVALID)
    assert digest(playing.table) == digest(Table(playing.table.table))


def test_the_same_opening_finds_the_same_table() -> None:
    playing, (_, first) = seated(("p0", "p1", "", ""))
    opening = c.OpenSeated(
        b"r" * 16, 7, "p0", playing.rules, 4, "again", 1, 1, True, False, b"", 0, ("p0",) * 4
    )
    events, answer = playing.give(opening)
    assert (events, answer.rejection, answer.seq) == ((), 0, first.seq)
