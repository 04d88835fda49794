"""Every shape of a hand, under every preset: is it a corner, of which kind, who scores what.

The expectations below are written from the rule sheets, shape by shape, and know nothing of the
engine's switches. A shape is: how many of the named commodity, Bull or not, Bear or not, and how
the rest spreads over the other commodities, for hands of nine and of ten cards.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest

from engine import commands, events
from engine.cards import BEAR, BULL, DECKS, pack
from engine.decide import decide
from engine.events import Corner
from engine.evolve import evolve
from engine.rejections import Rejection
from engine.rules import PRESETS
from engine.state import Table, dump, load
from support.staged import NONCE, Staged

SEATS = 4
SUITS = 4

EIGHT = Corner.EIGHT_AND_BULL
EIGHT_BOTH = Corner.EIGHT_BULL_AND_BEAR
NINE = Corner.NINE
NINE_BULL = Corner.NINE_AND_BULL
NINE_BEAR = Corner.NINE_AND_BEAR


class Pays(NamedTuple):
    kind: Corner
    times: int
    own_penalty: int = 0


# What a hand is called that holds the named commodity so often, with or without Bull and Bear.
# A shape that is not listed is no corner.
CORNERS: dict[str, dict[str, Pays]] = {
    "basic": {"9": Pays(NINE, 1)},
    "deluxe-basic": {"9": Pays(NINE, 1)},
    # Sheet B: the Bull stands for a ninth card or doubles nine; the Bear blocks nothing.
    "classic": {
        "9": Pays(NINE, 1),
        "9+Bear": Pays(NINE_BEAR, 1),
        "9+Bull": Pays(NINE_BULL, 2),
        "8+Bull": Pays(EIGHT, 1),
    },
    # Sheet A: any corner with the Bull is doubled; no corner with the Bear in hand.
    "deluxe": {
        "9": Pays(NINE, 1),
        "9+Bull": Pays(NINE_BULL, 2),
        "8+Bull": Pays(EIGHT, 2),
    },
    "deluxe-house": {
        "9": Pays(NINE, 1),
        "9+Bull": Pays(NINE_BULL, 2),
        "8+Bull": Pays(EIGHT, 1),
    },
    # Sheet C: who corners with the Bear pays for it, 20, or 40 with the Bull beside it.
    "household": {
        "9": Pays(NINE, 1),
        "9+Bear": Pays(NINE_BEAR, 1, own_penalty=20),
        "9+Bull": Pays(NINE_BULL, 2),
        "8+Bull": Pays(EIGHT, 1),
        "8+Bull+Bear": Pays(EIGHT_BOTH, 1, own_penalty=40),
    },
    "tournament": {
        "9": Pays(NINE, 1),
        "9+Bull": Pays(NINE_BULL, 2),
        "8+Bull": Pays(EIGHT, 1),
    },
    "blitz": {
        "9": Pays(NINE, 1),
        "9+Bear": Pays(NINE_BEAR, 1),
        "9+Bull": Pays(NINE_BULL, 2),
        "8+Bull": Pays(EIGHT, 1),
        "8+Bull+Bear": Pays(EIGHT_BOTH, 1),
    },
}

PLAYED_WITHOUT_BULL_AND_BEAR = {"basic", "deluxe-basic"}

# Who holds the Bull, the Bear, or both when another corners pays so much.
PENALTIES = {
    "classic": (20, 20, 50),
    "deluxe": (20, 20, 40),
    "deluxe-house": (20, 20, 40),
    "household": (20, 20, 40),
    "tournament": (20, 20, 40),
    "blitz": (20, 20, 40),
    "basic": (0, 0, 0),
    "deluxe-basic": (0, 0, 0),
}


class Shape(NamedTuple):
    named: int
    """How many of the named commodity."""
    bull: bool
    bear: bool
    rest: tuple[int, ...]
    """How many of each other commodity, most first."""

    @property
    def title(self) -> str:
        return f"{self.named}" + "+Bull" * self.bull + "+Bear" * self.bear


def spreads(cards: int, suits: int, most: int = 9) -> Iterator[tuple[int, ...]]:
    """All ways to spread so many cards over at most so many commodities, most first."""
    if cards == 0:
        yield ()
    elif suits:
        for first in range(min(cards, most), 0, -1):
            for others in spreads(cards - first, suits - 1, first):
                yield (first, *others)


def shapes(preset: str, size: int) -> Iterator[Shape]:
    """All shapes of a hand of `size` cards that can be dealt and traded to."""
    choices = (False,) if preset in PLAYED_WITHOUT_BULL_AND_BEAR else (False, True)
    for bull in choices:
        for bear in choices:
            for named in range(10):
                rest = size - named - bull - bear
                if rest >= 0:
                    for spread in spreads(rest, SUITS - 1):
                        yield Shape(named, bull, bear, spread)


def hand_of(shape: Shape, named_lane: int) -> dict[int, int]:
    """Cards by lane: the rest goes to the other lanes in turn."""
    others = [lane for lane in range(SUITS) if lane != named_lane]
    hand = {named_lane: shape.named, BULL: int(shape.bull), BEAR: int(shape.bear)}
    hand.update(zip(others, shape.rest, strict=False))
    return hand


def hands_with(
    shape: Shape, named_lane: int, ringer: int, bull_seat: int, bear_seat: int, sizes: list[int]
) -> tuple[int, ...]:
    """All hands of the table: the ringer's as told, the remaining cards anyhow."""
    hand = hand_of(shape, named_lane)
    left = [lane for lane in range(SUITS) for _ in range(9 - hand.get(lane, 0))]
    hands = []
    for seat, size in enumerate(sizes):
        if seat == ringer:
            hands.append(pack(hand))
            continue
        lanes = [BULL] * (seat == bull_seat) + [BEAR] * (seat == bear_seat)
        lanes += [left.pop() for _ in range(size - len(lanes))]
        hands.append(pack({lane: lanes.count(lane) for lane in set(lanes)}))
    assert not left
    return tuple(hands)


