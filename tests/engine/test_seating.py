"""Opening, joining, starting; requests asked twice (rules.md "Table life", matrix B25-B32)."""

from typing import Any

import pytest

from engine import commands as c
from engine import events as e
from engine.commands import NOBODY, Purpose, Visibility
from engine.decide import decide
from engine.rejections import Rejection
from engine.shown import Phase
from engine.table import Table
from support.playing import Playing, kinds


def opened(**opening: object) -> Playing:
    playing = Playing("classic", 4)
    playing.open_table(**opening)
    return playing


def no_chance(count: int) -> bytes:
    return bytes(count)


# ------------------------------------------------------------------ a table that does not exist


@pytest.mark.parametrize(
    "command",
    [
        c.Withdraw(0, 1, 1, 1, 1, 0, 0),
        c.Join(b"r" * 16, 0, "p0", 0, b""),
        c.Leave(b"r" * 16, 0, "p0"),
        c.Start(b"r" * 16, 0, "p0"),
        c.Attach(0, "p0", "g1", b"s" * 16, False, 0),
    ],
)
def test_a_table_that_does_not_exist_says_so_and_stays_empty(command: c.Command) -> None:
    """Matrix B29."""
    table = Table("00aaaaaaaaaaaaaaaaaaaa")
    events, answer = decide(table, command, 1, no_chance)
    assert events == ()
    assert answer.rejection == Rejection.TABLE_NOT_FOUND  # type: ignore[union-attr]
    assert not getattr(answer, "kept", False)


@pytest.mark.parametrize("command", [c.Tick(), c.Detach(0, 1), c.GatewayLost("g1")])
def test_and_nothing_happens_there(command: c.Command) -> None:
    assert decide(Table("00aaaaaaaaaaaaaaaaaaaa"), command, 1, no_chance) == ((), None)


# ------------------------------------------------------------------ opening


def test_opening_does_not_seat_who_opens() -> None:
    playing = opened()
    assert [seat.person for seat in playing.table.seats] == [""] * 4
    assert playing.table.owner == "p0"


def test_the_same_request_finds_the_same_table() -> None:
    playing = opened()
    first = playing.answer
    playing.requests = 0
    assert playing.open_table() == []
    assert playing.answer.seq == first.seq == 1
    assert not playing.answer.kept
    assert kinds(playing.items) == [
        "RequestAnswered",
        "TableOpened",
        "Committed",
        "RequestAnswered",
    ]


def test_even_after_a_hundred_others() -> None:
    playing = opened()
    for number in range(100):
        playing.join(f"p{number}", 0)
    playing.requests = 0
    assert playing.open_table() == []


def test_another_request_for_the_same_id_is_refused() -> None:
    assert opened().open_table() == Rejection.TABLE_EXISTS


@pytest.mark.parametrize(
    "opening",
    [
        {"visibility": 0},
        {"visibility": 4},
        {"absent_policy": 9},
        {"visibility": Visibility.PRIVATE, "invite_hash": b""},
        {"visibility": Visibility.PUBLIC, "invite_hash": b"i" * 32},
    ],
)
def test_a_table_that_may_not_be_opened_so(opening: dict[str, object]) -> None:
    playing = Playing("classic", 4)
    assert playing.open_table(**opening) == Rejection.SETTINGS_INVALID
    assert not playing.answer.kept
    assert playing.table.phase == Phase.NEW


# ------------------------------------------------------------------ joining


def test_the_first_free_seat_or_the_one_wished_for() -> None:
    playing = opened()
    assert playing.join("a", 2)[0].seat == 2
    assert playing.join("b")[0].seat == 0
    assert playing.answer.seat == 0
    assert playing.join("c")[0].seat == 1


def test_a_seat_that_is_taken_or_is_not_there() -> None:
    """Matrix B32."""
    playing = opened()
    playing.join("a", 2)
    assert playing.join("b", 2) == Rejection.SEAT_TAKEN
    assert playing.join("b", 4) == Rejection.SEAT_RANGE
    assert playing.join("b", -2) == Rejection.SEAT_RANGE


