"""The rules of a table in words: what pays, what costs, what the clocks do."""

import textwrap
from typing import Final

from engine.rules import Rules
from services.client.view import TableView
from services.play import words

LINE_WIDTH: Final = 62
"""What is left beside the heads of the lines."""


def rules_card(view: TableView) -> str:
    """At most 21 lines of 76 columns."""
    rules = view.rules
    parts = [
        ("Table", [view.name]),
        ("Rules", _name(view)),
        ("Corners", _corners(rules)),
        ("Others pay", _penalties(rules)),
        ("Lots", _lots(rules)),
        ("The game", _game(rules)),
        ("The clock", _clock(rules)),
        ("Values", _values(view)),
    ]
    lines = [
        f"{head if not place else '':<11} {line}"
        for head, found in parts
        for place, line in enumerate(line for text in found for line in _wrapped(text))
    ]
    return "\n".join([*lines, "", "Any key closes this."])


def _name(view: TableView) -> list[str]:
    if view.rule_set.preset:
        return [view.rule_set.preset]
    nearest = words.nearest(view.rules)
    changed = ", ".join(words.changes(view.rules, nearest))
    return [f"{nearest}, but for {changed}"]


def _corners(rules: Rules) -> list[str]:
    lines = ["nine of a commodity pay its value"]
    if rules.bull_and_bear:
        lines.append(
            f"eight and the Bull pay it {_times(rules.eight_and_bull_times)}, "
            f"nine and the Bull {_times(rules.nine_and_bull_times)}"
        )
        whether = "are a corner" if rules.eight_bull_and_bear else "are no corner"
        lines.append(f"eight, the Bull and the Bear {whether}")
        blocks = "is in the way of the bell" if rules.bear_blocks else "is no hindrance"
        lines.append(f"the Bear beside nine {blocks}")
    return lines


def _times(times: int) -> str:
    return {1: "once", 2: "twice"}.get(times, f"{times} times")


def _penalties(rules: Rules) -> list[str]:
    if not rules.bull_and_bear:
        return ["nothing; Bull and Bear are not in play"]
    held = f"{rules.bull_penalty} for the Bull, {rules.bear_penalty} for the Bear"
    lines = [f"{held}, {rules.both_penalty} for both"]
    if rules.cornerer_pays:
        lines.append("who rings with the Bear in hand pays, too")
    if not rules.below_zero:
        lines.append("no score falls below zero")
    return lines


def _lots(rules: Rules) -> list[str]:
    kinds = "of any kinds" if rules.mixed_lots else "of one commodity"
    lines = [f"1 to 4 cards {kinds}"]
    if rules.bull_and_bear and not rules.mixed_lots:
        lines[0] += "; Bull and Bear may each take a card's place"
    if not rules.directed_offers:
        lines.append("an answer may meet another offer of its size: none is directed")
    return lines


def _game(rules: Rules) -> list[str]:
    lines = [f"to {rules.target} points"]
    if rules.scored_rounds_max:
        lines[0] += f", or the most after {rules.scored_rounds_max} corners"
    if rules.false_bell_fine:
        lines.append(f"a false bell costs {rules.false_bell_fine}; SPACE rings only with a corner")
    return lines


def _clock(rules: Rules) -> list[str]:
    opens = "opens when all are ready, at the latest" if rules.opens_when_sorted else "opens"
    return [
        f"trading {opens} {words.span(rules.sorting_pause_s)} after the deal",
        f"a round without a corner is void after {words.span(rules.round_cap_s)}",
        f"no move for {words.span(rules.idle_s)} counts as away; "
        f"{words.span(rules.away_grace_s)} later a stand-in plays",
    ]


def _values(view: TableView) -> list[str]:
    suits = view.suits or range(len(view.deck.values))
    names = words.names(view.deck)
    return [", ".join(f"{names[lane]} {view.deck.values[lane]}" for lane in suits)]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, LINE_WIDTH)
