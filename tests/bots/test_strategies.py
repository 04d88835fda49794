"""What strategies may and may not do, as the functions of a seat's view that they are."""

import random
from collections.abc import Callable

import pytest
from pit.v1 import table_pb2

from engine.cards import BEAR, BULL, ONE, count, holds, size
from engine.lots import lots_of
from engine.rules import PRESETS
from services.bots import hands
from services.bots.acts import MakeOffer, Ring
from services.bots.careful import ALLOWED, CAREFUL
from services.bots.chaser import CHASER
from services.bots.memory import Memory
from services.bots.strategy import JUST_RECEIVED_S, OpenOffer, Sight, Strategy
from services.bots.wild import WILD
from services.client.rules import rules_of
from services.client.view import SeatView, TableView
from services.gateway.convert.rules import rule_set_message
from support.responses import snapshot
from support.views import names_of

WHEAT, BARLEY, CORN, RYE = range(4)
SUITS = (WHEAT, BARLEY, CORN, RYE)
NOW = 100.0


def cards(**lanes: int) -> int:
    names = {"wheat": WHEAT, "barley": BARLEY, "corn": CORN, "rye": RYE, "bull": BULL, "bear": BEAR}
    return sum(number * ONE[names[name]] for name, number in lanes.items())


def view_of(hand: int, preset: str = "classic") -> TableView:
    shown = snapshot(seq=1)
    shown.rule_set.CopyFrom(rule_set_message(PRESETS[preset]))
    view = TableView(shown)
    view.suits = SUITS
    view.hand = hand
    return view


def sight(
    hand: int,
    *offers: OpenOffer,
    preset: str = "classic",
    target: int = WHEAT,
    memory: Memory | None = None,
    skill: float = 1.0,
    seed: int = 1,
    may_call_out: bool = True,
) -> Sight:
    if memory is None:
        memory = Memory(target=target)
    view = view_of(hand, preset)
    return Sight(view, memory, NOW, offers, may_call_out, skill, random.Random(seed))


def offers_made(
    strategy: Strategy, make: Callable[[int], Sight], seeds: int = 50
) -> list[MakeOffer]:
    acts = [strategy.act(make(seed)) for seed in range(seeds)]
    return [act for act in acts if isinstance(act, MakeOffer)]


# ---------------------------------------------------------------------- the bell


@pytest.mark.parametrize("strategy", [CAREFUL, CHASER, WILD], ids=lambda one: one.name)
@pytest.mark.parametrize(
    ("hand", "lane"),
    [
        (cards(corn=9), CORN),
        (cards(corn=8, bull=1), CORN),
        (cards(corn=9, rye=1), CORN),
        (cards(corn=9, bear=1), CORN),
    ],
)
def test_a_corner_in_hand_is_rung(strategy: Strategy, hand: int, lane: int) -> None:
    assert strategy.act(sight(hand, OpenOffer(1, 1))) == Ring(lane)


@pytest.mark.parametrize("strategy", [CAREFUL, CHASER, WILD], ids=lambda one: one.name)
def test_a_corner_blocked_by_the_bear_is_not_rung(strategy: Strategy) -> None:
    blocked = sight(cards(corn=9, bear=1), preset="deluxe-house", target=CORN)
    assert not isinstance(strategy.act(blocked), Ring)


def test_the_bear_that_blocks_a_corner_is_given_away() -> None:
    blocked = sight(cards(corn=9, bear=1), OpenOffer(2, 1), preset="deluxe-house", target=CORN)
    assert CAREFUL.act(blocked) == MakeOffer(cards(bear=1))


# ---------------------------------------------------------------------- lots