def test_a_full_table() -> None:
    """Matrix B30."""
    playing = Playing("classic", 4).seated()
    assert playing.join("late") == Rejection.TABLE_FULL


def test_who_sits_already_is_given_the_same_seat() -> None:
    """Matrix B31: idempotent."""
    playing = opened()
    playing.join("a", 2)
    assert playing.join("a", 0) == []
    assert playing.answer.seat == 2


def test_a_private_table_is_not_found_without_its_code() -> None:
    """Matrix B29: the two must look the same."""
    playing = opened(visibility=Visibility.PRIVATE, invite_hash=b"i" * 32)
    assert playing.join("a") == Rejection.TABLE_NOT_FOUND
    assert playing.join("a", invite_hash=b"x" * 32) == Rejection.TABLE_NOT_FOUND
    assert kinds(playing.join("a", invite_hash=b"i" * 32)) == ["SeatTaken"]
    assert playing.join("a") == [], "who sits there knows it"


STRANGERS: list[tuple[type[c.RequestCommand], dict[str, Any]]] = [
    (c.Leave, {}),
    (c.Start, {}),
    (c.RotateInvite, {"invite_hash": b"j" * 32}),
    (c.RemoveSeat, {"seat": 0, "reason": "", "operator": ""}),
    (c.VoteRematch, {"yes": True, "next_table": "00" + "b" * 20}),
]


@pytest.mark.parametrize(("kind", "fields"), STRANGERS)
def test_a_private_table_is_not_found_whatever_a_stranger_asks_of_it(
    kind: type[c.RequestCommand], fields: dict[str, Any]
) -> None:
    """Threat 3: what is refused otherwise says that there is such a table."""
    playing = opened(visibility=Visibility.PRIVATE, invite_hash=b"i" * 32)
    playing.join("a", invite_hash=b"i" * 32)
    assert playing.request(kind, "stranger", **fields) == Rejection.TABLE_NOT_FOUND
    assert playing.request(kind, "a", **fields) != Rejection.TABLE_NOT_FOUND


def test_who_has_left_a_private_table_is_answered_again() -> None:
    """The repeat of a Leave whose answer was lost comes when nobody sits there any more."""
    playing = opened(visibility=Visibility.PRIVATE, invite_hash=b"i" * 32)
    playing.join("a", invite_hash=b"i" * 32)
    command = c.Leave(b"l" * 16, 7, "a")
    playing.give(command)
    assert playing.give(command)[1].rejection == 0  # type: ignore[union-attr]
    assert playing.request(c.Leave, "a") == Rejection.TABLE_NOT_FOUND


def test_a_finished_table_takes_nobody() -> None:
    playing = Playing("blitz", 4).trading()
    playing.corner(0)
    playing.next_round()
    playing.corner(0)
    assert playing.table.phase == Phase.ENDED
    assert playing.join("a") == playing.start() == Rejection.TABLE_CLOSED


# ------------------------------------------------------------------ starting


def test_only_the_owner_starts_and_only_once() -> None:
    playing = Playing("blitz", 4).seated()
    assert playing.start("p1") == Rejection.NOT_OWNER
    assert kinds(playing.start("p0")) == ["Dealt"]
    assert playing.start("p0") == Rejection.ALREADY_STARTED


def test_one_person_may_start_with_bots_in_the_other_seats() -> None:
    """Empty seats get bots, which count towards the fewest players; nobody alone is no start."""
    playing = Playing("blitz", 5)
    playing.open_table()
    assert playing.start() == Rejection.TOO_FEW_PLAYERS
    assert playing.answer.parameters == (1,)
    playing.join("p4", 4)
    assert kinds(playing.start()) == ["BotWanted"] * 4 + ["Dealt", "SeatAway"]
    assert len(playing.table.suits) == 5


