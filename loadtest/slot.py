"""A place for a table, where one table follows the other."""

import asyncio

from loadtest.acts import Mind
from loadtest.seat import LoadSeat
from loadtest.table import LoadTable


class Slot:
    """A place for a table, and the one that is in it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.table: LoadTable | None = None
        self.seats: list[LoadSeat] = []
        self.minds: list[Mind] = []
        self.idle: list[LoadSeat] = []
        """The same seats, who has been idle for longest first."""
        self.began: asyncio.Event = asyncio.Event()

    def able(self) -> list[int]:
        """Those that may act: who waits for nothing first, then who has been idle longest."""
        table = self.table
        found: list[int] = []
        if table is None or table.public is None:
            return found
        views, round_now = table.seated, table.public.round
        waiting: list[int] = []
        for seat in self.idle:
            number = seat.number
            if seat.able and views[number].round == round_now:  # it has its hand of this round
                (waiting if seat.waits else found).append(number)
        return found + waiting if waiting else found

    def acted(self, seat: LoadSeat) -> None:
        self.idle.remove(seat)
        self.idle.append(seat)
