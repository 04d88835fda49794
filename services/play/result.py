"""What is shown in the place of hand and seats when a round, or the game, is over."""

from dataclasses import replace
from typing import Final

from pit.v1 import table_pb2

from engine.value import value
from services.client.view import NOBODY, TableView
from services.play import story, words


@value
class Result:
    """A round that is over, or the game."""

    title: str = ""
    shown: str = ""
    """The cards that were shown at the corner."""
    bull_seat: int = NOBODY
    bear_seat: int = NOBODY
    deltas: tuple[int, ...] = ()
    """Points of the round by seat."""
    places: tuple[int, ...] = ()
    """By seat, once the game is over; 0 for who does not play."""
    corrected: tuple[int, ...] = ()
    """By seat, what an operator has added since the round's end."""


NO_RESULT: Final = Result()
CHANGING: Final = frozenset(
    {"cornered", "round_scored", "round_void", "game_ended", "score_adjusted"}
)
"""Events that a result is made of."""


def after(old: Result, event: table_pb2.Event, view: TableView) -> Result:
    """The result with one more event of `CHANGING`."""
    match event.WhichOneof("kind"):
        case "cornered":
            return _cornered(event.cornered, view)
        case "round_scored":
            return replace(old, deltas=tuple(event.round_scored.deltas))
        case "round_void":
            return _void(event.round_void)
        case "game_ended":
            places = tuple(event.game_ended.places)
            title = f"GAME OVER, {first(places, view)}. {old.title}"
            return replace(old, title=title, places=places)
        case "score_adjusted":
            return _corrected(old, event.score_adjusted, view)
    return old


def in_short(result: Result, view: TableView) -> str:
    """The round in one line, for when its result has made way for the next one."""
    if not result.title or result.places:
        return ""
    own = result.deltas[view.seat] if view.seat != NOBODY and result.deltas else 0
    points = f"; you {own:+d}" if own else ""
    return f"Last round: {result.title}{points}"


def first(places: tuple[int, ...], view: TableView) -> str:
    """`first: YOU`, or whoever it is."""
    seats = [seat for seat, place in enumerate(places) if place == 1]
    who = " and ".join("YOU" if seat == view.seat else story.player(view, seat) for seat in seats)
    return f"first: {who or 'nobody'}"


def _cornered(cornered: table_pb2.Cornered, view: TableView) -> Result:
    own = cornered.seat == view.seat
    who = "YOU HAVE" if own else f"{story.player(view, cornered.seat)} has"
    name = words.names(view.deck)[view.deck.lane[cornered.commodity]]
    return Result(
        f"{who} the CORNER ON {name.upper()}: {words.CORNERS[cornered.kind]}",
        words.cards(view.deck.pack(cornered.hand), view.deck),
        cornered.bull_seat if cornered.HasField("bull_seat") else NOBODY,
        cornered.bear_seat if cornered.HasField("bear_seat") else NOBODY,
    )


def _void(void: table_pb2.RoundVoid) -> Result:
    why = ": no corner before the time was up"
    if void.operator or void.reason:
        why = f" {words.by(void.operator, void.reason)}"
    return Result(f"Round {void.round} is VOID{why}", deltas=tuple(void.deltas))


def _corrected(old: Result, adjusted: table_pb2.ScoreAdjusted, view: TableView) -> Result:
    if not old.title:
        return old
    corrected = list(old.corrected or [0] * len(view.seats))
    corrected[adjusted.seat] += adjusted.delta
    places = tuple(adjusted.places) or old.places
    title = old.title
    if old.places and places != old.places:
        title = f"CORRECTED, {first(places, view)}. {title.partition('. ')[2]}"
    return replace(old, title=title, places=places, corrected=tuple(corrected))
