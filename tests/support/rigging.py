"""Deals one or two trades from a corner, so that corners of every kind come often."""

from dataclasses import dataclass, replace
from random import Random

from engine.events import Corner
from engine.rules import Rules
from support.twin.cards import BEAR, BULL, Cards, to_packed
from support.twin.rounds import suits_in_play
from support.twin.table import Twin

NOT_BY_THE_RULES = 0.1
"""Share of plans for a kind of corner that the rules may not know."""


@dataclass
class Plan:
    """The corner a round is steered towards."""

    seat: int
    commodity: str
    kind: Corner


EIGHT = (Corner.EIGHT_AND_BULL, Corner.EIGHT_BULL_AND_BEAR)
WITH_BULL = (Corner.EIGHT_AND_BULL, Corner.EIGHT_BULL_AND_BEAR, Corner.NINE_AND_BULL)
WITH_BEAR = (Corner.EIGHT_BULL_AND_BEAR, Corner.NINE_AND_BEAR)
TEN_CARDS = (Corner.EIGHT_BULL_AND_BEAR, Corner.NINE_AND_BULL, Corner.NINE_AND_BEAR)


def possible_kind(rules: Rules, kind: Corner, size: int) -> bool:
    """Whether a hand of so many cards can be such a corner under the rules."""
    if kind in TEN_CARDS and size < 10:
        return False
    if kind in WITH_BULL + WITH_BEAR and not rules.bull_and_bear:
        return False
    if kind == Corner.NINE_AND_BEAR:
        return not rules.bear_blocks
    return kind != Corner.EIGHT_BULL_AND_BEAR or rules.eight_bull_and_bear


def some_plan(twin: Twin, rung: dict[Corner, int], random: Random) -> Plan:
    """The kind rung least so far among those the rules allow, for a seat that can hold it."""
    sizes = {seat: len(twin.chairs[seat].hand) for seat in twin.playing()}
    largest = max(sizes.values())
    rules = twin.rules
    if random.random() < NOT_BY_THE_RULES:
        rules = replace(rules, bear_blocks=False, eight_bull_and_bear=True)
    possible = [kind for kind in Corner if possible_kind(rules, kind, largest)]
    kind = min(possible, key=lambda kind: (rung[kind], kind))
    fitting = [seat for seat, size in sizes.items() if possible_kind(rules, kind, size)]
    return Plan(random.choice(fitting), random.choice(suits_in_play(twin)), kind)


def hands_near(twin: Twin, plan: Plan, random: Random) -> tuple[int, ...]:
    """All hands: the planned one short of a few cards, the others as they come."""
    size = len(twin.chairs[plan.seat].hand)
    wanted = 8 if plan.kind in EIGHT else 9
    own = [plan.commodity] * (wanted - random.choice([0, 1, 1, 2, 3]))
    own += [BULL] * (plan.kind in WITH_BULL) + [BEAR] * (plan.kind in WITH_BEAR)
    pack: Cards = [card for chair in twin.chairs for card in chair.hand]
    for card in own:
        pack.remove(card)
    random.shuffle(pack)
    pack.sort(key=lambda card: card in (plan.commodity, BULL, BEAR))
    own += [pack.pop(0) for _ in range(size - len(own))]
    random.shuffle(pack)
    hands = []
    for seat, chair in enumerate(twin.chairs):
        hand = own if seat == plan.seat else [pack.pop() for _ in chair.hand]
        hands.append(to_packed(twin.rules, hand))
    assert not pack
    return tuple(hands)
