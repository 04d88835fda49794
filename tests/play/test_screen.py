"""What is shown for a given view: whole screens, and the line that says what one can do."""

from pathlib import Path

import pytest
from pit.v1 import play_pb2, table_pb2

from engine.cards import BEAR, BULL, ONE, pack
from services.client.happenings import Effective, Rejected, Started, Undone, Unknown, WasReset
from services.client.view import TableView
from services.play.hand import Choice, lot_of, moved
from services.play.model import Model
from services.play.screen import Now, draw, what_now
from support.own_table import SECOND_US, happen, view_of

SCREENS = Path(__file__).parent / "screens"
NOW = Now(10 * SECOND_US)


def opened() -> tuple[Model, TableView]:
    view = view_of()
    return Model(view), view


def plain(model: Model, view: TableView, now: Now = NOW) -> str:
    text = draw(model, view, now).plain
    lines = text.split("\n")
    assert len(lines) == 24
    assert all(len(line) == 80 for line in lines)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def trading() -> tuple[Model, TableView]:
    model, view = opened()
    happen(
        model, view, exchange_opened=table_pb2.ExchangeOpened(round=2, round_ends_at_us=75_000_000)
    )
    happen(model, view, offer_opened=table_pb2.OfferOpened(seat=1, size=2))
    happen(model, view, traded=table_pb2.Traded(seat=2, partner=1, size=2))
    happen(
        model, view, 2 * ONE[2], 2 * ONE[3], 1, traded=table_pb2.Traded(seat=0, partner=1, size=2)
    )
    happen(model, view, offer_opened=table_pb2.OfferOpened(seat=3, size=1))
    happen(model, view, offer_opened=table_pb2.OfferOpened(seat=2, size=3, directed_at=3))
    return model, view


def cornered(over: bool) -> tuple[Model, TableView]:
    model, view = trading()
    corner = table_pb2.Cornered(
        seat=1,
        commodity=table_pb2.COMMODITY_RYE,
        kind=table_pb2.CORNER_KIND_EIGHT_AND_BULL,
        bull_seat=1,
        bear_seat=0,
    )
    corner.hand.counts.add(commodity=table_pb2.COMMODITY_RYE, count=8)
    corner.hand.bull = True
    happen(model, view, cornered=corner)
    points = {"deltas": [-20, 70, 0, 0], "totals": [65, 50, 0, 110]}
    happen(model, view, round_scored=table_pb2.RoundScored(round=2, **points))
    if over:
        ended = table_pb2.GameEnded(
            end=table_pb2.GAME_END_WON, places=[2, 3, 4, 1], totals=points["totals"]
        )
        happen(model, view, game_ended=ended)
    return model, view


@pytest.mark.parametrize("name", ["trading", "round_over", "game_over", "cut", "seating"])
def test_the_whole_screen(name: str) -> None:
    now = NOW
    if name == "seating":
        view = view_of(table_pb2.PHASE_SEATING, hand=0)
        view.suits, view.round = (), 0
        model = Model(view)
    elif name in {"trading", "cut"}:
        model, view = trading()
        now = Now(10 * SECOND_US, 3.2) if name == "cut" else NOW
    else:
        model, view = cornered(over=name == "game_over")
    assert plain(model, view, now) == (SCREENS / f"{name}.txt").read_text()


def test_eight_seats_and_a_terminal_that_is_too_small_still_make_24_lines() -> None:
    view = view_of(preset="deluxe-house")
    view.suits = tuple(range(8))
    view.seats = view.seats * 2
    assert plain(Model(view), view).count("\n") == 24
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
    model.choice = Choice(2, bear=True)
    assert "ENTER gives the Bear for them" in doing(model, view)


def test_an_offer_for_somebody_else_is_not_mine_to_answer() -> None:
    model, view = trading()
    assert model.aimed(view) == 3
    happen(model, view, offer_ended=table_pb2.OfferEnded(seat=3, end=table_pb2.OFFER_END_WITHDRAWN))
    assert model.aimed(view) == -1


def test_who_does_not_move_is_warned_before_it_counts() -> None:
    model, view = trading()
    late = Now(10 * SECOND_US + 5 * SECOND_US)
    assert "Move within 3.0 s" in plain(model, view, late)
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
    assert "Bo traded 2 with you" in plain(model, view)


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
    assert lot_of(view, Choice(2, bear=True), 3) == 2 * ONE[2] + ONE[BEAR]
    assert lot_of(view, Choice(2, bull=True, bear=True), 2) == ONE[BULL] + ONE[BEAR]
    assert "press 2" in str(lot_of(view, Choice(2, bull=True, bear=True), 1))


def test_too_few_cards_are_explained_with_what_would_do() -> None:
    assert lot_of(view_of(), Choice(3), 4) == (
        "You hold 2 rye, not 4 rye: choose corn with the arrows."
    )


def test_the_arrows_pass_over_what_is_not_held() -> None:
    view = view_of()
    assert moved(view, Choice(0), 1).lane == 2
    assert moved(view, Choice(0), -1).lane == 3


def test_a_choice_that_has_left_the_hand_is_replaced() -> None:
    model, view = trading()
    assert view.hand == pack({0: 1, 2: 7, BULL: 1, BEAR: 1})
    assert model.choice.lane == 0
