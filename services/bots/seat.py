"""One bot on one seat: a player driven by the seat's stream and one timer, without a task."""

import asyncio
import random
import time
from typing import Final

from services.bots.acts import command_of
from services.bots.player import NEVER, Player
from services.bots.statistics import TABLE_GONE, Statistics
from services.client.errors import Refused
from services.client.exchange import Exchange, Place
from services.client.happenings import (
    Happened,
    Happening,
    OutOfStep,
    Settled,
    Started,
    WasReset,
)

LAST_EVENTS: Final = frozenset({"game_ended", "table_closed"})


class SeatedBot:
    """Plays until the game is over, the seat is taken back, or `leave` is called."""

    def __init__(
        self,
        exchange: Exchange,
        place: Place,
        player: Player,
        statistics: Statistics,
        chance: random.Random,
    ) -> None:
        self.place = place
        self.game_over = False
        self._player = player
        self._statistics = statistics
        self._chance = chance
        self._stream = exchange.stream(place, self._listen)
        self._protocol = self._stream.protocol
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = NEVER
        self._leaving = False
        self._told_resumes = 0
        self._told_retries = 0

    async def play(self) -> None:
        self._statistics.sessions += 1
        try:
            end = await self._stream.run()
            self._statistics.over(self.place.table, end)
            if isinstance(end, Refused) and end.reason in TABLE_GONE:
                self.game_over = True
        finally:
            self._statistics.sessions -= 1
            self._cancel_timer()
            self._tell_counts()

    def leave(self) -> None:
        """Act no more, and go when the outcome of what was sent is known."""
        self._leaving = True
        self._cancel_timer()
        self._go_when_settled()

    @property
    def log_us(self) -> int:
        return self._stream.log_us()

    # ------------------------------------------------------------------ from the stream

    def _listen(self, happening: Happening) -> None:
        view = self._protocol.view
        if view is None:
            return
        now = time.monotonic()
        match happening:
            case Happened():
                self._player.saw(view, happening, now)
                self._statistics.saw(view, happening, self._protocol.log_us)
                if happening.event.WhichOneof("kind") in LAST_EVENTS:
                    self.game_over = True
                    self.leave()
            case Settled():
                self._player.settled(now)
                self._statistics.settled(view, happening)
                self._tell_counts()
                self._go_when_settled()
            case Started(resumed):
                if not resumed:
                    self._begin(now)
                self._tell_counts()
            case OutOfStep():
                self._statistics.out_of_step()
            case WasReset():
                self._statistics.was_reset(happening)
                self._begin(now)
            case _:
                pass
        self._set_timer()

    def _begin(self, now: float) -> None:
        view = self._protocol.view
        assert view is not None
        self._player.began(view, now)
        self._statistics.began(view, self._protocol.log_us)

    def _tell_counts(self) -> None:
        self._statistics.resumes += self._stream.resumes - self._told_resumes
        self._statistics.retries += self._protocol.retries - self._told_retries
        self._told_resumes = self._stream.resumes
        self._told_retries = self._protocol.retries

    def _go_when_settled(self) -> None:
        if self._leaving and not self._protocol.in_flight:
            self._stream.close()

    # ------------------------------------------------------------------ the timer

    def _set_timer(self) -> None:
        """One timer, moved only to the front: one that comes too early looks and sets the next."""
        wake_at = self._player.wake_at
        if wake_at == NEVER or self._leaving:
            return
        if self._timer is not None:
            if self._timer_at <= wake_at:
                return
            self._timer.cancel()
        self._timer_at = wake_at
        self._timer = asyncio.get_running_loop().call_at(wake_at, self._wake)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self) -> None:
        self._timer = None
        view = self._protocol.view
        now = time.monotonic()
        if view is None or not self._protocol.attached:
            return  # the next Started or WasReset sets the timer again
        if now >= self._player.wake_at:
            act = self._player.act(view, now)
            if act is not None:
                self._protocol.submit(command_of(act, view, self._chance), now)
                self._player.sent(now)
                self._statistics.sent()
                self._stream.flush()
        self._set_timer()
