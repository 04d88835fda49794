"""Whole tables: the snapshot a viewer is given, and the line a list shows."""

from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from pit.v1 import lobby_pb2, table_pb2

from engine.commands import NOBODY, Purpose
from engine.shown import Phase, SeatShown, TableView
from services.gateway.convert.cards import deck_of
from services.gateway.convert.events import US_PER_MS, Names
from services.gateway.convert.rules import rule_set_message
from services.gateway.resource_names import person_name, table_name
from services.log.codec import LobbyLine

_PURPOSES: Final = tuple(Purpose)


def _seat_state(number: int, seat: SeatShown, names: Names) -> table_pb2.SeatState:
    directed_at = None if seat.offer_directed_at == NOBODY else seat.offer_directed_at
    return table_pb2.SeatState(
        seat=number,
        person=person_name(seat.person),
        display_name=names.get(seat.person, ""),
        bot=seat.bot,
        bot_wanted=seat.bot_wanted,
        dropped=seat.dropped,
        forfeited=seat.forfeited,
        connected=seat.connected,
        away_until_us=seat.away_until_ms * US_PER_MS,
        ready=[
            table_pb2.ReadyFor.ValueType(purpose)
            for purpose in _PURPOSES
            if seat.ready >> purpose & 1
        ],
        score=seat.score,
        cards=seat.cards,
        offer_size=seat.offer_size,
        offer_directed_at=directed_at if seat.offer_size else None,
        offer_ends_at_us=seat.offer_ends_at_ms * US_PER_MS,
        plays_again=seat.plays_again,
        place=seat.place,
    )


def snapshot_message(view: TableView, names: Names) -> table_pb2.Snapshot:
    """The table as its viewer may know it: `view` holds nothing else."""
    deck = deck_of(view.rules)
    spectator = view.viewer == NOBODY
    return table_pb2.Snapshot(
        table=table_name(view.table),
        seq=view.seq,
        phase=table_pb2.Phase.ValueType(view.phase),
        rule_set=rule_set_message(view.rules),
        display_name=view.display_name,
        visibility=table_pb2.Visibility.ValueType(view.visibility),
        owner=person_name(view.owner),
        seats=[_seat_state(number, seat, names) for number, seat in enumerate(view.seats)],
        round=view.round,
        dealer=None if view.dealer == NOBODY else view.dealer,
        suits=[deck.commodities[lane] for lane in view.suits],
        commitment=view.commitment,
        opens_at_us=view.opens_at_ms * US_PER_MS,
        round_ends_at_us=view.round_ends_at_ms * US_PER_MS,
        next_deal_at_us=view.next_deal_at_ms * US_PER_MS,
        frozen_at_us=view.frozen_at_ms * US_PER_MS,
        frozen_reason=view.frozen_reason,
        start_at=_start_at(view.phase, view.start_at_s),
        rematch_until_us=view.rematch_until_ms * US_PER_MS,
        rematch_table=table_name(view.rematch_table) if view.rematch_table else "",
        seat=None if spectator else view.viewer,
        hand=None if spectator else deck.cards(view.hand),
        offer_lot=deck.cards(view.offer_lot) if view.offer_lot else None,
        bell_locked_until_us=view.bell_locked_until_ms * US_PER_MS,
    )


def _start_at(phase: int, start_at_s: int) -> Timestamp | None:
    """A game may have been started before its hour: then that is of no interest any more."""
    return Timestamp(seconds=start_at_s) if start_at_s and phase == Phase.SEATING else None


def table_message(line: LobbyLine, names: Names) -> lobby_pb2.Table:
    """A table as a list shows it."""
    bots = frozenset(line.bots)
    return lobby_pb2.Table(
        name=table_name(line.table),
        display_name=line.display_name,
        owner=person_name(line.owner),
        visibility=table_pb2.Visibility.ValueType(line.visibility),
        preset=line.preset,
        rules_hash=line.rules_hash,
        seats=line.seats,
        taken=[
            lobby_pb2.TableSeat(
                seat=seat,
                person=person_name(person),
                display_name=names.get(person, ""),
                bot=seat in bots,
            )
            for seat, person in enumerate(line.persons)
            if person or seat in bots
        ],
        phase=table_pb2.Phase.ValueType(line.phase),
        round=line.round,
        start_at=_start_at(line.phase, line.start_at_s),
    )
