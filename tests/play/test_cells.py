"""Names whose characters take two cells of a terminal, or none, move nothing on any screen."""

import pytest
from hypothesis import given, strategies
from pit.v1 import table_pb2
from rich.cells import cell_len

from services.play import transcript
from services.play.cells import filled, sized, wrapped
from services.play.guidance import Now
from services.play.model import Model
from services.play.screen import HEIGHT_MIN, WIDTH_MIN, draw
from services.play.story import player
from support.own_table import happen
from support.play_screens import SCREENS, cornered

FAMILY = "👨\u200d👩\u200d👧"
NAMES = {
    "wide": "日本語日本語",
    "wide and long": "日本語" * 21,
    "an odd number of cells": "a" + "語" * 40,
    "emoji": "Zoë😀",
    "combining": "Zoe\u0308" * 10,
    "joined": FAMILY * 9,
    "of two regions": "🇨🇭🇯🇵" * 8,
    "with a picture's selector": "❤️☎️" * 9,
    "Thai": "สวัสดีครับ" * 5,
    "Hangul in parts": "\u1112\u1161\u11ab" * 12,
}
SIZES = [(WIDTH_MIN, HEIGHT_MIN), (80, 24), (100, 30), (101, 24)]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
@pytest.mark.parametrize("screen", SCREENS)
def test_every_line_is_exactly_as_wide_as_the_terminal(name: str, screen: str) -> None:
    model, view, now = SCREENS[screen]()
    view.display_name = f"{name}'s table"
    for seat in view.seats:
        seat.display_name = name
    happen(model, view, called=table_pb2.Called(seat=1, phrase=table_pb2.PHRASE_HURRY))
    happen(model, view, seat_forfeited=table_pb2.SeatForfeited(seat=2))
    model.notice = f"Too late: {name}'s offer is gone."
    for width, height in SIZES:
        lines = draw(model, view, now, width, height).plain.split("\n")
        assert [cell_len(line) for line in lines] == [width] * height


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_columns_stay_where_they_are_whatever_the_names(name: str) -> None:
    def columns(model: Model, view: object, now: Now, mark: str) -> list[int]:
        lines = draw(model, view, now).plain.split("\n")  # type: ignore[arg-type]
        return [cell_len(line[: line.index(mark)]) for line in lines if mark in line]

    for screen, mark in (("trading", "│"), ("game_over", "place ")):
        model, view, now = SCREENS[screen]()
        before = columns(model, view, now, mark)
        for seat in view.seats:
            seat.display_name = name
        assert columns(model, view, now, mark) == before != []


def test_the_final_scores_stand_in_a_column() -> None:
    model, view = cornered(over=True)
    view.seats[1].display_name = "日本語"
    assert player(view, 1) == "日本語"
    lines = transcript.ending(model, view).split("\n")
    assert {cell_len(line) for line in lines} == {3 + 24 + 5}


PIECES = [*"aé \u0308語😀🇨🇭❤\ufe0f\u1112\u1161\u11ab", FAMILY]
TEXTS = strategies.lists(strategies.sampled_from(PIECES), max_size=120).map("".join)


@given(TEXTS, strategies.integers(2, 90))
def test_sized_is_exactly_so_wide(text: str, width: int) -> None:
    assert cell_len(sized(text, width)) == width
    assert cell_len(filled(text, width)) == max(width, cell_len(text))
    assert filled(text, width).startswith(text)


@given(TEXTS, strategies.integers(10, 90))
def test_wrapped_loses_nothing_and_is_nowhere_wider(text: str, width: int) -> None:
    lines = wrapped(text, width, indent="    ")
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_wrapped_breaks_at_blanks_and_words_that_are_too_long_anywhere() -> None:
    assert wrapped("one two three", 9, "  ") == ["one two", "  three"]
    assert wrapped("one two three", 7, "  ") == ["one two", "  three"]
    assert wrapped("a " + "x" * 12, 8, "  ") == ["a xxxxxx", "  xxxxxx"]
    assert wrapped("", 8) == [""]
    assert wrapped("語語語", 5) == ["語語", "語"]
