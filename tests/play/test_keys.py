"""Keys to trade with: no terminal, no time, no exchange."""

import pytest
from pit.v1 import table_pb2

from engine.cards import BEAR, BULL, ONE, pack
from services.client.happenings import Rejected
from services.client.view import NOBODY
from support.at_keys import Played
from support.own_table import SECOND_US, happen

HURRY, THANKS = table_pb2.PHRASE_HURRY, table_pb2.PHRASE_THANKS


# ---------------------------------------------------------------------- calling


async def test_a_number_calls_so_many_of_the_chosen() -> None:
    played = Played()
    await played.press("d", "3", "f", "2")
    assert played.acts == [
        ("offer", 3 * ONE[2], NOBODY, False),
        ("offer", 2 * ONE[3], NOBODY, False),
    ]


async def test_arrows_choose_and_the_bear_goes_along() -> None:
    played = Played()
    await played.press("down", "e", "2")
    assert played.acts == [("offer", ONE[2] + ONE[BEAR], NOBODY, False)]
    await played.press("e")
    assert not played.model.choice.marked


async def test_too_many_is_said_and_not_sent() -> None:
    played = Played()
    await played.press("f", "4")
    assert played.acts == []
    assert played.notice.startswith("You hold 2 rye, not 4")


async def test_a_key_without_a_meaning_says_so() -> None:
    played = Played()
    await played.press("z")
    assert played.notice == "That key does nothing here; ? shows all keys."


async def test_w_takes_back() -> None:
    played = Played()
    await played.press("w")
    assert played.acts == [("withdraw",)]


# ---------------------------------------------------------------------- mixed lots


async def test_marked_cards_go_first_and_the_chosen_commodity_fills_up() -> None:
    played = Played(preset="deluxe")
    await played.press("a", "right", "f", "right", "right", "d", "4")
    assert played.acts == [("offer", pack({0: 1, 3: 2, 2: 1}), NOBODY, False)]


async def test_what_was_called_is_no_longer_marked_and_the_bear_stays_so() -> None:
    played = Played(preset="deluxe")
    await played.press("f", "right", "e", "2")
    lot = ONE[3] + ONE[BEAR]
    happen(
        played.model, played.view, lot, number=1,
        offer_opened=table_pb2.OfferOpened(seat=0, size=2),
    )  # fmt: skip
    assert played.model.choice.marked == ONE[BEAR]


async def test_marks_end_where_the_hand_and_the_lot_end() -> None:
    played = Played(preset="deluxe")
    await played.press("a", "right", "right")
    assert played.notice == "You hold no more wheat to mark."
    await played.press("d", "right", "right", "right", "right")
    assert played.notice.startswith("A lot has 4 cards at most")
    await played.press("3")
    assert played.notice == "4 cards are marked (1 wheat, 3 coffee): press 4, or x unmarks them."
    await played.press("left", "left", "left", "left")
    assert played.notice == "No coffee is marked."
    await played.press("x")
    assert not played.model.choice.marked
    assert played.acts == []


async def test_rules_without_mixed_lots_say_so() -> None:
    played = Played()
    await played.press("d", "right")
    assert played.notice.startswith("These rules know no mixed lots")
    assert not played.model.choice.marked


# ---------------------------------------------------------------------- answering


async def test_enter_answers_the_marked_offer_and_tab_marks_another() -> None:
    played = Played()
    played.offered(1, 2)
    played.offered(3, 1)
    await played.press("d", "enter", "tab", "enter")
    assert played.acts == [("offer", 2 * ONE[2], 1, True), ("offer", ONE[2], 3, True)]


async def test_an_offer_too_large_to_answer_is_named() -> None:
    played = Played()
    played.offered(1, 4)
    await played.press("f", "enter")
    assert played.acts == []
    assert played.notice == ("Bo holds up 4. You hold 2 rye, not 4: choose corn with the arrows.")


@pytest.mark.parametrize("key", ["enter", "tab"])
async def test_without_an_offer_there_is_nothing_to_answer(key: str) -> None:
    played = Played()
    await played.press(key)
    assert played.acts == []
    assert "No open offer" in played.notice


async def test_a_lost_race_is_explained() -> None:
    played = Played()
    played.offered(1, 1)
    played.seat.answer = Rejected(9, "NO_PARTNER", {}, "no partner")
    await played.press("d", "enter")
    assert played.notice.startswith("Too late: that offer is gone")


async def test_an_offer_that_slipped_under_the_finger_is_not_answered_unseen() -> None:
    played = Played()
    played.offered(1, 2)
    played.offered(3, 1)
    taken = table_pb2.OfferEnded(seat=1, end=table_pb2.OFFER_END_WITHDRAWN)
    happen(played.model, played.view, offer_ended=taken)
    await played.press("d", "enter")
    assert played.acts == []
    assert played.notice == "Nothing given: ▶ has just moved to Cy's 1. Again?"
    await played.press("enter")
    assert played.acts == [("offer", ONE[2], 3, True)]


async def test_a_change_of_the_marked_offer_that_could_be_seen_is_no_slip() -> None:
    played = Played()
    played.offered(1, 2)
    played.offered(1, 3)
    played.seat.log_us += SECOND_US
    await played.press("d", "enter")
    assert played.acts == [("offer", 3 * ONE[2], 1, True)]


async def test_who_comes_too_late_is_told_whose_offer_is_gone() -> None:
    played = Played()
    played.offered(1, 2)
    taken = table_pb2.Traded(seat=2, partner=1, size=2)
    happen(played.model, played.view, traded=taken)
    await played.press("d", "enter")
    assert played.notice.startswith("Too late: Bo's offer is gone.")


# ---------------------------------------------------------------------- the bell


async def test_space_rings_only_with_a_corner() -> None:
    played = Played()
    await played.press("space")
    assert played.acts == []
    assert "No corner yet" in played.notice
    played.view.hand = pack({3: 8, BULL: 1})
    await played.press("space")
    assert played.acts == [("bell", 3)]
