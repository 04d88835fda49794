"""What is shown for a given view: whole screens, and the line that says what one can do."""

import pytest
from pit.v1 import play_pb2, table_pb2

from engine.cards import BEAR, BULL, ONE, pack
from services.client.happenings import Effective, Rejected, Started, Undone, Unknown, WasReset
from services.client.view import TableView
from services.play.guidance import Now, what_now
from services.play.hand import Choice, lot_of, moved
from services.play.model import Model
from services.play.screen import draw
from support.own_table import SECOND_US, happen, view_of
from support.play_screens import DIRECTORY, NOW, SCREENS, opened, text_of, trading


@pytest.mark.parametrize("name", SCREENS)
def test_the_whole_screen(name: str) -> None:
    model, view, now = SCREENS[name]()
    lines = draw(model, view, now).plain.split("\n")
    assert [len(line) for line in lines] == [80] * 24
    assert text_of(model, view, now) == (DIRECTORY / f"{name}.txt").read_text()


def test_every_kept_screen_is_compared() -> None:
    assert {path.stem for path in DIRECTORY.iterdir()} == set(SCREENS)


def test_eight_seats_and_a_terminal_that_is_too_small_still_make_24_lines() -> None:
    view = view_of(preset="deluxe-house")
    view.suits = tuple(range(8))
    view.seats = view.seats * 2
    assert text_of(Model(view), view).count("\n") == 24
    assert len(draw(Model(view), view, NOW, 20, 5).plain.split("\n")) == 24


# ---------------------------------------------------------------------- what one can do


def doing(model: Model, view: TableView, now: Now = NOW) -> str:
    return what_now(model, view, now)


def test_the_bell_comes_first() -> None:
    model, view = trading()
    view.hand = pack({2: 8, BULL: 1})
    assert (
        doing(model, view) == "SPACE RINGS THE BELL: corner on corn: eight and the Bull, 75 points!"
    )


def test_the_offer_that_enter_answers_is_named_with_what_is_given() -> None:
    model, view = trading()
    model.choice = Choice(2)
    assert doing(model, view) == "Cy holds up 1. ENTER gives 1 corn for them, unseen."
    model.choice = Choice(2, ONE[BEAR])
    assert "ENTER gives the Bear for them" in doing(model, view)


def test_an_offer_for_somebody_else_is_not_mine_to_answer() -> None:
    model, view = trading()
    assert model.aimed(view) == 3
    happen(model, view, offer_ended=table_pb2.OfferEnded(seat=3, end=table_pb2.OFFER_END_WITHDRAWN))
    assert model.aimed(view) == -1


def test_who_does_not_move_is_warned_before_it_counts() -> None:
    model, view = trading()
    late = Now(10 * SECOND_US + 5 * SECOND_US)
    assert "Move within 3.0 s" in text_of(model, view, late)
    view.seats[0].away_until_us = 20 * SECOND_US
    assert doing(model, view, late).startswith("You count as away. Call or answer within 5.0 s")


def test_a_seat_that_a_stand_in_has_can_be_taken_back() -> None:
    model, view = trading()
    view.seats[0].bot = True
    model.superseded(view)
    assert doing(model, view).startswith("A stand-in plays your hand")
    assert doing(model, view).endswith("r takes it back.")


# ---------------------------------------------------------------------- what has happened


def told(model: Model) -> list[str]:
    return [line.text for line in model.told]


def test_an_own_trade_says_what_went_and_what_came() -> None:
    model, _ = trading()
    assert "Bo traded 2 with you: you gave 2 rye, got 2 corn" in told(model)
    assert "Bot 2 and Bo traded 2" in told(model)


def test_others_trades_do_not_push_out_what_happened_to_oneself() -> None:
    model, view = trading()
    for _ in range(30):
        happen(model, view, traded=table_pb2.Traded(seat=2, partner=1, size=1))
    assert "Bo traded 2 with you" in text_of(model, view)


def test_a_reset_lists_what_is_undone() -> None:
    model, view = opened()
    lost = Undone(play_pb2.Command(ring_bell=play_pb2.RingBell()), 9)
    model.take(WasReset(play_pb2.RESET_REASON_HISTORY, (lost,)), view, 0)
    assert told(model)[0].startswith("The exchange's store lost its last moments.")
    assert "UNDONE: your ring bell" in told(model)[1]


