"""Events as the public API tells them.

Both functions take what `engine.view.view` gave for a viewer, so that a field which that viewer
may not know is not there to be sent. `event_message` is given the spectator's view: its bytes are
shared by everybody. `own_part` is given one seat's view.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from google.protobuf.timestamp_pb2 import Timestamp
from pit.v1 import play_pb2, table_pb2

from engine import events
from engine.cards import NO_CARDS
from engine.commands import NOBODY
from engine.events import Event
from services.gateway.convert.cards import Deck
from services.gateway.convert.rules import rule_set_message
from services.gateway.resource_names import person_name, table_name

Names = Mapping[str, str]
"""Display names by person; they live outside the log."""

US_PER_MS: Final = 1_000


def _seat(seat: int) -> int | None:
    return None if seat == NOBODY else seat


def _operator(operator: str, names: Names) -> str:
    """By name; the log has the id."""
    return names.get(operator) or operator


def _table_opened(event: events.TableOpened, deck: Deck, names: Names) -> table_pb2.TableOpened:
    return table_pb2.TableOpened(
        rule_set=rule_set_message(event.rules),
        seats=event.seats,
        owner=person_name(event.owner),
        start_at=Timestamp(seconds=event.start_at_s) if event.start_at_s else None,
    )


def _seat_taken(event: events.SeatTaken, deck: Deck, names: Names) -> table_pb2.SeatTaken:
    return table_pb2.SeatTaken(
        seat=event.seat,
        person=person_name(event.person),
        display_name=names.get(event.person, ""),
    )


def _seat_left(event: events.SeatLeft, deck: Deck, names: Names) -> table_pb2.SeatLeft:
    return table_pb2.SeatLeft(
        seat=event.seat,
        removed=event.removed,
        reason=event.reason,
        operator=_operator(event.operator, names),
    )


def _owner_changed(event: events.OwnerChanged, deck: Deck, names: Names) -> table_pb2.OwnerChanged:
    return table_pb2.OwnerChanged(person=person_name(event.person))


def _seat_away(event: events.SeatAway, deck: Deck, names: Names) -> table_pb2.SeatAway:
    return table_pb2.SeatAway(
        seat=event.seat,
        absence=table_pb2.Absence.ValueType(event.absence),
        until_us=event.until_ms * US_PER_MS,
    )


def _seat_back(event: events.SeatBack, deck: Deck, names: Names) -> table_pb2.SeatBack:
    return table_pb2.SeatBack(seat=event.seat)


def _bot_wanted(event: events.BotWanted, deck: Deck, names: Names) -> table_pb2.BotWanted:
    return table_pb2.BotWanted(seat=event.seat)


def _bot_seated(event: events.BotSeated, deck: Deck, names: Names) -> table_pb2.BotSeated:
    return table_pb2.BotSeated(seat=event.seat)


def _seat_forfeited(
    event: events.SeatForfeited, deck: Deck, names: Names
) -> table_pb2.SeatForfeited:
    return table_pb2.SeatForfeited(seat=event.seat)


def _seats_dropped(event: events.SeatsDropped, deck: Deck, names: Names) -> table_pb2.SeatsDropped:
    return table_pb2.SeatsDropped(seats=event.seats)


def _ready_given(event: events.ReadyGiven, deck: Deck, names: Names) -> table_pb2.ReadyGiven:
    return table_pb2.ReadyGiven(
        seat=event.seat,
        ready_for=table_pb2.ReadyFor.ValueType(event.purpose),
        nonce=event.nonce,
    )


def _called(event: events.Called, deck: Deck, names: Names) -> table_pb2.Called:
    return table_pb2.Called(seat=event.seat, phrase=table_pb2.Phrase.ValueType(event.phrase))


def _committed(event: events.Committed, deck: Deck, names: Names) -> table_pb2.Committed:
    return table_pb2.Committed(
        round=event.round,
        commitment=event.commitment,
        next_deal_at_us=event.next_deal_at_ms * US_PER_MS,
        tied=event.tied,
    )


def _dealt(event: events.Dealt, deck: Deck, names: Names) -> table_pb2.Dealt:
    return table_pb2.Dealt(
        round=event.round,
        dealer=event.dealer,
        suits=[deck.commodities[lane] for lane in event.suits],
        cards=deck.dealt([hand != NO_CARDS for hand in event.hands], event.dealer),
        opens_at_us=event.opens_at_ms * US_PER_MS,
    )


def _exchange_opened(
    event: events.ExchangeOpened, deck: Deck, names: Names
) -> table_pb2.ExchangeOpened:
    return table_pb2.ExchangeOpened(
        round=event.round, round_ends_at_us=event.round_ends_at_ms * US_PER_MS
    )


def _offer_opened(event: events.OfferOpened, deck: Deck, names: Names) -> table_pb2.OfferOpened:
    return table_pb2.OfferOpened(
        seat=event.seat,
        size=event.size,
        directed_at=_seat(event.directed_at),
        ends_at_us=event.ends_at_ms * US_PER_MS,
    )


def _offer_ended(event: events.OfferEnded, deck: Deck, names: Names) -> table_pb2.OfferEnded:
    return table_pb2.OfferEnded(seat=event.seat, end=table_pb2.OfferEnd.ValueType(event.why))


def _traded(event: events.Traded, deck: Deck, names: Names) -> table_pb2.Traded:
    return table_pb2.Traded(seat=event.seat, partner=event.partner, size=event.size)


def _bell_refused(event: events.BellRefused, deck: Deck, names: Names) -> table_pb2.BellRefused:
    return table_pb2.BellRefused(
        seat=event.seat,
        commodity=deck.commodities[event.commodity],
        fine=event.fine,
        locked_until_us=event.locked_until_ms * US_PER_MS,
    )


def _cornered(event: events.Cornered, deck: Deck, names: Names) -> table_pb2.Cornered:
    return table_pb2.Cornered(
        seat=event.seat,
        commodity=deck.commodities[event.commodity],
        kind=table_pb2.CornerKind.ValueType(event.kind),
        hand=deck.cards(event.hand),
        bull_seat=_seat(event.bull_seat),
        bear_seat=_seat(event.bear_seat),
    )


def _round_scored(event: events.RoundScored, deck: Deck, names: Names) -> table_pb2.RoundScored:
    return table_pb2.RoundScored(
        round=event.round,
        deltas=event.deltas,
        totals=event.totals,
        seed=event.seed,
        nonces=event.nonces,
    )


def _round_void(event: events.RoundVoid, deck: Deck, names: Names) -> table_pb2.RoundVoid:
    return table_pb2.RoundVoid(
        round=event.round,
        deltas=event.deltas,
        totals=event.totals,
        seed=event.seed,
        nonces=event.nonces,
        reason=event.reason,
        operator=_operator(event.operator, names),
    )


def _game_ended(event: events.GameEnded, deck: Deck, names: Names) -> table_pb2.GameEnded:
    return table_pb2.GameEnded(
        end=table_pb2.GameEnd.ValueType(event.end), places=event.places, totals=event.totals
    )


def _rematch_voted(event: events.RematchVoted, deck: Deck, names: Names) -> table_pb2.RematchVoted:
    return table_pb2.RematchVoted(
        seat=event.seat, yes=event.yes, until_us=event.until_ms * US_PER_MS
    )


def _rematch_agreed(
    event: events.RematchAgreed, deck: Deck, names: Names
) -> table_pb2.RematchAgreed:
    return table_pb2.RematchAgreed(table=table_name(event.table))


def _rematch_failed(
    event: events.RematchFailed, deck: Deck, names: Names
) -> table_pb2.RematchFailed:
    return table_pb2.RematchFailed()


def _table_closed(event: events.TableClosed, deck: Deck, names: Names) -> table_pb2.TableClosed:
    return table_pb2.TableClosed(reason=event.reason, operator=_operator(event.operator, names))


def _start_called(event: events.StartCalled, deck: Deck, names: Names) -> table_pb2.StartCalled:
    return table_pb2.StartCalled()


def _invite_rotated(
    event: events.InviteRotated, deck: Deck, names: Names
) -> table_pb2.InviteRotated:
    return table_pb2.InviteRotated()


def _frozen(event: events.Frozen, deck: Deck, names: Names) -> table_pb2.Frozen:
    return table_pb2.Frozen(
        reason=event.reason,
        operator=_operator(event.operator, names),
        at_us=event.at_ms * US_PER_MS,
    )


def _thawed(event: events.Thawed, deck: Deck, names: Names) -> table_pb2.Resumed:
    return table_pb2.Resumed(
        operator=_operator(event.operator, names), frozen_us=event.frozen_ms * US_PER_MS
    )


def _score_adjusted(
    event: events.ScoreAdjusted, deck: Deck, names: Names
) -> table_pb2.ScoreAdjusted:
    return table_pb2.ScoreAdjusted(
        seat=event.seat,
        delta=event.delta,
        totals=event.totals,
        reason=event.reason,
        operator=_operator(event.operator, names),
        places=event.places,
    )


def _announced(event: events.Announced, deck: Deck, names: Names) -> table_pb2.Announcement:
    words = event.parameters
    return table_pb2.Announcement(
        key=event.key,
        parameters=dict(zip(words[::2], words[1::2], strict=True)),
        text=event.text,
        operator=_operator(event.operator, names),
    )


_KINDS: Final[dict[type[Event], tuple[str, Callable[[Any, Deck, Names], Any]]]] = {
    events.TableOpened: ("table_opened", _table_opened),
    events.SeatTaken: ("seat_taken", _seat_taken),
    events.SeatLeft: ("seat_left", _seat_left),
    events.OwnerChanged: ("owner_changed", _owner_changed),
    events.SeatAway: ("seat_away", _seat_away),
    events.SeatBack: ("seat_back", _seat_back),
    events.BotWanted: ("bot_wanted", _bot_wanted),
    events.BotSeated: ("bot_seated", _bot_seated),
    events.SeatForfeited: ("seat_forfeited", _seat_forfeited),
    events.SeatsDropped: ("seats_dropped", _seats_dropped),
    events.ReadyGiven: ("ready_given", _ready_given),
    events.Called: ("called", _called),
    events.Committed: ("committed", _committed),
    events.Dealt: ("dealt", _dealt),
    events.ExchangeOpened: ("exchange_opened", _exchange_opened),
    events.OfferOpened: ("offer_opened", _offer_opened),
    events.OfferEnded: ("offer_ended", _offer_ended),
    events.Traded: ("traded", _traded),
    events.BellRefused: ("bell_refused", _bell_refused),
    events.Cornered: ("cornered", _cornered),
    events.RoundScored: ("round_scored", _round_scored),
    events.RoundVoid: ("round_void", _round_void),
    events.GameEnded: ("game_ended", _game_ended),
    events.RematchVoted: ("rematch_voted", _rematch_voted),
    events.RematchAgreed: ("rematch_agreed", _rematch_agreed),
    events.RematchFailed: ("rematch_failed", _rematch_failed),
    events.TableClosed: ("table_closed", _table_closed),
    events.StartCalled: ("start_called", _start_called),
    events.InviteRotated: ("invite_rotated", _invite_rotated),
    events.Frozen: ("frozen", _frozen),
    events.Thawed: ("resumed", _thawed),
    events.ScoreAdjusted: ("score_adjusted", _score_adjusted),
    events.Announced: ("announcement", _announced),
}


def event_message(event: Event, seq: int, deck: Deck, names: Names) -> table_pb2.Event:
    """The public part of an event, from a spectator's view of it."""
    kind, convert = _KINDS[type(event)]
    return table_pb2.Event(seq=seq, **{kind: convert(event, deck, names)})


def concerned(event: Event) -> Sequence[int]:
    """Seats that may know more of it than a spectator: others need not be asked about."""
    if isinstance(event, events.OfferOpened):
        return (event.seat,)
    if isinstance(event, events.Traded):
        return (event.seat, event.partner)
    if isinstance(event, events.Dealt):
        return range(len(event.hands))
    return ()


def own_part(event: Event, seat: int, deck: Deck) -> play_pb2.Own | None:
    """What `seat` may know beyond the public part, from its own view; `None` for nothing."""
    match event:
        case events.Dealt(hands=hands):
            hand = hands[seat] if seat < len(hands) else None
            return None if hand is None else play_pb2.Own(received=deck.cards(hand))
        case events.OfferOpened(seat=owner, lot=lot) if owner == seat and lot is not None:
            return play_pb2.Own(received=deck.cards(lot))
        case events.Traded(seat=owner, given=given, received=received):
            if given is None or received is None:
                return None
            if owner == seat:
                return play_pb2.Own(received=deck.cards(received), given=deck.cards(given))
            return play_pb2.Own(received=deck.cards(given), given=deck.cards(received))
        case _:
            return None