def staged_before_the_deal(preset: str) -> object:
    """A table one command before its first deal."""
    stage = Staged(PRESETS[preset], SEATS)
    for seat in range(SEATS - 1):
        stage.ready(seat, commands.Purpose.START)
    return dump(stage.table)


def ring(
    table: Table, hands: tuple[int, ...], dealer: int, ringer: int, named_lane: int
) -> tuple[list[events.Event], events.Answered]:
    """Deal these hands, open the exchange, ring."""
    now_ms = 50_000
    evolve(table, events.ReadyGiven(SEATS - 1, commands.Purpose.START, NONCE))
    evolve(table, events.Dealt(1, dealer, tuple(range(SUITS)), hands, now_ms, now_ms))
    evolve(table, events.ExchangeOpened(1, now_ms + 60_000, now_ms))
    number = 2 if ringer < SEATS - 1 else 1
    bell = commands.RingBell(
        seat=ringer,
        attach=1,
        generation=1,
        number=number,
        round=1,
        seen_seq=table.seq,
        content=7,
        commodity=named_lane,
    )
    found, answer = decide(table, bell, now_ms + 1_000, bytes)
    assert isinstance(answer, events.Answered)
    return list(found), answer


def places_of_bull_and_bear(preset: str, shape: Shape, ringer: int) -> Iterator[tuple[int, int]]:
    """Where Bull and Bear may lie: with the ringer, both with one other, or with two others."""
    if preset in PLAYED_WITHOUT_BULL_AND_BEAR:
        yield commands.NOBODY, commands.NOBODY
        return
    one, other = [seat for seat in range(SEATS) if seat != ringer][:2]
    if shape.bull or shape.bear:
        yield (ringer if shape.bull else one), (ringer if shape.bear else one)
    else:
        yield one, one
        yield one, other


def expected_deltas(
    preset: str, pays: Pays, value: int, ringer: int, bull_seat: int, bear_seat: int
) -> list[int]:
    deltas = [0] * SEATS
    deltas[ringer] = value * pays.times - pays.own_penalty
    bull, bear, both = PENALTIES[preset]
    if bull_seat == bear_seat:
        if bull_seat not in (ringer, commands.NOBODY):
            deltas[bull_seat] = -both
    else:
        for seat, penalty in ((bull_seat, bull), (bear_seat, bear)):
            if seat != ringer:
                deltas[seat] -= penalty
    return deltas


