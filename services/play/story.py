"""What has just happened, in plain words: one event at a time."""

from collections.abc import Callable
from typing import Any, Final

from pit.v1 import table_pb2

from services.client.happenings import Happened
from services.client.view import NOBODY, TableView
from services.play import words

READY_FOR: Final = {
    table_pb2.READY_FOR_START: "the game",
    table_pb2.READY_FOR_OPEN: "trading",
    table_pb2.READY_FOR_NEXT: "the next round",
}


def player(view: TableView, seat: int) -> str:
    """A seat's name for others; a bot on a seat of its own goes by its seat."""
    if seat == NOBODY:
        return "nobody"
    return view.seats[seat].display_name or f"Bot {seat}"


def others(view: TableView) -> list[int]:
    """Seats of the other players; for a spectator, of all."""
    return [
        seat for seat, shown in enumerate(view.seats) if seat != view.seat and not shown.dropped
    ]


def standing(view: TableView) -> str:
    """`you 200, Bot 1 0`, the highest first."""
    ranked = sorted(
        (-shown.score, seat) for seat, shown in enumerate(view.seats) if not shown.dropped
    )
    return ", ".join(
        f"{'you' if seat == view.seat else player(view, seat)} {-score}" for score, seat in ranked
    )


def subject(view: TableView, seat: int, verb: str, own: str) -> str:
    """`You ring` or `Bo rings`."""
    return f"You {own}" if seat == view.seat else f"{player(view, seat)} {verb}"


def tell(happened: Happened, view: TableView) -> str:
    """The event in one line; empty for what needs no words. The view may be newer already."""
    kind = happened.event.WhichOneof("kind")
    teller = _TELLERS.get(kind or "")
    return teller(getattr(happened.event, kind), happened, view) if teller and kind else ""


# ---------------------------------------------------------------------- trading


def _offer_opened(event: table_pb2.OfferOpened, happened: Happened, view: TableView) -> str:
    own = event.seat == view.seat
    towards = ""
    if event.HasField("directed_at"):
        at = event.directed_at
        towards = ", to you alone" if at == view.seat else f", to {player(view, at)} alone"
    if own:
        lot = words.cards(view.deck.pack(happened.received), view.deck)
        return f"You call {event.size}: {lot}{towards}"
    return f"{player(view, event.seat)} calls {event.size}{towards}"


def _offer_ended(event: table_pb2.OfferEnded, _: Happened, view: TableView) -> str:
    whose = "Your offer" if event.seat == view.seat else f"{player(view, event.seat)}'s offer"
    return {
        table_pb2.OFFER_END_WITHDRAWN: f"{whose} is taken back",
        table_pb2.OFFER_END_EXPIRED: f"{whose} has run out",
        table_pb2.OFFER_END_STREAM_LOST: f"{whose} ends: the connection is gone",
        table_pb2.OFFER_END_IDLE: f"{whose} ends: nobody moved there for too long",
    }.get(event.end, "")


def _traded(event: table_pb2.Traded, happened: Happened, view: TableView) -> str:
    first, second = event.seat, event.partner
    if view.seat not in (first, second):
        return f"{player(view, first)} and {player(view, second)} traded {event.size}"
    other = second if view.seat == first else first
    gave = words.cards(view.deck.pack(happened.given), view.deck)
    got = words.cards(view.deck.pack(happened.received), view.deck)
    if gave == got:
        return f"{player(view, other)} traded {event.size} with you: {gave} for just the same"
    return f"{player(view, other)} traded {event.size}: you gave {gave}, got {got}"


def _bell_refused(event: table_pb2.BellRefused, _: Happened, view: TableView) -> str:
    who = subject(view, event.seat, "rings", "ring")
    fine = f" and pay{'' if event.seat == view.seat else 's'} {event.fine}" if event.fine else ""
    return f"{who} without a corner{fine}"


def _cornered(event: table_pb2.Cornered, _: Happened, view: TableView) -> str:
    who = subject(view, event.seat, "RINGS", "RING")
    name = words.names(view.deck)[view.deck.lane[event.commodity]]
    held = [
        f"{subject(view, seat, 'held', 'held')} the {animal}"
        for animal, seat in (
            ("Bull", event.bull_seat if event.HasField("bull_seat") else event.seat),
            ("Bear", event.bear_seat if event.HasField("bear_seat") else event.seat),
        )
        if seat != event.seat
    ]
    holders = f" {', '.join(held)}" if held else ""
    return f"{who}: corner on {name} ({words.CORNERS[event.kind]})!{holders}"


# ---------------------------------------------------------------------- rounds


def _dealt(event: table_pb2.Dealt, _: Happened, view: TableView) -> str:
    names = words.names(view.deck)
    suits = ", ".join(names[lane] for lane in view.deck.lanes(event.suits))
    dealer = "you deal" if event.dealer == view.seat else f"{player(view, event.dealer)} deals"
    return f"Round {event.round}: {dealer} {suits}"


def _exchange_opened(*_: object) -> str:
    return "THE EXCHANGE IS OPEN"


def _round_scored(event: table_pb2.RoundScored, _: Happened, view: TableView) -> str:
    deltas = [
        f"{'you' if seat == view.seat else player(view, seat)} {delta:+d}"
        for seat, delta in enumerate(event.deltas)
        if delta
    ]
    return f"Round {event.round} is scored: {', '.join(deltas) or 'nobody moves'}"


def _round_void(event: table_pb2.RoundVoid, *_: object) -> str:
    if event.operator or event.reason:
        return f"Round {event.round} is VOIDED {words.by(event.operator, event.reason)}"
    return f"Round {event.round} is void: time ran out without a corner, nobody scores for one"


