"""What a viewer could find out from all the bytes it was sent, held against what it may know.

The truth is `evolve` over the log. From it follows what cards each message may show its viewer:
the own hand in a snapshot and in a deal, the own lot, what was given and received in an own trade,
the winner's hand at a corner. Every message is walked through, field by field; any other place
with cards, any card more than allowed, and any field the schema does not know is a leak. So is a
seed before its round is over: any 48 bytes whose hash is the commitment, or a piece of the seed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from google.protobuf.message import Message
from pit.v1 import play_pb2, table_pb2

from engine import events
from engine.cards import NO_CARDS
from engine.commands import NOBODY
from engine.deal import deal
from engine.evolve import evolve
from engine.table import Table
from services.client.deck import Deck
from services.gateway.convert.cards import deck_of
from services.log.codec import unpack_record
from services.log.port import OutEntry

SEED_BYTES = 48
PIECE_BYTES = 8
HEXADECIMAL = re.compile(rb"(?:[0-9a-f]{2}){8,}")
CARD_MESSAGES = (
    table_pb2.Cards.DESCRIPTOR,
    table_pb2.CardCount.DESCRIPTOR,
    table_pb2.Lot.DESCRIPTOR,
)


class Leak(AssertionError):
    """A viewer could know what it may not."""


@dataclass
class Truth:
    """One table, as the log has it."""

    table: Table
    told: dict[int, events.Event] = field(default_factory=dict)
    hands: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Hands after an event, cards in open offers included."""
    offers: dict[int, tuple[int, ...]] = field(default_factory=dict)
    seeds: set[bytes] = field(default_factory=set)
    _secret: dict[int, frozenset[bytes]] = field(default_factory=dict)
    dealt: dict[int, events.Dealt] = field(default_factory=dict)
    published: dict[bytes, int] = field(default_factory=dict)
    """Seed -> the event that published it."""

    def secret_after(self, seq: int) -> frozenset[bytes]:
        """Pieces of all seeds that are not published at this event."""
        if seq not in self._secret:
            self._secret[seq] = frozenset(
                seed[start : start + PIECE_BYTES]
                for seed in self.seeds
                if seq < self.published.get(seed, 1 << 62)
                for start in range(0, SEED_BYTES, PIECE_BYTES)
            )
        return self._secret[seq]

    def hear(self, entry: OutEntry) -> None:
        for chunk in entry.chunks:
            if chunk.table != self.table.table:
                continue
            for item in unpack_record(chunk.table, chunk.body).items:
                before = self.table.seq
                evolve(self.table, item)
                if self.table.seq != before:
                    self._event(item)  # type: ignore[arg-type]

    def _event(self, event: events.Event) -> None:
        seq = self.table.seq
        self.told[seq] = event
        self.hands[seq] = tuple(seat.hand for seat in self.table.seats)
        self.offers[seq] = tuple(seat.offer_lot for seat in self.table.seats)
        if type(event) is events.Committed and event.seed:
            self.seeds.add(event.seed)
        elif type(event) is events.Dealt:
            self.dealt[event.round] = event
        elif type(event) in (events.RoundScored, events.RoundVoid):
            self.published[event.seed] = seq  # type: ignore[union-attr]


@dataclass
class Found:
    """How much was looked at, so that a test which looked at nothing fails."""

    messages: int = 0
    items: int = 0
    cards: int = 0
    deals: int = 0


