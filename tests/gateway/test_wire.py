"""Messages put together by hand are what protobuf itself would write."""

from hypothesis import given
from hypothesis import strategies as some
from pit.v1 import play_pb2, table_pb2

from services.gateway import wire

times = some.integers(0, 2**62)
parts = some.lists(some.tuples(some.text(max_size=20_000), some.integers(0, 2**31)), max_size=4)


@given(times, some.binary(max_size=16), times, parts)
def test_a_batch_is_what_protobuf_writes(
    sent_us: int, epoch: bytes, log_us: int, told: list[tuple[str, int]]
) -> None:
    batch = play_pb2.Batch(sent_us=sent_us)
    table = batch.tables.add(epoch=epoch, log_us=log_us)
    items = []
    for text, number in told:
        cards = play_pb2.Own(received=table_pb2.Cards(bull=True))
        event = table_pb2.Event(seq=number, announcement=table_pb2.Announcement(text=text))
        public = play_pb2.PublicItem(event=event).SerializeToString()
        fields = [wire.public_field(event.SerializeToString())]
        match number % 4:
            case 0:
                table.items.add(public=public)
            case 1:
                table.items.add(public=public, own=play_pb2.Own(number=number))
                fields.append(wire.own_field(number, None))
            case 2:
                table.items.add(public=public, own=cards)
                fields.append(wire.own_field(0, cards.SerializeToString()))
            case 3:
                own = play_pb2.Own(number=number, received=cards.received)
                table.items.add(public=public, own=own)
                fields.append(wire.own_field(number, cards.SerializeToString()))
        items.append(wire.item(b"".join(fields)))
        pong = play_pb2.Item(pong=play_pb2.Pong(client_us=number))
        table.items.append(pong)
        items.append(wire.other_item(pong))
    shared = wire.TableTurn(wire.sent_field(sent_us), wire.table_head(epoch, log_us))
    for _ in range(2):
        assert play_pb2.PlayResponse.FromString(shared.message(items)).batch == batch
    assert shared.message(items) is shared.message(list(items)), "made once for all"


@given(some.integers(1, 2**63 - 1))
def test_a_varint_is_what_protobuf_writes(number: int) -> None:
    written = play_pb2.Batch(sent_us=number).SerializeToString()
    assert written == b"\x08" + wire.varint(number)
