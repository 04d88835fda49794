"""What is shown for a given view: whole screens, and the line that says what one can do."""

from dataclasses import replace

import pytest
from pit.v1 import table_pb2

from engine.cards import BEAR, BULL, ONE, pack
from engine.rules import PRESETS
from services.client.view import TableView
from services.gateway.convert.rules import rule_set_message
from services.play import words
from services.play.guidance import Now, what_now
from services.play.hand import Choice
from services.play.model import Model
from services.play.rules_card import rules_card
from services.play.screen import draw
from support.own_table import SECOND_US, happen, view_of
from support.play_screens import DIRECTORY, NOW, SCREENS, cornered, text_of, trading


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


@pytest.mark.parametrize(("width", "height"), [(60, 20), (80, 18), (100, 30)])
def test_other_terminals_show_what_one_can_do(width: int, height: int) -> None:
    model, view = trading()
    lines = draw(model, view, NOW, width, height).plain.split("\n")
    assert [len(line) for line in lines] == [width] * height
    assert lines[-3].startswith("Cy holds up 1. ENTER gives 1 wheat for them, unseen.")
    assert lines[-1].startswith("Only ") == (width < 80 or height < 24)


@pytest.mark.parametrize(("width", "height"), [(60, 14), (30, 8), (59, 40), (200, 17), (9, 2)])
def test_where_there_is_no_room_that_alone_is_said_on_top(width: int, height: int) -> None:
    model, view = trading()
    lines = draw(model, view, NOW, width, height).plain.split("\n")
    assert [len(line) for line in lines] == [width] * height
    assert lines[0].startswith("Too")
    if width * height > 100:
        said = " ".join(" ".join(lines).split())
        assert said == (
            f"Too small: {width}x{height} here, 60x18 is the least and 80x24 shows all. "
            "The game goes on; enlarge the terminal. q leaves."
        )


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


# ---------------------------------------------------------------------- what a first game taught


def test_what_a_trade_did_to_the_hand_stands_beside_it_for_a_while() -> None:
    model, view = trading()
    assert "■ +2 " in text_of(model, view)
    assert "■ +2 " not in text_of(model, view, Now(15 * SECOND_US))


def test_a_long_line_of_the_log_goes_on_in_the_next() -> None:
    model, view = trading("deluxe")
    mixed = pack({0: 1, 1: 1, 2: 1, 3: 1})
    other = pack({0: 1, 2: 2, BEAR: 1})
    happen(model, view, other, mixed, traded=table_pb2.Traded(seat=1, partner=0, size=4))
    assert (
        "Bo traded 4: you gave 1 wheat, 1 barley, 1 coffee, 1 corn, got 1 wheat, 2\n"
        "    coffee, the Bear\n"
    ) in text_of(model, view)


def test_the_newest_rows_of_the_log_are_shown_whatever_they_need() -> None:
    model, view = trading()
    for number in range(30):
        model.say(f"{number} " + "x" * 90, 0)
    shown = text_of(model, view)
    assert "29 x" in shown
    assert "20 x" not in shown


def test_the_answer_to_a_key_does_not_outlive_its_truth() -> None:
    model, _ = trading()
    model.notice = "No open offer to answer."
    model.age(10 * SECOND_US)
    model.age(17 * SECOND_US)
    assert model.notice
    model.age(19 * SECOND_US)
    assert not model.notice


def test_the_round_before_is_told_while_hands_are_sorted() -> None:
    model, view = cornered(over=False)
    happen(model, view, dealt=table_pb2.Dealt(round=3, cards=[9, 9, 10, 10], opens_at_us=20))
    shown = text_of(model, view)
    assert "Last round: Bo has the CORNER ON RYE: eight and the Bull; you -20" in shown


def test_a_corner_that_the_bear_hinders_says_what_to_do() -> None:
    view = view_of(preset="deluxe")
    view.hand = pack({1: 9, BEAR: 1})
    assert doing(Model(view), view) == (
        "The Bear stands before your corner on barley: e marks it, then give it away."
    )


def test_a_locked_bell_says_for_how_long() -> None:
    view = view_of(preset="tournament")
    view.hand = pack({1: 9})
    view.bell_locked_until_us = 12 * SECOND_US
    assert doing(Model(view), view).startswith("The bell is locked for you for 2.0 s more; then: ")


@pytest.mark.parametrize(
    ("hand", "size", "what"),
    [
        ({0: 1, 2: 5, 3: 2}, 2, "choose rye or corn, then ENTER; or call 1-4."),
        ({0: 1, 2: 5, 3: 2, BEAR: 1}, 3, "choose rye + Bear (e) or corn, then ENTER;"),
        ({0: 1, 2: 3, 3: 2}, 4, "more than you have of anything. 1-4 calls your own."),
    ],
)
def test_what_would_answer_an_offer_is_named_the_dearest_last(
    hand: dict[int, int], size: int, what: str
) -> None:
    view = view_of(hand=pack(hand))
    model = Model(view)
    happen(model, view, offer_opened=table_pb2.OfferOpened(seat=1, size=size))
    assert what in doing(model, view)


def test_where_lots_are_mixed_too_few_of_one_kind_are_no_hindrance() -> None:
    view = view_of(preset="deluxe")
    model = Model(view)
    happen(model, view, offer_opened=table_pb2.OfferOpened(seat=1, size=4))
    assert doing(model, view) == ("Bo holds up 4: mark cards of several kinds with →, then ENTER.")


# ---------------------------------------------------------------------- the rules


@pytest.mark.parametrize("preset", PRESETS)
def test_the_rules_of_every_preset_fit_on_a_card(preset: str) -> None:
    lines = rules_card(view_of(preset=preset)).split("\n")
    assert len(lines) <= 21
    assert max(map(len, lines)) <= 76
    assert lines[:2] == ["Table       tables/00aaaaaaaaaaaaaaaaaaaa", f"Rules       {preset}"]


def test_rules_of_ones_own_are_named_after_the_nearest_preset() -> None:
    rules = replace(PRESETS["household"], target=200, idle_s=60)
    view = TableView(table_pb2.Snapshot(rule_set=rule_set_message(rules)))
    assert words.rules_name(view.rule_set, view.rules) == "household*"
    assert "Rules       household, but for target, idle_s\n" in rules_card(view)