@pytest.mark.parametrize("strategy", [CAREFUL, CHASER, WILD], ids=lambda one: one.name)
@pytest.mark.parametrize("preset", ["basic", "classic", "deluxe", "tournament"])
def test_every_lot_is_in_the_hand_and_legal(strategy: Strategy, preset: str) -> None:
    chance = random.Random(f"{strategy.name} {preset}")
    rules = PRESETS[preset]
    legal = lots_of(8 if rules.deck == "deluxe8" else 7, rules.bull_and_bear, rules.mixed_lots)
    made = 0
    for _ in range(300):
        pack = [lane for lane in SUITS for _ in range(9)]
        pack += [BULL, BEAR] if rules.bull_and_bear else []
        chance.shuffle(pack)
        hand = sum(ONE[lane] for lane in pack[: chance.choice([9, 10])])
        asked = [OpenOffer(seat, chance.randint(1, 4)) for seat in (1, 2, 3)]
        seen = sight(
            hand, *asked[: chance.randint(0, 3)], preset=preset, seed=chance.randint(0, 99)
        )
        seen.memory.collect(strategy.target(seen), chance)
        act = strategy.act(seen)
        if isinstance(act, MakeOffer):
            made += 1
            assert holds(hand, act.lot)
            assert act.lot in legal
    assert made > 200


@pytest.mark.parametrize("strategy", [CAREFUL, CHASER], ids=lambda one: one.name)
def test_an_open_offer_is_answered_with_a_lot_of_its_size(strategy: Strategy) -> None:
    made = offers_made(
        strategy,
        lambda seed: sight(cards(wheat=4, barley=2, corn=3), OpenOffer(2, 2), seed=seed),
    )
    assert made
    assert {size(act.lot) for act in made} == {2}
    assert not any(count(act.lot, WHEAT) for act in made), "what is collected is kept"


def test_of_several_open_offers_the_largest_that_can_be_met_is_answered() -> None:
    seen = sight(
        cards(wheat=4, barley=2, corn=3), OpenOffer(1, 1), OpenOffer(2, 4), OpenOffer(3, 3)
    )
    assert CAREFUL.act(seen) == MakeOffer(cards(corn=3))


def test_a_suit_that_leaves_the_hand_altogether_goes_first() -> None:
    seen = sight(cards(wheat=4, barley=2, corn=3), OpenOffer(2, 2))
    assert CAREFUL.act(seen) == MakeOffer(cards(barley=2))


def test_nobody_bites_so_the_size_is_lowered_and_then_begins_anew() -> None:
    sizes = []
    for unanswered in range(5):
        memory = Memory(target=WHEAT, unanswered=unanswered)
        act = CAREFUL.act(sight(cards(wheat=5, corn=4), memory=memory))
        assert isinstance(act, MakeOffer)
        sizes.append(size(act.lot))
    assert sizes == [4, 3, 2, 1, 4]


def test_an_offer_that_has_not_stood_long_is_left_standing() -> None:
    assert CAREFUL.act(sight(cards(wheat=5, corn=4), may_call_out=False)) is None


def test_the_bull_is_kept_near_the_corner_only() -> None:
    far = offers_made(
        CAREFUL, lambda seed: sight(cards(wheat=5, bull=1, corn=3), OpenOffer(1, 1), seed=seed)
    )
    near = offers_made(
        CAREFUL, lambda seed: sight(cards(wheat=7, bull=1, corn=1), OpenOffer(1, 1), seed=seed)
    )
    assert far
    assert all(count(act.lot, BULL) for act in far)
    assert near
    assert not any(count(act.lot, BULL) for act in near)


# ---------------------------------------------------------------------- never back to the giver


def just_received(lot: int, ago_s: float = 0.1) -> Memory:
    return Memory(target=WHEAT, received=lot, giver=2, traded_at=NOW - ago_s)


@pytest.mark.parametrize("strategy", [CAREFUL, CHASER, WILD], ids=lambda one: one.name)
def test_the_lot_just_received_is_never_offered_to_its_giver(strategy: Strategy) -> None:
    lot = cards(corn=2)
    made = offers_made(
        strategy,
        lambda seed: sight(
            cards(wheat=7, corn=2), OpenOffer(2, 2), memory=just_received(lot), seed=seed
        ),
        seeds=200,
    )
    same = [act for act in made if act.lot == lot]
    assert all(act.directed_at in (1, 3) for act in same)
    assert same or strategy is WILD


@pytest.mark.parametrize("strategy", [CAREFUL, CHASER, WILD], ids=lambda one: one.name)
def test_where_offers_cannot_be_directed_it_is_held_back(strategy: Strategy) -> None:
    lot = cards(corn=1)
    made = offers_made(
        strategy,
        lambda seed: sight(
            cards(wheat=8, corn=1),
            OpenOffer(2, 1),
            memory=just_received(lot),
            preset="tournament",
            seed=seed,
        ),
    )
    assert all(act.lot != lot for act in made)


