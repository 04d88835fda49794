"""Messages as a gateway sends them, for tests of the client."""

from collections.abc import Sequence

from pit.v1 import play_pb2, table_pb2

from engine.rules import PRESETS
from services.gateway.convert.rules import rule_set_message


def response(*items: play_pb2.Item, epoch: bytes = b"e1", log_us: int = 1_000) -> bytes:
    part = play_pb2.TableBatch(epoch=epoch, log_us=log_us, items=items)
    return play_pb2.PlayResponse(batch=play_pb2.Batch(tables=[part])).SerializeToString()


def snapshot(seq: int, table: str = "tables/00" + "a" * 20) -> table_pb2.Snapshot:
    """Four seats in an open round 1; seat 0 is the reader's and holds nine wheat."""
    wheat = table_pb2.CardCount(commodity=table_pb2.COMMODITY_WHEAT, count=9)
    return table_pb2.Snapshot(
        table=table,
        seq=seq,
        phase=table_pb2.PHASE_OPEN,
        rule_set=rule_set_message(PRESETS["blitz"]),
        seats=[table_pb2.SeatState(seat=seat, cards=9) for seat in range(4)],
        round=1,
        suits=[table_pb2.COMMODITY_WHEAT, table_pb2.COMMODITY_BARLEY],
        seat=0,
        hand=table_pb2.Cards(counts=[wheat]),
    )


def attached(
    shown: table_pb2.Snapshot | None,
    generation: int,
    next_number: int = 1,
    answers: Sequence[play_pb2.Answer] = (),
) -> play_pb2.Item:
    return play_pb2.Item(
        attached=play_pb2.Attached(
            snapshot=shown, generation=generation, next_number=next_number, answers=answers
        )
    )


def event(kind: table_pb2.Event, seq: int, number: int = 0) -> play_pb2.Item:
    """An event item; `kind` is an event without its seq."""
    kind.seq = seq
    public = play_pb2.PublicItem(event=kind).SerializeToString()
    own = play_pb2.Own(number=number) if number else None
    return play_pb2.Item(public=public, own=own)


def opened(seat: int, size: int) -> table_pb2.Event:
    return table_pb2.Event(offer_opened=table_pb2.OfferOpened(seat=seat, size=size))


def traded(seat: int, partner: int, size: int) -> table_pb2.Event:
    return table_pb2.Event(traded=table_pb2.Traded(seat=seat, partner=partner, size=size))


def offer(size: int) -> play_pb2.Command:
    lot = table_pb2.Lot(commodity=table_pb2.COMMODITY_WHEAT, count=size)
    return play_pb2.Command(offer=play_pb2.Offer(lot=lot))
