"""Events parsed once for all seats of a table in this process."""

from typing import Final

from pit.v1 import play_pb2, table_pb2

PARSED_MAX: Final = 4096
"""Events kept parsed; a table's other seats are sent the same one within milliseconds."""


class PublicItems:
    """Events by their bytes. All viewers of a table are sent the same bytes, so seats that share
    one of these parse each event once. The events are shared, too: never change one."""

    __slots__ = ("_events",)

    def __init__(self) -> None:
        self._events: dict[bytes, table_pb2.Event] = {}

    def event(self, public: bytes) -> table_pb2.Event:
        event = self._events.get(public)
        if event is None:
            if len(self._events) >= PARSED_MAX:
                self._events.clear()
            event = play_pb2.PublicItem.FromString(public).event
            self._events[public] = event
        return event
