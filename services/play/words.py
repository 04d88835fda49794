"""Words for people: cards, corners, ends, and what to do about a refusal."""

from dataclasses import fields
from typing import Final

from pit.v1 import table_pb2

from engine.cards import BEAR, BULL, counts
from engine.events import Corner
from engine.rules import PRESETS, Rules
from services.client.deck import Deck

CORNERS: Final = {
    int(Corner.EIGHT_AND_BULL): "eight and the Bull",
    int(Corner.EIGHT_BULL_AND_BEAR): "eight, the Bull and the Bear",
    int(Corner.NINE): "nine",
    int(Corner.NINE_AND_BULL): "nine and the Bull",
    int(Corner.NINE_AND_BEAR): "nine, beside the Bear",
}
GAME_ENDS: Final[dict[int, str]] = {
    table_pb2.GAME_END_WON: "the game is won",
    table_pb2.GAME_END_ROUNDS_PLAYED: "all rounds are played",
    table_pb2.GAME_END_SHARED: "the first place is shared",
    table_pb2.GAME_END_STALLED: "three rounds without a corner: the game is given up",
    table_pb2.GAME_END_TOO_FEW_PLAYERS: "too few players are left",
    table_pb2.GAME_END_NO_PEOPLE: "no person is left at the table",
    table_pb2.GAME_END_NEVER_STARTED: "the game never started",
    table_pb2.GAME_END_CLOSED: "an operator ended the game",
}
PHRASES: Final[dict[int, str]] = {
    table_pb2.PHRASE_ONE: "One!",
    table_pb2.PHRASE_TWO: "Two!",
    table_pb2.PHRASE_THREE: "Three!",
    table_pb2.PHRASE_FOUR: "Four!",
    table_pb2.PHRASE_HURRY: "Hurry!",
    table_pb2.PHRASE_WELL_PLAYED: "Well played",
    table_pb2.PHRASE_SORRY: "Sorry",
    table_pb2.PHRASE_THANKS: "Thanks",
}
PHASES: Final[dict[int, str]] = {
    table_pb2.PHASE_SEATING: "waiting for players",
    table_pb2.PHASE_SORTING: "sort your hand",
    table_pb2.PHASE_OPEN: "OPEN",
    table_pb2.PHASE_BETWEEN: "round over",
    table_pb2.PHASE_ENDED: "GAME OVER",
    table_pb2.PHASE_CLOSED: "closed",
}
REFUSALS: Final = {
    "NO_PARTNER": "Too late: that offer is gone. Nothing changed; wait for another or call.",
    "CARDS_NOT_IN_HAND": "A trade was quicker: you hold too few of these now. Choose again.",
    "OFFER_TRADED": "Too late to take it back: your offer has just been traded.",
    "NOTHING_TO_WITHDRAW": "You have no open offer to take back.",
    "NO_CORNER": "No corner: your hand changed before the bell. Look again.",
    "ROUND_OVER": "The round was already over: somebody rang before you.",
    "STALE_ROUND": "That was meant for the last round; nothing was done. Look at your new hand.",
    "NOT_STARTED": "The game has not started yet. r says you are ready.",
    "NOT_NOW": "Nothing waits for your r just now.",
    "NOT_OWNER": "Only the owner of the table may start it. Wait, or say you are ready.",
    "ALREADY_STARTED": "The game has started already.",
    "RATE_LIMITED": "Too quick for the exchange: wait a second and press again.",
    "TABLE_CLOSED": "The table is closed. q leaves.",
    "SEAT_FORFEITED": "Your seat was forfeited while you were away. q leaves.",
    "DIRECTED_AT_EMPTY_SEAT": "Nobody plays that seat just now. TAB chooses another offer.",
    "TABLE_FROZEN": "The table is frozen by its operator; wait until the game goes on.",
    "NOT_SEATED": "You do not sit at this table any more. q leaves.",
    "TABLE_STOPPED": "This table is stopped: its operator must look at it. q leaves.",
}
"""By reason of the exchange's errors table; those with parameters are in `refusal`."""


def refusal(reason: str, parameters: dict[str, str], message: str) -> str:
    """Why a key did nothing, and what to do."""
    wait_s = int(parameters.get("wait_ms", "0") or 0) / 1_000
    if reason == "NOT_OPEN":
        return f"Trading is not open yet: it opens in {wait_s:.1f} s."
    if reason == "BELL_LOCKED":
        return f"The bell is locked for you for {wait_s:.1f} s more."
    if reason == "ROUND_OVER" and int(parameters.get("late_ms", "0") or 0):
        return f"The round was over {parameters['late_ms']} ms before your command came."
    if reason == "TOO_FEW_PLAYERS":
        return f"The game needs {parameters.get('min', 'more')} players. Wait for them."
    return REFUSALS.get(reason, f"The exchange refused: {message or reason}. Nothing changed.")


def names(deck: Deck) -> tuple[str, ...]:
    """The deck's commodities by lane."""
    return tuple(
        table_pb2.Commodity.Name(commodity).removeprefix("COMMODITY_").lower()
        for commodity in deck.commodities
    )


def rules_name(rule_set: table_pb2.RuleSet, rules: Rules) -> str:
    """The preset's name; of rules with switches of their own, the nearest preset's and a star."""
    if rule_set.preset:
        return rule_set.preset
    return f"{nearest(rules)}*"


def nearest(rules: Rules) -> str:
    """The preset that differs in the fewest switches."""
    return min(PRESETS, key=lambda name: len(changes(rules, name)))


def changes(rules: Rules, preset: str) -> list[str]:
    """Switches in which the rules differ from a preset."""
    usual = PRESETS[preset]
    return [
        field.name
        for field in fields(Rules)
        if getattr(rules, field.name) != getattr(usual, field.name)
    ]


def lane_name(deck: Deck, lane: int) -> str:
    """A commodity, the Bull or the Bear."""
    return {BULL: "Bull", BEAR: "Bear"}.get(lane) or names(deck)[lane]


def by(operator: str, reason: str) -> str:
    """`by Ann (operator): wrong deal`."""
    who = f"by {operator} (operator)" if operator else "by an operator"
    return f"{who}: {reason}" if reason else who


def cards(packed: int, deck: Deck) -> str:
    """`2 rye, the Bear`."""
    parts = []
    each = counts(packed)
    for lane, name in enumerate(names(deck)):
        if each[lane]:
            parts.append(f"{each[lane]} {name}")
    if each[BULL]:
        parts.append("the Bull")
    if each[BEAR]:
        parts.append("the Bear")
    return ", ".join(parts) or "nothing"


def span(seconds: int) -> str:
    """`45 s`, `10 min`, `1 min 30 s`."""
    minutes, rest = divmod(seconds, 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def clock(remaining_us: int) -> str:
    """`1:05`, and tenths below ten seconds."""
    remaining_s = max(0.0, remaining_us / 1_000_000)
    if remaining_s < 10:
        return f"{remaining_s:.1f} s"
    return f"{int(remaining_s) // 60}:{int(remaining_s) % 60:02d}"
