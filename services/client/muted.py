"""Persons at a table whose calls one does not want to hear.

The exchange sends all calls to everybody, because every viewer of a table gets the same numbers
without a gap. Who does not want them leaves them out.
"""

from services.client.happenings import Happened, Happening
from services.client.view import TableView


class Muted:
    """Of one table. Somebody else in the same seat is heard."""

    def __init__(self) -> None:
        self._people: set[tuple[int, str]] = set()

    def mute(self, view: TableView, seat: int) -> None:
        self._people.add((seat, view.seats[seat].person))

    def unmute(self, seat: int) -> None:
        self._people = {each for each in self._people if each[0] != seat}

    def has(self, view: TableView, seat: int) -> bool:
        return (seat, view.seats[seat].person) in self._people

    def hides(self, view: TableView | None, happening: Happening) -> bool:
        """Whether this is a call that is not to be heard."""
        if not self._people or view is None or not isinstance(happening, Happened):
            return False
        event = happening.event
        return event.HasField("called") and self.has(view, event.called.seat)
