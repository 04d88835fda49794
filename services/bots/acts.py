"""What a bot may want to do, and the command that asks for it."""

import random
from typing import Final

from pit.v1 import play_pb2, table_pb2

from engine.value import value
from services.client.view import NOBODY, TableView

NONCE_BYTES: Final = 16


@value
class MakeOffer:
    lot: int
    directed_at: int = NOBODY
    immediate: bool = False
    limit_ms: int = 0


@value
class TakeBack:
    """Withdraw the open offer."""


@value
class Ring:
    lane: int


@value
class SayReady:
    ready_for: table_pb2.ReadyFor.ValueType


Act = MakeOffer | TakeBack | Ring | SayReady


def command_of(act: Act, view: TableView, chance: random.Random) -> play_pb2.Command:
    """The API's message for an act; number, round and place in time are the protocol's."""
    match act:
        case MakeOffer(lot, directed_at, immediate, limit_ms):
            offer = play_pb2.Offer(lot=view.deck.lot(lot), immediate=immediate, limit_ms=limit_ms)
            if directed_at != NOBODY:
                offer.directed_at = directed_at
            return play_pb2.Command(offer=offer)
        case TakeBack():
            return play_pb2.Command(withdraw=play_pb2.Withdraw())
        case Ring(lane):
            return play_pb2.Command(
                ring_bell=play_pb2.RingBell(commodity=view.deck.commodities[lane])
            )
        case SayReady(ready_for):
            opens = ready_for == table_pb2.READY_FOR_OPEN
            nonce = b"" if opens else chance.randbytes(NONCE_BYTES)
            return play_pb2.Command(ready=play_pb2.Ready(ready_for=ready_for, nonce=nonce))
