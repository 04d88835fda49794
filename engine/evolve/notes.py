"""Streams, answers of unary methods, owners. (`dispatch` itself applies seats' answers.)"""

from engine import events as e
from engine.deadlines import soonest_ms
from engine.limits import MARKS_KEPT, REQUESTS_KEPT
from engine.shown import Mark
from engine.table import Table


def request_answered(table: Table, note: e.RequestAnswered) -> None:
    if not note.kept:
        return
    if table.opening is None:
        table.opening = note
    table.requests[note.request] = note
    if len(table.requests) > REQUESTS_KEPT:
        del table.requests[next(iter(table.requests))]


def attached(table: Table, note: e.Attached) -> None:
    seat = table.seats[note.seat]
    seat.attach = note.attach
    seat.connected = True
    seat.gateway = note.gateway
    seat.stream = note.stream
    seat.current = numbers = seat.numbers[note.bot]
    if not note.resumed:
        numbers.begin(note.generation)
    seat.holder = 0 if seat.absence and not note.bot else note.attach
    table.due_ms = soonest_ms(table)


def detached(table: Table, note: e.Detached) -> None:
    seat = table.seats[note.seat]
    if seat.attach == note.attach:
        seat.connected = False
        table.due_ms = soonest_ms(table)


def streams_lost(table: Table, note: e.StreamsLost) -> None:
    for seat in table.seats:
        if seat.gateway == note.gateway:
            seat.connected = False
    table.due_ms = soonest_ms(table)


def marked(table: Table, note: e.Marked) -> None:
    table.epoch = note.epoch
    table.marks = [
        *table.marks[1 - MARKS_KEPT :],
        Mark(note.epoch, note.nonce, table.seq + 1),
    ]