def test_after_a_while_it_is_a_lot_like_any_other() -> None:
    old = just_received(cards(corn=1), ago_s=JUST_RECEIVED_S)
    seen = sight(cards(wheat=8, corn=1), OpenOffer(2, 1), memory=old, preset="tournament")
    assert CAREFUL.act(seen) == MakeOffer(cards(corn=1))


def test_another_lot_of_the_size_is_given_instead() -> None:
    made = offers_made(
        CAREFUL,
        lambda seed: sight(
            cards(wheat=6, corn=1, rye=1, barley=1),
            OpenOffer(2, 1),
            memory=just_received(cards(corn=1)),
            seed=seed,
        ),
    )
    assert {act.lot for act in made} == {cards(rye=1), cards(barley=1)}


# ---------------------------------------------------------------------- what is collected


def test_it_collects_what_it_holds_most_of_and_of_equals_the_dearer() -> None:
    assert CAREFUL.target(sight(cards(wheat=2, corn=4, rye=3), target=hands.NO_LANE)) == CORN
    assert CAREFUL.target(sight(cards(wheat=4, corn=1, rye=4), target=hands.NO_LANE)) == WHEAT


def test_the_careful_one_changes_commodity_when_blocked_and_not_before() -> None:
    hand = cards(wheat=4, corn=3, rye=2)
    patient = Memory(target=WHEAT, fruitless=ALLOWED[4] - 1)
    blocked = Memory(target=WHEAT, fruitless=ALLOWED[4])
    assert CAREFUL.target(sight(hand, memory=patient)) == WHEAT
    assert CAREFUL.target(sight(hand, memory=blocked)) == CORN


def test_near_the_corner_it_waits_longer() -> None:
    seven = Memory(target=WHEAT, fruitless=ALLOWED[4] + 3)
    assert CAREFUL.target(sight(cards(wheat=7, corn=2), memory=seven)) == WHEAT


def test_what_was_given_up_is_not_taken_up_again_at_once() -> None:
    memory = Memory(target=CORN, shunned=WHEAT, fruitless=ALLOWED[4])
    assert CAREFUL.target(sight(cards(corn=4, wheat=4, rye=3), memory=memory)) == RYE


def test_a_new_target_is_given_its_time() -> None:
    memory = Memory(target=WHEAT, fruitless=9)
    memory.collect(WHEAT, random.Random(1))
    assert memory.fruitless == 9
    memory.collect(CORN, random.Random(1))
    assert (memory.fruitless, memory.shunned) == (0, WHEAT)


def test_two_who_are_blocked_by_each_other_do_not_give_in_together() -> None:
    chance = random.Random(1)
    patience = set()
    for _ in range(20):
        memory = Memory()
        memory.collect(WHEAT, chance)
        patience.add(memory.patience)
    assert len(patience) == 20


def test_the_chaser_runs_after_every_larger_suit() -> None:
    seen = sight(cards(wheat=4, corn=5), target=WHEAT)
    assert CHASER.target(seen) == CORN
    assert CAREFUL.target(seen) == WHEAT


def test_without_skill_choices_are_left_to_chance() -> None:
    hand = cards(wheat=4, barley=2, corn=3)
    made = offers_made(CAREFUL, lambda seed: sight(hand, OpenOffer(2, 2), skill=0.0, seed=seed))
    assert len({act.lot for act in made}) > 1


def test_rules_reach_strategies_unchanged() -> None:
    for rules in PRESETS.values():
        assert rules_of(rule_set_message(rules)) == rules


def test_only_a_view_is_given_to_a_strategy() -> None:
    """A view holds one hand. There is nothing in it from which another could be read."""
    view = view_of(cards(wheat=9))
    assert isinstance(view, TableView)
    for seat in view.seats:
        values = [getattr(seat, name) for name in names_of(SeatView)]
        assert values
        assert not any(isinstance(one, table_pb2.Cards) for one in values)
