"""Rule sets: every switch by name, on both sides."""

from dataclasses import fields, replace
from functools import cache
from typing import Final

from pit.v1 import table_pb2

from engine.cards import DECKS
from engine.rules import PRESETS, Rules, problems, rules_hash
from services.gateway.convert.cards import (
    DECK_BY_NAME,
    DECK_NAMES,
    commodity_number,
    commodity_word,
    deck_of,
)
from services.gateway.errors import Refusal, Refused

_SWITCHES: Final = tuple(
    field.name for field in fields(Rules) if field.name not in {"deck", "suits"}
)


@cache
def _preset_names() -> dict[str, str]:
    return {rules_hash(rules): name for name, rules in PRESETS.items()}


def preset_name(rules: Rules) -> str:
    """Name of the preset these rules equal, else empty."""
    return _preset_names().get(rules_hash(rules), "")


def rules_message(rules: Rules) -> table_pb2.Rules:
    message = table_pb2.Rules(
        deck=DECK_BY_NAME[rules.deck], suits=[commodity_number(name) for name in rules.suits]
    )
    for name in _SWITCHES:
        setattr(message, name, getattr(rules, name))
    return message


def rule_set_message(rules: Rules) -> table_pb2.RuleSet:
    return table_pb2.RuleSet(
        preset=preset_name(rules),
        hash=rules_hash(rules),
        rules=rules_message(rules),
        values=deck_of(rules).values,
    )


def rules_asked_for(preset: str, switches: table_pb2.Rules) -> Rules:
    """The preset with the switches set one by one. Raises `Refused`."""
    base = PRESETS.get(preset)
    if base is None:
        raise Refused.field("preset", "one of " + ", ".join(PRESETS))
    changes: dict[str, object] = {}
    if switches.HasField("deck"):
        if switches.deck not in DECK_NAMES:
            raise Refused.field("switches.deck", "no such deck")
        changes["deck"] = DECK_NAMES[switches.deck]
    deck = str(changes.get("deck", base.deck))
    if switches.suits:
        changes["suits"] = _suits(switches, deck)
    for name in _SWITCHES:
        if switches.HasField(name):  # type: ignore[arg-type]
            changes[name] = getattr(switches, name)
    rules = replace(base, **changes)  # type: ignore[arg-type]
    wrong = problems(rules)
    if wrong:
        raise Refused(Refusal.RULES_CONTRADICT, problem="; ".join(wrong))
    return rules


def _suits(switches: table_pb2.Rules, deck: str) -> tuple[str, ...]:
    known = {word for word, _ in DECKS[deck]}
    numbers = set(table_pb2.Commodity.values())
    if any(number not in numbers for number in switches.suits):
        raise Refused.field("switches.suits", "no such commodity")
    words = tuple(commodity_word(number) for number in switches.suits)
    if not known.issuperset(words) or len(set(words)) != len(words):
        raise Refused.field("switches.suits", "commodities of the deck, each once")
    return words
