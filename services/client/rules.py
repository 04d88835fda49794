"""The rules of a table, from the API's message."""

from dataclasses import fields
from functools import lru_cache
from typing import Final

from pit.v1 import table_pb2

from engine.rules import Rules

_SWITCHES: Final = tuple(
    field.name for field in fields(Rules) if field.name not in {"deck", "suits"}
)


@lru_cache(maxsize=64)
def _rules(serialised: bytes) -> Rules:
    message = table_pb2.Rules.FromString(serialised)
    return Rules(
        deck=table_pb2.Deck.Name(message.deck).removeprefix("DECK_").lower(),
        suits=tuple(
            table_pb2.Commodity.Name(suit).removeprefix("COMMODITY_").lower()
            for suit in message.suits
        ),
        **{name: getattr(message, name) for name in _SWITCHES},
    )


def rules_of(rule_set: table_pb2.RuleSet) -> Rules:
    """Every switch by name; one object for all tables with the same rules."""
    return _rules(rule_set.rules.SerializeToString(deterministic=True))
