"""All there is to happen at a table, and how it lies in the log."""

from engine.events.notes import Note
from engine.events.operators import OperatorEvent
from engine.events.play import PlayEvent
from engine.events.rounds import RoundEvent
from engine.events.seats import SeatEvent
from engine.value import value

Event = SeatEvent | RoundEvent | PlayEvent | OperatorEvent


@value
class Record:
    """One table's part of a log entry: items in the order in which they happened."""

    table: str
    first_seq: int
    """Number of the first event in `items`, had it one: the table's last number plus one."""
    items: tuple[Event | Note, ...]
