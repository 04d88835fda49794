"""Presets and switches against the tables of the rule sheets (rules.md "Presets", "Decks").

A: the out-of-print review. B: the seven-suit sheet. C: the how-to directions. (i) inferred, (o)
ours.
"""

from dataclasses import fields, replace

import pytest

from engine.cards import DECKS
from engine.limits import SORTING_PAUSE_MAX_S
from engine.rejections import Rejection
from engine.rules import (
    BOUNDS,
    PRESETS,
    NextDealer,
    Rules,
    VoidPenalty,
    preset_name,
    problems,
    rules_hash,
)
from support.playing import Playing

NAMES = [
    "basic",
    "classic",
    "deluxe-basic",
    "deluxe",
    "deluxe-house",
    "household",
    "tournament",
    "blitz",
]
TABLE = """
deck                 classic7 classic7 deluxe8 deluxe8 deluxe8 classic7 deluxe8 classic7
seats_min            3     3     3     3     3     3     4     3
seats_max            7     7     8     8     8     7     8     7
bull_and_bear        no    yes   no    yes   yes   yes   yes   yes
sorting_pause_s      30    30    60    60    60    60    15    5
opens_when_sorted    no    no    yes   yes   yes   yes   no    yes
mixed_lots           no    no    yes   yes   no    no    no    no
eight_and_bull_times -     1     -     2     1     1     1     1
nine_and_bull_times  -     2     -     2     2     2     2     2
bear_blocks          -     no    -     yes   yes   no    yes   no
eight_bull_and_bear  -     no    -     no    no    yes   no    yes
bull_penalty         -     20    -     20    20    20    20    20
bear_penalty         -     20    -     20    20    20    20    20
both_penalty         -     50    -     40    40    40    40    40
cornerer_pays        -     no    -     no    no    yes   no    no
below_zero           -     yes   -     yes   yes   yes   yes   yes
false_bell_fine      0     0     0     0     0     0     20    0
false_bell_lock_s    0     0     0     0     0     0     3     0
next_dealer          winner winner winner winner winner winner next winner
target               500   500   500   500   500   500   500   200
scored_rounds_max    0     0     0     0     0     0     12    0
rounds_max           0     0     0     0     0     0     16    0
round_cap_s          300   300   300   300   300   300   120   90
idle_s               20    20    20    20    20    20    12    8
away_grace_s         30    30    30    30    30    30    15    8
void_penalty         none  none  none  none  none  none  idle  idle
idle_fine            -     -     -     -     -     -     20    20
directed_offers      yes   yes   yes   yes   yes   yes   no    yes
"""
WORDS = {
    "no": False,
    "yes": True,
    "winner": NextDealer.WINNER,
    "next": NextDealer.NEXT_SEAT,
    "none": VoidPenalty.NONE,
    "idle": VoidPenalty.IDLE,
}
CELLS = [
    (preset, switch, cell)
    for switch, *cells in map(str.split, TABLE.strip().splitlines())
    for preset, cell in zip(NAMES, cells, strict=True)
    if cell != "-"
]


@pytest.mark.parametrize(("preset", "switch", "cell"), CELLS)
def test_each_preset_has_the_switches_of_its_sheet(preset: str, switch: str, cell: str) -> None:
    """The table of rules.md, cell by cell."""
    expected = WORDS.get(cell, int(cell) if cell.isdigit() else cell)
    assert getattr(PRESETS[preset], switch) == expected


def test_the_table_above_names_every_switch() -> None:
    named = {line.split()[0] for line in TABLE.strip().splitlines()}
    assert {field.name for field in fields(Rules)} == named | {"suits"}
    assert list(PRESETS) == NAMES


def test_commodities_and_values_are_those_of_the_published_editions() -> None:
    """rules.md "Decks": A and C name only a few, B's table is lost."""
    assert dict(DECKS["classic7"]) == {
        "wheat": 100, "barley": 85, "corn": 75, "rye": 70, "oats": 60, "hay": 50, "flax": 40,
    }  # fmt: skip
    assert dict(DECKS["deluxe8"]) == {
        "wheat": 100, "barley": 85, "coffee": 80, "corn": 75, "sugar": 65, "oats": 60,
        "soybeans": 55, "oranges": 50,
    }  # fmt: skip


@pytest.mark.parametrize("preset", NAMES)
def test_a_preset_is_sound_and_found_by_its_content(preset: str) -> None:
    """A rule set is the preset it equals, however it was put together."""
    rules = PRESETS[preset]
    assert problems(rules) == ()
    assert preset_name(replace(rules)) == preset
    assert preset_name(replace(rules, target=499)) == ""


def test_a_rule_set_has_a_short_content_hash() -> None:
    """Equal rules, equal hash; any switch changes it. Enum or integer makes no difference."""
    hashes = {rules_hash(rules) for rules in PRESETS.values()}
    assert len(hashes) == len(NAMES)
    blitz = PRESETS["blitz"]
    plain = replace(blitz, next_dealer=int(blitz.next_dealer), void_penalty=2)
    assert rules_hash(plain) == rules_hash(blitz)
    for name in BOUNDS:
        other = replace(blitz, **{name: getattr(blitz, name) + 1})
        assert rules_hash(other) != rules_hash(blitz), name


@pytest.mark.parametrize("switch", list(BOUNDS))
def test_every_number_has_bounds(switch: str) -> None:
    least, most = BOUNDS[switch]
    for wrong in (least - 1, most + 1):
        found = problems(replace(PRESETS["blitz"], **{switch: wrong}))
        assert f"{switch}: must be {least}..{most}" in found


@pytest.mark.parametrize(
    ("changes", "switch"),
    [
        ({"deck": "tarot"}, "deck"),
        ({"suits": ("wheat", "barley", "gold")}, "suits"),
        ({"suits": ("wheat", "wheat", "corn")}, "suits"),
        ({"suits": ("wheat", "corn")}, "suits"),
        ({"seats_min": 5, "seats_max": 4}, "seats_min"),
        ({"seats_max": 8}, "seats_max"),
        ({"bear_blocks": True, "eight_bull_and_bear": True}, "eight_bull_and_bear"),
    ],
)
def test_switches_that_contradict_are_named(changes: dict[str, object], switch: str) -> None:
    rules = replace(PRESETS["blitz"], **changes)
    assert [found.partition(":")[0] for found in problems(rules)] == [switch]
    refused = Playing(rules, 3).open_table()
    assert refused in (Rejection.SEATS_RANGE, Rejection.SETTINGS_INVALID)


def test_the_longest_pause_of_a_sheet_is_allowed() -> None:
    assert max(rules.sorting_pause_s for rules in PRESETS.values()) <= SORTING_PAUSE_MAX_S


@pytest.mark.parametrize("preset", NAMES)
def test_as_many_players_as_the_sheet_says(preset: str) -> None:
    """B, C: 3-7 players; A: 3-8; tournament (o): 4-8. As many suits as players."""
    rules = PRESETS[preset]
    for seats in range(rules.seats_min, rules.seats_max + 1):
        playing = Playing(rules, seats).dealt()
        assert playing.table.suits == tuple(range(seats))
    for seats in (rules.seats_min - 1, rules.seats_max + 1):
        playing = Playing(rules, seats)
        assert playing.open_table() == Rejection.SEATS_RANGE
        assert playing.answer.parameters == (rules.seats_min, rules.seats_max)