def check_accepted(
    preset: str, pays: Pays, found: list[events.Event], named_lane: int, expected: list[int]
) -> None:
    cornered = next(event for event in found if isinstance(event, events.Cornered))
    scored = next(event for event in found if isinstance(event, events.RoundScored))
    assert cornered.kind == pays.kind
    assert cornered.commodity == named_lane
    assert list(scored.deltas) == expected
    assert list(scored.totals) == expected


def check_refused(preset: str, found: list[events.Event], answer: events.Answered) -> None:
    """A false bell costs 20 points and three seconds in `tournament`, elsewhere nothing."""
    if preset == "tournament":
        (refused,) = found
        assert isinstance(refused, events.BellRefused)
        assert (refused.fine, refused.locked_until_ms - refused.at_ms) == (20, 3_000)
        assert answer.rejection == 0
    else:
        assert answer.rejection == Rejection.NO_CORNER
        assert not found


def seats_and_sizes(preset: str, size: int) -> tuple[int, int, list[int]]:
    """Dealer, ringer and everyone's hand size, so that the ringer's is as wished.

    With Bull and Bear in play the two seats left of the dealer hold ten cards.
    """
    dealer = 3
    if preset in PLAYED_WITHOUT_BULL_AND_BEAR:
        return dealer, 1, [9] * SEATS
    sizes = [10, 10, 9, 9]
    return dealer, sizes.index(size), sizes


def test_the_table_speaks_of_every_preset() -> None:
    assert set(CORNERS) == set(PRESETS) == set(PENALTIES)


@pytest.mark.parametrize("preset", CORNERS)
def test_every_shape(preset: str) -> None:
    before = staged_before_the_deal(preset)
    sizes = (9,) if preset in PLAYED_WITHOUT_BULL_AND_BEAR else (9, 10)
    seen: set[str] = set()
    for size in sizes:
        dealer, ringer, all_sizes = seats_and_sizes(preset, size)
        for turn, shape in enumerate(shapes(preset, size)):
            named_lane = turn % SUITS
            value = DECKS[PRESETS[preset].deck][named_lane][1]
            pays = CORNERS[preset].get(shape.title)
            for bull_seat, bear_seat in places_of_bull_and_bear(preset, shape, ringer):
                hands = hands_with(shape, named_lane, ringer, bull_seat, bear_seat, all_sizes)
                found, answer = ring(load(before), hands, dealer, ringer, named_lane)
                if pays is None:
                    check_refused(preset, found, answer)
                else:
                    seen.add(shape.title)
                    expected = expected_deltas(preset, pays, value, ringer, bull_seat, bear_seat)
                    check_accepted(preset, pays, found, named_lane, expected)
    assert seen == set(CORNERS[preset])


@pytest.mark.parametrize("preset", CORNERS)
def test_nine_of_each_commodity_pays_its_value(preset: str) -> None:
    rules = PRESETS[preset]
    seats = rules.seats_max
    for named_lane, (_, value) in enumerate(DECKS[rules.deck]):
        # Everybody but the two left of the dealer was dealt nine of a kind; Bull and Bear lie
        # with the last two seats.
        others = [lane for lane in range(seats) if lane != named_lane]
        hands = [pack({lane: 9}) for lane in (named_lane, *others)]
        ten = PRESETS[preset].bull_and_bear
        if ten:
            hands[-2] += pack({BULL: 1})
            hands[-1] += pack({BEAR: 1})
        stage = Staged(rules, seats)
        stage.deal(hands, dealer=seats - 3)
        stage.open_exchange()
        found, _ = stage.ring(0, DECKS[rules.deck][named_lane][0])
        scored = next(event for event in found if isinstance(event, events.RoundScored))
        penalties = [-20, -20] if ten else [0, 0]
        assert list(scored.deltas) == [value, *[0] * (seats - 3), *penalties]


def test_scores_stop_at_zero_where_the_rules_say_so() -> None:
    rules = replace(PRESETS["blitz"], below_zero=False)
    stage = Staged(rules, 3)
    hands = [pack({0: 9}), pack({1: 9, BULL: 1}), pack({2: 9, BEAR: 1})]
    stage.deal(hands, dealer=0)
    stage.open_exchange()
    found, _ = stage.ring(0, "wheat")
    scored = next(event for event in found if isinstance(event, events.RoundScored))
    assert scored.totals == (100, 0, 0)
