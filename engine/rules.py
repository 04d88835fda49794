"""Rule sets: every switch by name, and the presets of the rule sheets.

Three sheets describe the game and disagree. A: the out-of-print review (8 suits, 3-8 players).
B: the seven-suit rule sheet. C: the how-to directions. Where they differ there is a switch, and
each sheet is a preset; `engine/RULES.md` holds the table with its sources.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from enum import IntEnum
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final

from engine import limits
from engine.cards import DECKS
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


BASIC: Final = Rules(
    deck="classic7",
    suits=(),
    seats_min=3,
    seats_max=7,
    bull_and_bear=False,
    sorting_pause_s=30,
    opens_when_sorted=False,
    mixed_lots=False,
    eight_and_bull_times=1,
    nine_and_bull_times=2,
    bear_blocks=False,
    eight_bull_and_bear=False,
    bull_penalty=20,
    bear_penalty=20,
    both_penalty=40,
    cornerer_pays=False,
    below_zero=True,
    false_bell_fine=0,
    false_bell_lock_s=0,
    next_dealer=NextDealer.WINNER,
    target=500,
    scored_rounds_max=0,
    rounds_max=0,
    round_cap_s=300,
    idle_s=20,
    away_grace_s=30,
    void_penalty=VoidPenalty.NONE,
    idle_fine=20,
    directed_offers=True,
)
"""Sheet B without Bull and Bear."""

CLASSIC: Final = replace(BASIC, bull_and_bear=True, both_penalty=50)
"""Sheet B with Bull and Bear."""

DELUXE_BASIC: Final = replace(
    BASIC,
    deck="deluxe8",
    seats_max=8,
    sorting_pause_s=60,
    opens_when_sorted=True,
    mixed_lots=True,
)
"""Sheet A without Bull and Bear."""

DELUXE: Final = replace(DELUXE_BASIC, bull_and_bear=True, eight_and_bull_times=2, bear_blocks=True)
"""Sheet A with Bull and Bear: any corner with the Bull is doubled."""

DELUXE_HOUSE: Final = replace(DELUXE, mixed_lots=False, eight_and_bull_times=1)
"""Sheet A's deck with the one-commodity lots and the single eight-and-Bull of the others."""

HOUSEHOLD: Final = replace(
    BASIC,
    bull_and_bear=True,
    sorting_pause_s=60,
    opens_when_sorted=True,
    eight_bull_and_bear=True,
    cornerer_pays=True,
)
"""Sheet C, always with Bull and Bear."""

TOURNAMENT: Final = replace(
    DELUXE_HOUSE,
    seats_min=4,
    sorting_pause_s=15,
    opens_when_sorted=False,
    false_bell_fine=20,
    false_bell_lock_s=3,
    next_dealer=NextDealer.NEXT_SEAT,
    scored_rounds_max=12,
    rounds_max=16,
    round_cap_s=120,
    idle_s=12,
    away_grace_s=15,
    void_penalty=VoidPenalty.IDLE,
    directed_offers=False,
)
"""Ours: no arranged swaps, a price on false bells, an end in sight."""

BLITZ: Final = replace(
    CLASSIC,
    sorting_pause_s=5,
    opens_when_sorted=True,
    eight_bull_and_bear=True,
    both_penalty=40,
    target=200,
    round_cap_s=90,
    idle_s=8,
    away_grace_s=8,
    void_penalty=VoidPenalty.IDLE,
)
"""Ours: a game in a coffee break."""

PRESETS: Final[dict[str, Rules]] = {
    "basic": BASIC,
    "classic": CLASSIC,
    "deluxe-basic": DELUXE_BASIC,
    "deluxe": DELUXE,
    "deluxe-house": DELUXE_HOUSE,
    "household": HOUSEHOLD,
    "tournament": TOURNAMENT,
    "blitz": BLITZ,
}


SWITCHES: Final = tuple(field.name for field in fields(Rules))
RULES_KEPT: Final = 64
"""Sets of rules of which what was worked out is remembered: the presets, and what people mixed
lately."""

