"""The facts of a round as lines a card player can read."""

from collections.abc import Iterator, Sequence

from engine.cards import BEAR, BULL, counts
from engine.events import Corner
from engine.rules import Rules
from services.archive.facts import Holding, Moment, Reach, RoundFacts, Swap, Wandering, lane_name
from services.cli.story import CORNERS


def fact_lines(facts: RoundFacts) -> list[str]:
    """The first line says which round; the others stand under it."""
    end = "void" if facts.void else "scored"
    head = f"round {facts.round} in hindsight: {facts.trades} trades, {end} after "
    return [head + f"{_seconds(facts.ended_ms)} s", *(f"  {line}" for line in _lines(facts))]


def _lines(facts: RoundFacts) -> Iterator[str]:
    for name, holdings in (("Bull", facts.bull), ("Bear", facts.bear)):
        if holdings:
            yield f"{name:<9} {_holdings(holdings)}"
    for wandering in facts.wanderings:
        yield f"{lane_name(facts.rules, wandering.lane):<9} {_wandering(wandering)}"
    for swap in facts.swaps:
        yield f"{'in vain':<9} {_swap(facts.rules, swap)}"
    if facts.reach is not None:
        yield f"{'corner':<9} {_reach(facts.rules, facts.reach)}"


def _seconds(ms: int) -> str:
    return f"{ms / 1_000:.1f}"


def _holdings(holdings: Sequence[Holding]) -> str:
    return ", ".join(
        f"seat {one.seat} for {_seconds(one.to_ms - one.from_ms)} s" for one in holdings
    )


def _wandering(wandering: Wandering) -> str:
    if not wandering.moves:
        return "stayed where it was"
    moves = ", ".join(
        f"{move.cards} from seat {move.giver} to {move.taker}" for move in wandering.moves
    )
    return f"{wandering.cards} cards in {wandering.trades} trades: {moves}"


def _swap(rules: Rules, swap: Swap) -> str:
    names = {BULL: "Bull", BEAR: "Bear"}
    cards = ", ".join(
        names.get(lane) or f"{number} {lane_name(rules, lane)}"
        for lane, number in enumerate(counts(swap.cards))
        if number
    )
    return (
        f"seats {swap.seat} and {swap.partner} each gave {cards} "
        f"at {_seconds(swap.at_ms)} s (event {swap.seq})"
    )


def _reach(rules: Rules, reach: Reach) -> str:
    return (
        f"seat {reach.seat}, {lane_name(rules, reach.lane)}, {CORNERS[Corner(reach.kind)]}: "
        f"one trade away {_when(reach.near)}, in hand {_when(reach.held)}, rung {_when(reach.rang)}"
    )


def _when(moment: Moment) -> str:
    return f"at {_seconds(moment.at_ms)} s (event {moment.seq})"