def test_without_bots_it_takes_the_fewest_players_of_the_rules() -> None:
    playing = Playing("tournament", 5)
    playing.open_table(bots=False)
    for seat in range(3):
        playing.join(f"p{seat}", seat)
    assert playing.start() == Rejection.TOO_FEW_PLAYERS
    assert playing.answer.parameters == (4,)
    playing.join("p3", 3)
    assert kinds(playing.start())[:2] == ["SeatsDropped", "Dealt"]


def test_or_fall_away_where_bots_are_off() -> None:
    playing = Playing("blitz", 5)
    playing.open_table(bots=False)
    for seat in (0, 2, 4):
        playing.join(f"p{seat}", seat)
        playing.attach(seat)
    dropped, dealt = playing.start()
    assert dropped == e.SeatsDropped((1, 3))
    assert [hand == 0 for hand in dealt.hands] == [False, True, False, True, False]
    assert len(dealt.suits) == 3
    assert playing.join("late", 1) == Rejection.SEAT_RANGE
    assert playing.attach(1, person="late")[1].rejection == Rejection.NO_SUCH_SEAT


def test_a_bot_may_only_take_a_seat_that_wants_one() -> None:
    playing = Playing("blitz", 4).seated()
    assert playing.attach(0, bot=True)[1].rejection == Rejection.BOT_NOT_WANTED
    playing.leave("p3")
    playing.start()
    assert kinds(playing.attach(3, bot=True)[0]) == ["BotSeated"]
    assert playing.attach(3, bot=True)[1].rejection == Rejection.BOT_NOT_WANTED


def test_a_bot_that_lost_its_stream_is_replaced_at_once() -> None:
    playing = Playing("blitz", 4)
    playing.open_table(for_bots=True)
    playing.start()
    for seat in range(4):
        playing.attach(seat, bot=True)
    assert kinds(playing.detach(2)) == ["BotWanted"]
    assert kinds(playing.attach(2, bot=True)[0]) == ["BotSeated"]


# ------------------------------------------------------------------ requests asked twice


def test_a_repeat_is_answered_again_and_does_nothing() -> None:
    playing = opened()
    playing.join("a", 2)
    first, seq = playing.answer, playing.table.seq
    playing.requests -= 1
    assert playing.join("a", 2) == []
    assert playing.answer.seat == first.seat == 2
    assert playing.answer.seq == first.seq
    assert playing.table.seq == seq


def test_a_refusal_is_remembered_too() -> None:
    playing = opened()
    playing.join("a", 2)
    assert playing.join("b", 2) == Rejection.SEAT_TAKEN
    playing.leave("a")
    playing.requests -= 2
    assert playing.join("b", 2) == Rejection.SEAT_TAKEN


def test_an_id_used_for_something_else_is_refused() -> None:
    playing = opened()
    playing.join("a", 2)
    playing.requests -= 1
    assert playing.join("a", 3, content=99) == Rejection.REQUEST_REUSED
    assert not playing.answer.kept


def test_64_are_remembered() -> None:
    playing = opened()
    for number in range(70):
        playing.join(f"p{number}", 0)
    assert len(playing.table.requests) == 64


# ------------------------------------------------------------------ the end


def test_nothing_is_done_at_a_closed_table() -> None:
    playing = Playing("blitz", 3).seated()
    playing.wait(900_000)
    assert playing.table.phase == Phase.CLOSED
    assert playing.ready(0, Purpose.START) == Rejection.TABLE_CLOSED
    assert playing.offer(0, 1) == playing.call(0, 1) == Rejection.TABLE_CLOSED
    assert playing.leave("p0") == Rejection.TABLE_CLOSED
    assert playing.attach(0)[1].rejection == Rejection.TABLE_CLOSED
    assert playing.join("x", NOBODY) == Rejection.TABLE_CLOSED