def test_a_resume_is_told() -> None:
    model, view = opened()
    model.take(Started(resumed=True), view, 0)
    assert told(model)[0].startswith("Connected again")


@pytest.mark.parametrize(
    ("outcome", "notice"),
    [
        (Effective(3, True), ""),
        (Unknown("HISTORY"), "Nobody can say whether that took effect"),
        (Rejected(9, "NO_PARTNER", {}, ""), "Too late: that offer is gone"),
        (Rejected(9, "NOT_OPEN", {"wait_ms": "1500"}, ""), "it opens in 1.5 s"),
        (Rejected(9, "SOMETHING_NEW", {}, "english"), "The exchange refused: english"),
    ],
)
def test_outcomes_are_explained(outcome: Effective | Rejected | Unknown, notice: str) -> None:
    model, _ = opened()
    model.settled(outcome)
    assert notice in model.notice
    assert bool(notice) == bool(model.notice)


# ---------------------------------------------------------------------- lots and choices


def test_bull_and_bear_take_places_in_a_lot() -> None:
    view = view_of()
    assert lot_of(view, Choice(2, ONE[BEAR]), 3) == 2 * ONE[2] + ONE[BEAR]
    assert lot_of(view, Choice(2, ONE[BULL] + ONE[BEAR]), 2) == ONE[BULL] + ONE[BEAR]
    assert "press 2" in str(lot_of(view, Choice(2, ONE[BULL] + ONE[BEAR]), 1))


def test_too_few_cards_are_explained_with_what_would_do() -> None:
    assert lot_of(view_of(), Choice(3), 4) == (
        "You hold 2 rye, not 4: choose corn with the arrows."
    )


def test_the_arrows_pass_over_what_is_not_held() -> None:
    view = view_of()
    assert moved(view, Choice(0), 1).lane == 2
    assert moved(view, Choice(0), -1).lane == 3


def test_a_choice_that_has_left_the_hand_is_replaced() -> None:
    model, view = trading()
    assert view.hand == pack({0: 1, 2: 7, BULL: 1, BEAR: 1})
    assert model.choice.lane == 0


# ---------------------------------------------------------------------- the exchange's own words


def test_who_acted_and_why_is_told_with_every_act_of_an_operator() -> None:
    model, view = trading()
    happen(
        model,
        view,
        frozen=table_pb2.Frozen(reason="a dispute", operator="Ann", at_us=10 * SECOND_US),
    )
    happen(model, view, resumed=table_pb2.Resumed(operator="Ann", frozen_us=65 * SECOND_US))
    left = table_pb2.SeatLeft(seat=3, removed=True, reason="abuse", operator="Ann")
    happen(model, view, seat_left=left)
    happen(model, view, table_closed=table_pb2.TableClosed(reason="the end", operator="Ann"))
    assert told(model)[-4:] == [
        "The game is FROZEN by Ann (operator): a dispute",
        "The game GOES ON: it stood still for 1:05, everybody has as much time as before",
        "The player of seat 3 was REMOVED by Ann (operator): abuse",
        "The table is closed by Ann (operator): the end",
    ]


def test_time_that_stood_still_does_not_count_as_idle() -> None:
    model, view = trading()
    happen(model, view, frozen=table_pb2.Frozen(at_us=10 * SECOND_US))
    happen(model, view, resumed=table_pb2.Resumed(frozen_us=60 * SECOND_US))
    assert "Move within" not in text_of(model, view, Now(70 * SECOND_US))
    assert "Move within 3.0 s" in text_of(model, view, Now(75 * SECOND_US))


def test_a_correction_in_the_middle_of_a_game_is_told_and_scored() -> None:
    model, view = trading()
    totals = [75, -20, 0, 110]
    adjusted = table_pb2.ScoreAdjusted(
        seat=0, delta=-10, totals=totals, reason="a second bell", operator="Ann"
    )
    happen(model, view, score_adjusted=adjusted)
    assert told(model)[-1] == "Your score is CORRECTED by -10, by Ann (operator): a second bell"
    assert [seat.score for seat in view.seats] == totals
    assert not model.result.title