switches: Final[Callable[[Rules], tuple[Any, ...]]] = attrgetter(*SWITCHES)
"""All switches in order, equal for equal rules: by this, what depends on rules alone is kept."""


def preset_name(rules: Rules) -> str:
    """The preset these rules equal, or an empty string."""
    return _preset_name(switches(rules))


@lru_cache(maxsize=RULES_KEPT)
def _preset_name(held: tuple[Any, ...]) -> str:
    return next((name for name, preset in PRESETS.items() if switches(preset) == held), "")


def rules_hash(rules: Rules) -> str:
    """Twelve hexadecimal digits that name the rules' content, whoever wrote them down."""
    return _rules_hash(switches(rules))


@lru_cache(maxsize=RULES_KEPT)
def _rules_hash(held: tuple[Any, ...]) -> str:
    pairs = zip(SWITCHES, held, strict=True)
    text = ";".join(f"{name}={_plain(switch)}" for name, switch in pairs)
    return sha256(text.encode()).hexdigest()[:12]


def _plain(switch: object) -> str:
    if isinstance(switch, tuple):
        return ",".join(switch)
    return switch if isinstance(switch, str) else str(int(switch))  # type: ignore[call-overload]


BOUNDS: Final[dict[str, tuple[int, int]]] = {
    "seats_min": (limits.SEATS_MIN, limits.SEATS_MAX),
    "seats_max": (limits.SEATS_MIN, limits.SEATS_MAX),
    "sorting_pause_s": (0, limits.SORTING_PAUSE_MAX_S),
    "eight_and_bull_times": (1, limits.TIMES_MAX),
    "nine_and_bull_times": (1, limits.TIMES_MAX),
    "bull_penalty": (0, limits.PENALTY_MAX),
    "bear_penalty": (0, limits.PENALTY_MAX),
    "both_penalty": (0, limits.PENALTY_MAX),
    "false_bell_fine": (0, limits.PENALTY_MAX),
    "false_bell_lock_s": (0, limits.FALSE_BELL_LOCK_MAX_S),
    "next_dealer": (min(NextDealer), max(NextDealer)),
    "target": (1, limits.TARGET_MAX),
    "scored_rounds_max": (0, limits.ROUNDS_MAX),
    "rounds_max": (0, limits.ROUNDS_MAX),
    "round_cap_s": (limits.ROUND_CAP_MIN_S, limits.ROUND_CAP_MAX_S),
    "idle_s": (limits.IDLE_MIN_S, limits.IDLE_MAX_S),
    "away_grace_s": (0, limits.AWAY_GRACE_MAX_S),
    "void_penalty": (min(VoidPenalty), max(VoidPenalty)),
    "idle_fine": (0, limits.PENALTY_MAX),
}
"""Least and greatest value of every switch that is a number; the reasons are in `limits`."""


def suits_max(rules: Rules) -> int:
    """How many commodities there are to play with: the most seats a table may have."""
    return len(rules.suits) or len(DECKS[rules.deck])


def problems(rules: Rules) -> tuple[str, ...]:
    """What is wrong with a mixture of switches: names of switches, each with its reason."""
    if rules.deck not in DECKS:
        return (f"deck: must be one of {', '.join(DECKS)}",)
    found = [
        f"{name}: must be {least}..{most}"
        for name, (least, most) in BOUNDS.items()
        if not least <= getattr(rules, name) <= most
    ]
    names = [name for name, _ in DECKS[rules.deck]]
    if not set(rules.suits) <= set(names):
        found.append(f"suits: must be of {', '.join(names)}")
    if len(set(rules.suits)) != len(rules.suits):
        found.append("suits: each commodity once")
    if rules.seats_min > rules.seats_max:
        found.append("seats_min: more than seats_max")
    if rules.seats_min > suits_max(rules):
        found.append("suits: fewer than seats_min players need")
    if rules.seats_max > len(names):
        found.append(f"seats_max: the deck has {len(names)} commodities")
    if rules.bear_blocks and rules.eight_bull_and_bear:
        found.append("eight_bull_and_bear: cannot be a corner where the Bear blocks one")
    return tuple(found)
