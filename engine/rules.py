"""Rule sets: every switch by name, and the presets of the rule sheets.

Three sheets describe the game and disagree. A: the out-of-print review (8 suits, 3-8 players).
B: the seven-suit rule sheet. C: the how-to directions. Where they differ there is a switch, and
each sheet is a preset; `engine/RULES.md` holds the table with its sources.
"""

from dataclasses import fields, replace
from enum import IntEnum
from hashlib import sha256
from typing import Final

from engine.value import value


class NextDealer(IntEnum):
    WINNER = 1
    """Who cornered last deals next."""
    NEXT_SEAT = 2


class VoidPenalty(IntEnum):
    NONE = 1
    IDLE = 2
    """A seat idle for more than half of a void round pays `idle_fine`."""


@value
class Rules:
    """One rule set. Times in seconds, as the sheets give them; points as integers."""

    deck: str
    """Key of `engine.cards.DECKS`."""
    suits: tuple[str, ...]
    """Commodities in play by name when fewer than the deck's; empty: the most valuable ones."""
    seats_min: int
    seats_max: int
    bull_and_bear: bool
    sorting_pause_s: int
    opens_when_sorted: bool
    """The exchange opens before the end of the pause when all hands are sorted."""
    mixed_lots: bool
    """A lot may hold different commodities."""
    eight_and_bull_times: int
    """Corner of eight and the Bull pays the commodity's value this many times."""
    nine_and_bull_times: int
    bear_blocks: bool
    """Nine of a suit, or eight and the Bull, are no corner while the Bear is in hand."""
    eight_bull_and_bear: bool
    """Eight, the Bull and the Bear together are a corner."""
    bull_penalty: int
    bear_penalty: int
    both_penalty: int
    """Paid by who holds the Bull, the Bear, or both, when another corners."""
    cornerer_pays: bool
    """Who corners with the Bear in hand pays the penalty as held."""
    below_zero: bool
    """Scores may be negative."""
    false_bell_fine: int
    false_bell_lock_s: int
    """How long a seat that rang without a corner may not ring again."""
    next_dealer: int
    target: int
    """The game is won at this many points."""
    scored_rounds_max: int
    """The highest score wins after this many rounds with a corner; 0 for no such end."""
    rounds_max: int
    """The same, void rounds counted too; 0 for no such end."""
    round_cap_s: int
    idle_s: int
    away_grace_s: int
    void_penalty: int
    idle_fine: int
    directed_offers: bool
