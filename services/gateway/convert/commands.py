"""Commands as the public API asks for them, as the engine's values.

`content` says what was asked for, so that a number used again for something else is noticed. It
is a hash over a fixed layout of the command's own fields and the round, and of nothing that a
repetition may change (what the sender had seen, stream, number).
"""

import struct
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

from pit.v1 import play_pb2

from engine import commands
from engine.commands import NOBODY, SeatCommand
from engine.limits import NONCE_BYTES, OFFER_LIMIT_MAX_MS, OFFER_LIMIT_MIN_MS
from engine.rejections import Rejection
from engine.value import value
from services.gateway.convert.cards import Deck
from services.gateway.errors import Refused

_CONTENT_BYTES: Final = 8
_FIELDS: Final = struct.Struct(">BqQq?q").pack


def content_hash(data: bytes) -> int:
    """64 bits of what a command asks for."""
    return int.from_bytes(blake2b(data, digest_size=_CONTENT_BYTES).digest(), "big")


@value
class Origin:
    """The stream a command came on: what the session, not the sender, says about it."""

    seat: int
    attach: int
    generation: int
    deck: Deck


def _ready(origin: Origin, command: play_pb2.Command) -> SeatCommand:
    ready = command.ready
    if ready.ready_for < 0:
        raise Refused(Rejection.WRONG_PURPOSE)
    if len(ready.nonce) > NONCE_BYTES:
        raise Refused(Rejection.NONCE_LENGTH)
    layout = _FIELDS(1, command.round, ready.ready_for, 0, False, 0) + ready.nonce
    return commands.Ready(
        origin.seat,
        origin.attach,
        origin.generation,
        command.number,
        command.round,
        command.seen_seq,
        content_hash(layout),
        ready.ready_for,
        ready.nonce,
    )


def _offer(origin: Origin, command: play_pb2.Command) -> SeatCommand:
    offer = command.offer
    lot = origin.deck.lot(offer.lot)
    directed_at = NOBODY
    if offer.HasField("directed_at"):
        directed_at = offer.directed_at
        if directed_at < 0:
            raise Refused(Rejection.DIRECTED_AT_NO_SEAT)
    if offer.limit_ms < 0:
        raise Refused(Rejection.LIMIT_RANGE, min_ms=OFFER_LIMIT_MIN_MS, max_ms=OFFER_LIMIT_MAX_MS)
    layout = _FIELDS(2, command.round, lot, directed_at, offer.immediate, offer.limit_ms)
    return commands.Offer(
        origin.seat,
        origin.attach,
        origin.generation,
        command.number,
        command.round,
        command.seen_seq,
        content_hash(layout),
        lot,
        directed_at,
        offer.immediate,
        offer.limit_ms,
    )


def _withdraw(origin: Origin, command: play_pb2.Command) -> SeatCommand:
    return commands.Withdraw(
        origin.seat,
        origin.attach,
        origin.generation,
        command.number,
        command.round,
        command.seen_seq,
        content_hash(_FIELDS(3, command.round, 0, 0, False, 0)),
    )


def _ring_bell(origin: Origin, command: play_pb2.Command) -> SeatCommand:
    lane = origin.deck.lane(command.ring_bell.commodity)
    return commands.RingBell(
        origin.seat,
        origin.attach,
        origin.generation,
        command.number,
        command.round,
        command.seen_seq,
        content_hash(_FIELDS(4, command.round, lane, 0, False, 0)),
        lane,
    )


def _call(origin: Origin, command: play_pb2.Command) -> SeatCommand:
    phrase = command.call.phrase
    if phrase < 0:
        raise Refused(Rejection.NO_SUCH_PHRASE)
    return commands.Call(
        origin.seat,
        origin.attach,
        origin.generation,
        command.number,
        command.round,
        command.seen_seq,
        content_hash(_FIELDS(5, command.round, phrase, 0, False, 0)),
        phrase,
    )


_KINDS: Final[dict[str, Callable[[Origin, Any], SeatCommand]]] = {
    "ready": _ready,
    "offer": _offer,
    "withdraw": _withdraw,
    "ring_bell": _ring_bell,
    "call": _call,
}


def seat_command(origin: Origin, command: play_pb2.Command) -> SeatCommand:
    """The engine's command. Raises `Refused` for what no table could ever accept.

    Everything negative is refused here: the log's decoder takes it for damage, and what is
    damaged is set aside without an answer.
    """
    kind = command.WhichOneof("kind")
    if kind is None:
        raise Refused.field("command.kind", "one of " + ", ".join(_KINDS))
    if command.round < 0:
        raise Refused.field("command.round", "not negative")
    if command.seen_seq < 0:
        raise Refused.field("command.seen_seq", "not negative")
    return _KINDS[kind](origin, command)