class Eavesdropper:
    """Reads everything one viewer was sent, in order."""

    def __init__(self, truth: Truth, viewer: int, found: Found) -> None:
        self._truth = truth
        self._viewer = viewer
        self._found = found
        self._seq = 0
        self._commitments: dict[int, bytes] = {}
        """Of rounds whose seed this viewer has not been sent."""
        self._dealt: table_pb2.Dealt | None = None

    def read(self, message: bytes) -> None:
        self._found.messages += 1
        response = play_pb2.PlayResponse.FromString(message)
        _no_unknown_fields(response)
        for table in response.batch.tables:
            for item in table.items:
                self._found.items += 1
                self._item(item)
        self._no_seed_before_its_time(message)

    # ---------------------------------------------------------------- cards

    def _item(self, item: play_pb2.Item) -> None:
        if item.public:
            public = play_pb2.PublicItem.FromString(item.public)
            _no_unknown_fields(public)
            self._event(public.event, item.own if item.HasField("own") else play_pb2.Own())
            return
        for snapshot in _snapshots(item):
            self._snapshot(snapshot)
        _no_cards_but(item, {"attached.snapshot", "reset.snapshot"})

    def _event(self, event: table_pb2.Event, own: play_pb2.Own) -> None:
        self._seq = event.seq
        told = self._truth.told[event.seq]
        deck = self._deck()
        kind = event.WhichOneof("kind")
        _no_cards_but(event, {"cornered.hand"})
        if kind == "cornered":
            assert type(told) is events.Cornered
            self._allowed(event.cornered.hand, told.hand, deck)
        received, given = self._own_cards(told)
        self._allowed(own.received, received, deck)
        self._allowed(own.given, given, deck)
        if type(told) is events.Committed:
            self._commitments[told.round] = event.committed.commitment
        elif kind == "dealt":
            self._dealt = event.dealt
        elif kind in ("round_scored", "round_void"):
            self._expand(getattr(event, kind))

    def _own_cards(self, told: events.Event) -> tuple[int, int]:
        """What the viewer may be told beside the public part: (received, given)."""
        viewer = self._viewer
        match told:
            case events.Dealt(hands=hands) if viewer != NOBODY:
                return hands[viewer] or NO_CARDS, NO_CARDS
            case events.OfferOpened(seat=seat, lot=lot) if seat == viewer:
                return lot or NO_CARDS, NO_CARDS
            case events.Traded(seat=seat, given=given, received=received) if seat == viewer:
                return received or NO_CARDS, given or NO_CARDS
            case events.Traded(partner=partner, given=given, received=received) if (
                partner == viewer
            ):
                return given or NO_CARDS, received or NO_CARDS
            case _:
                return NO_CARDS, NO_CARDS

    def _snapshot(self, snapshot: table_pb2.Snapshot) -> None:
        self._seq = snapshot.seq
        hand = offer = NO_CARDS
        if self._viewer != NOBODY and snapshot.seq in self._truth.hands:
            hand = self._truth.hands[snapshot.seq][self._viewer]
            offer = self._truth.offers[snapshot.seq][self._viewer]
        self._allowed(snapshot.hand, hand, self._deck())
        self._allowed(snapshot.offer_lot, offer, self._deck())
        _no_cards_but(snapshot, {"hand", "offer_lot"})
        if snapshot.commitment:
            dealt = snapshot.phase in (table_pb2.PHASE_SORTING, table_pb2.PHASE_OPEN)
            coming = snapshot.round if dealt else snapshot.round + 1
            self._commitments.setdefault(coming, snapshot.commitment)

    def _allowed(self, shown: table_pb2.Cards, may_know: int, deck: Deck) -> None:
        packed = deck.pack(shown)
        self._found.cards += bool(packed)
        if packed != may_know:
            raise Leak(f"seat {self._viewer} is shown cards at event {self._seq} it may not know")

    def _deck(self) -> Deck:
        ours = deck_of(self._truth.table.rules)
        return Deck(ours.commodities, tuple(value.value for value in ours.values))

    # ---------------------------------------------------------------- seeds

    def _expand(self, over: Any) -> None:
        """Deal the round anew from what was published, as any viewer may."""
        commitment = self._commitments.pop(over.round, None)
        if commitment is None or self._dealt is None or self._dealt.round != over.round:
            return  # came in the middle of the round
        assert sha256(over.seed).digest() == commitment
        dealt = self._dealt
        lanes = self._deck().lane
        hands, dealer = deal(
            over.seed,
            list(over.nonces),
            [lanes[commodity] for commodity in dealt.suits],
            self._truth.table.rules.bull_and_bear,
            [seat for seat, cards in enumerate(dealt.cards) if cards],
            NOBODY if over.round == 1 else dealt.dealer,
        )
        told = self._truth.dealt[over.round]
        assert (hands, dealer) == (told.hands, told.dealer)
        self._found.deals += 1

    def _no_seed_before_its_time(self, message: bytes) -> None:
        secret = self._truth.secret_after(self._seq)
        if not secret.isdisjoint(_windows(message, PIECE_BYTES)):
            raise Leak(f"seat {self._viewer} is sent a piece of a seed too early")
        for digits in HEXADECIMAL.findall(message):
            if not secret.isdisjoint(_windows(bytes.fromhex(digits.decode()), PIECE_BYTES)):
                raise Leak(f"seat {self._viewer} is sent a piece of a seed in digits too early")
        waiting = set(self._commitments.values())
        if waiting:
            for window in _windows(message, SEED_BYTES):
                if sha256(window).digest() in waiting:
                    raise Leak(f"seat {self._viewer} could open a commitment too early")


def _windows(message: bytes, size: int) -> set[bytes]:
    return {message[start : start + size] for start in range(len(message) - size + 1)}


def _snapshots(item: play_pb2.Item) -> Iterator[table_pb2.Snapshot]:
    if item.HasField("attached") and item.attached.HasField("snapshot"):
        yield item.attached.snapshot
    if item.HasField("reset"):
        yield item.reset.snapshot


def _no_cards_but(message: Message, places: set[str], path: str = "") -> None:
    """No field anywhere below holds cards, except at these paths."""
    for descriptor, content in message.ListFields():
        here = f"{path}.{descriptor.name}" if path else descriptor.name
        if descriptor.message_type is None or here in places:
            continue
        if descriptor.message_type in CARD_MESSAGES:
            raise Leak(f"cards at {here}")
        repeated = content if descriptor.is_repeated else [content]
        if descriptor.message_type.GetOptions().map_entry:
            continue
        for part in repeated:
            _no_cards_but(part, places, here)


def _no_unknown_fields(message: Message) -> None:
    size = message.ByteSize()
    message.DiscardUnknownFields()  # type: ignore[no-untyped-call]
    if message.ByteSize() != size:
        raise Leak("a field that is not in the schema")
