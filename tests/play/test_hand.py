"""What the hand as it is allows."""

from engine.cards import BEAR, BULL, ONE, pack
from services.play.hand import Choice, lot_of, moved
from support.own_table import view_of
from support.play_screens import trading


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
