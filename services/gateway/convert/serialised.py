"""Events as bytes, for the live feed.

Most of what is told at a table has been told before: "seat 2 offers 3", "seat 1 trades 2 with
seat 0", "you hold these cards". The bytes of such parts are remembered; only the event's number is
new each time. Both functions are given a viewer's own view of the event, as those of
`convert.events` are, and what they remember is keyed by fields of that view alone.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from pit.v1 import play_pb2

from engine.events import Event, OfferEnded, OfferOpened, Traded
from services.gateway.convert.cards import Deck
from services.gateway.convert.events import Names, event_message, own_part
from services.gateway.wire import varint

_SEQ: Final = b"\x08"
"""Field 1 of an `Event`. Protobuf writes it first, and no 0: the rest can be set behind it."""
_REMEMBERED_MAX: Final = 1 << 14
"""Parts remembered of a kind, about 100 bytes each: all there are of the calls without a limit in
time, of the trades, and of the lots of both decks."""


def public_bytes(event: Event, seq: int, deck: Deck, names: Names) -> bytes:
    """`event_message`, serialised."""
    repeated = _REPEATED.get(type(event))
    if repeated is None:
        return event_message(event, seq, deck, names).SerializeToString()
    return _SEQ + varint(seq) + repeated(event, deck)


def own_bytes(event: Event, seat: int, deck: Deck) -> bytes | None:
    """`own_part`, serialised; `None` for nothing."""
    if isinstance(event, OfferOpened) and event.seat == seat and event.lot is not None:
        return _received(deck, event.lot)
    if isinstance(event, Traded) and event.given and event.received:
        if event.seat == seat:
            return _received(deck, event.received) + _given(deck, event.given)
        return _received(deck, event.given) + _given(deck, event.received)
    own = own_part(event, seat, deck)
    return None if own is None else own.SerializeToString()


@lru_cache(_REMEMBERED_MAX)
def _offer_opened(deck: Deck, seat: int, size: int, directed_at: int, ends_at_ms: int) -> bytes:
    return _unnumbered(OfferOpened(seat, size, None, directed_at, ends_at_ms, 0), deck)


@lru_cache(_REMEMBERED_MAX)
def _offer_ended(deck: Deck, seat: int, why: int) -> bytes:
    return _unnumbered(OfferEnded(seat, why, 0), deck)


@lru_cache(_REMEMBERED_MAX)
def _traded(deck: Deck, seat: int, partner: int, size: int) -> bytes:
    return _unnumbered(Traded(seat, partner, size, None, None, 0), deck)


def _unnumbered(event: Event, deck: Deck) -> bytes:
    return event_message(event, 0, deck, {}).SerializeToString()


@lru_cache(_REMEMBERED_MAX)
def _received(deck: Deck, cards: int) -> bytes:
    return play_pb2.Own(received=deck.cards(cards)).SerializeToString()


@lru_cache(_REMEMBERED_MAX)
def _given(deck: Deck, cards: int) -> bytes:
    return play_pb2.Own(given=deck.cards(cards)).SerializeToString()


_REPEATED: Final[dict[type[Event], Callable[[Any, Deck], bytes]]] = {
    OfferOpened: lambda event, deck: _offer_opened(
        deck, event.seat, event.size, event.directed_at, event.ends_at_ms
    ),
    OfferEnded: lambda event, deck: _offer_ended(deck, event.seat, event.why),
    Traded: lambda event, deck: _traded(deck, event.seat, event.partner, event.size),
}
"""What makes up nine tenths of an open exchange."""
