"""A Watch stream on a gateway in the test's own process."""

from pit.v1 import play_pb2, table_pb2

from services.gateway.session.roles import Caller
from services.gateway.session.watch import WatchStream
from support.front import Front, OpenDoor, Seated


class Watching:
    """One stream, and what came on it by table."""

    def __init__(self, front: Front, caller: Caller, *tables: play_pb2.WatchedTable) -> None:
        self.door = OpenDoor()
        self.stream: WatchStream = front.gateway.open_watch(self.door, caller)
        self.stream.begin(play_pb2.WatchRequest(tables=tables))

    def items(self, index: int = 0) -> list[play_pb2.Item]:
        return [
            item
            for message in self.door.messages
            for table in play_pb2.WatchResponse.FromString(message).batch.tables
            if table.table_index == index
            for item in table.items
        ]

    def events(self, index: int = 0) -> list[table_pb2.Event]:
        return [
            play_pb2.PublicItem.FromString(item.public).event
            for item in self.items(index)
            if item.public
        ]

    def kinds(self, index: int = 0) -> list[str]:
        return [item.WhichOneof("kind") or "event" for item in self.items(index)]


def as_spectator(table: str) -> play_pb2.WatchedTable:
    return play_pb2.WatchedTable(table=table)


def own_seat(seat: Seated) -> play_pb2.WatchedTable:
    """The seat as its owner sees it; takes it from an older stream."""
    return play_pb2.WatchedTable(table=seat.protocol.table, seat_token=seat.protocol.seat_token)