def _game_ended(event: table_pb2.GameEnded, _: Happened, view: TableView) -> str:
    first = [seat for seat, place in enumerate(event.places) if place == 1]
    who = " and ".join("you" if seat == view.seat else player(view, seat) for seat in first)
    winner = f"; first place: {who}" if who else ""
    return f"GAME OVER: {words.GAME_ENDS.get(event.end, 'it is over')}{winner}"


# ---------------------------------------------------------------------- seats


def _seat_taken(event: table_pb2.SeatTaken, _: Happened, view: TableView) -> str:
    return subject(view, event.seat, "sits down", "sit down")


def _seat_left(event: table_pb2.SeatLeft, _: Happened, view: TableView) -> str:
    own = event.seat == view.seat
    who = "You" if own else f"The player of seat {event.seat}"
    if not event.removed:
        return f"{who} left the game"
    by = words.by(event.operator, event.reason) if event.operator else "by the table's owner"
    return f"{who} {'were' if own else 'was'} REMOVED {by}"


def _owner_changed(event: table_pb2.OwnerChanged, _: Happened, view: TableView) -> str:
    if view.seat != NOBODY and event.person == view.seats[view.seat].person:
        return "The table is yours now"
    return ""


def _seat_away(event: table_pb2.SeatAway, _: Happened, view: TableView) -> str:
    idle = event.absence == table_pb2.ABSENCE_IDLE
    who = subject(view, event.seat, "counts", "count")
    return f"{who} as away: {'no move for too long' if idle else 'connection lost'}"


def _seat_back(event: table_pb2.SeatBack, _: Happened, view: TableView) -> str:
    if event.seat == view.seat:
        return "You play this hand now"
    return f"{player(view, event.seat)} is back"


def _bot_wanted(event: table_pb2.BotWanted, _: Happened, view: TableView) -> str:
    if event.seat == view.seat:
        return "A stand-in is called to play your hand"
    return ""


def _bot_seated(event: table_pb2.BotSeated, _: Happened, view: TableView) -> str:
    if event.seat == view.seat:
        return "A stand-in plays your hand now"
    seat = view.seats[event.seat]
    if seat.display_name:
        return f"A stand-in plays for {seat.display_name} now"
    return f"{player(view, event.seat)} sits down"


def _seat_forfeited(event: table_pb2.SeatForfeited, _: Happened, view: TableView) -> str:
    return subject(view, event.seat, "has forfeited the game", "have forfeited the game")


def _seats_dropped(event: table_pb2.SeatsDropped, *_: object) -> str:
    return f"Seats that stay empty: {', '.join(str(seat) for seat in event.seats)}"


def _ready_given(event: table_pb2.ReadyGiven, _: Happened, view: TableView) -> str:
    ready_for = READY_FOR.get(event.ready_for, "")
    if event.seat != view.seat:
        return ""
    return f"You are ready for {ready_for}"


def _called(event: table_pb2.Called, _: Happened, view: TableView) -> str:
    phrase = words.PHRASES.get(event.phrase, "")
    return f"{subject(view, event.seat, 'says', 'say')}: {phrase}"


def _table_closed(event: table_pb2.TableClosed, *_: object) -> str:
    by = f" {words.by(event.operator, event.reason)}" if event.operator or event.reason else ""
    return f"The table is closed{by}"


def _frozen(event: table_pb2.Frozen, *_: object) -> str:
    return f"The game is FROZEN {words.by(event.operator, event.reason)}"


def _resumed(event: table_pb2.Resumed, *_: object) -> str:
    stood = words.clock(event.frozen_us)
    return f"The game GOES ON: it stood still for {stood}, everybody has as much time as before"


def _announcement(event: table_pb2.Announcement, *_: object) -> str:
    return f"ANNOUNCEMENT: {event.text or event.key}"


def _score_adjusted(event: table_pb2.ScoreAdjusted, _: Happened, view: TableView) -> str:
    whose = "Your score" if event.seat == view.seat else f"{player(view, event.seat)}'s score"
    by = words.by(event.operator, event.reason)
    return f"{whose} is CORRECTED by {event.delta:+d}, {by}"


def _rematch_voted(event: table_pb2.RematchVoted, _: Happened, view: TableView) -> str:
    if not event.yes:
        return subject(view, event.seat, "wants no other game", "want no other game")
    return subject(view, event.seat, "wants to play again", "want to play again")


def _rematch_agreed(*_: object) -> str:
    return "AGREED: another game, at a new table"


def _rematch_failed(*_: object) -> str:
    return "No other game: somebody said no or left, or the time was up"


_TELLERS: Final[dict[str, Callable[[Any, Happened, TableView], str]]] = {
    "seat_taken": _seat_taken,
    "seat_left": _seat_left,
    "owner_changed": _owner_changed,
    "seat_away": _seat_away,
    "seat_back": _seat_back,
    "bot_wanted": _bot_wanted,
    "bot_seated": _bot_seated,
    "seat_forfeited": _seat_forfeited,
    "seats_dropped": _seats_dropped,
    "ready_given": _ready_given,
    "called": _called,
    "dealt": _dealt,
    "exchange_opened": _exchange_opened,
    "offer_opened": _offer_opened,
    "offer_ended": _offer_ended,
    "traded": _traded,
    "bell_refused": _bell_refused,
    "cornered": _cornered,
    "round_scored": _round_scored,
    "round_void": _round_void,
    "game_ended": _game_ended,
    "table_closed": _table_closed,
    "frozen": _frozen,
    "resumed": _resumed,
    "announcement": _announcement,
    "score_adjusted": _score_adjusted,
    "rematch_voted": _rematch_voted,
    "rematch_agreed": _rematch_agreed,
    "rematch_failed": _rematch_failed,
}
