"""The small parts everything is made of, each against its obvious counterpart."""

from dataclasses import fields, replace
from inspect import signature
from itertools import product
from random import Random
from typing import Any

import pytest

from engine import commands as c
from engine import events as e
from engine.cards import BEAR, BULL, LANES, ONE, count, counts, holds, pack, size
from engine.commands import NOBODY
from engine.lots import lots_of
from engine.rules import PRESETS
from engine.score import holder, lowered, places


@pytest.mark.parametrize("kind", [e.Answered, e.OfferOpened, e.Traded, c.Offer])
def test_an_init_of_its_own_takes_all_fields_in_their_order(kind: Any) -> None:
    names = [field.name for field in fields(kind)]
    assert list(signature(kind).parameters) == names
    made = kind(*range(len(names)))
    assert [getattr(made, name) for name in names] == list(range(len(names)))


def test_a_hand_holds_a_lot_exactly_when_no_lane_lacks_cards() -> None:
    random = Random(1)
    for _ in range(20_000):
        hand = {lane: random.randrange(10) for lane in range(LANES)}
        lot = {lane: max(0, random.randrange(-12, 10)) for lane in range(LANES)}
        expected = all(hand[lane] >= lot[lane] for lane in range(LANES))
        assert holds(pack(hand), pack(lot)) == expected


def test_a_full_lane_beside_an_empty_one_lends_nothing() -> None:
    """The borrow of one lane must not be paid by the next."""
    for lane, other in product(range(LANES), repeat=2):
        if lane != other:
            assert not holds(9 * ONE[other], ONE[lane])
            assert holds(9 * ONE[other], 9 * ONE[other])


def test_counts_and_sizes() -> None:
    cards = pack({0: 9, 3: 2, BULL: 1, BEAR: 1})
    assert counts(cards) == (9, 0, 0, 2, 0, 0, 0, 0, 1, 1)
    assert (count(cards, 3), size(cards)) == (2, 13)


@pytest.mark.parametrize(
    ("suits", "special", "mixed"), list(product((7, 8), (True, False), (True, False)))
)
def test_the_lots_of_a_rule_set_are_all_legal_ones_and_no_other(
    suits: int, special: bool, mixed: bool
) -> None:
    """I2, by trying all counts of 0-5 in two lanes beside Bull and Bear, and totals in all."""
    lots = lots_of(suits, special, mixed)
    for first, second, bull, bear in product(range(6), range(6), range(3), range(3)):
        lanes = {0: first, suits - 1: second, BULL: bull, BEAR: bear}
        total = first + second + bull + bear
        legal = (
            1 <= total <= 4
            and max(bull, bear) <= int(special)
            and (mixed or not (first and second))
        )
        assert (pack(lanes) in lots) == legal
        if legal:
            assert lots[pack(lanes)] == total
    assert not any(counts(lot)[lane] for lot in lots for lane in range(suits, BULL))


def test_places_are_shared_by_equals_and_none_for_who_does_not_play() -> None:
    assert places([(5,), None, (7,), (5,), (1,)]) == (2, 0, 1, 2, 4)


def test_where_scores_stop_at_zero_they_stop_there() -> None:
    stops = replace(PRESETS["classic"], below_zero=False)
    assert [lowered(score, 20, stops) for score in (50, 10, 0)] == [30, 0, 0]
    assert lowered(10, 20, PRESETS["classic"]) == -10


def test_who_holds_the_bull() -> None:
    assert holder([0, ONE[BEAR], ONE[BULL]], BULL) == 2
    assert holder([0, ONE[0]], BULL) == NOBODY
