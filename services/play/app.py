"""The terminal: keys in, the screen out. What is shown and meant stands in `screen` and `model`."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, ClassVar, Final, Protocol

from pit.v1 import table_pb2
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Middle
from textual.events import Key
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from engine.cards import BEAR, BULL, count
from services.client.errors import ClientError, Refused, Superseded
from services.client.happenings import Happening, Outcome
from services.client.protocol import InFlightFull
from services.client.view import NOBODY, TableView
from services.play import story, words
from services.play.hand import Choice, best_claim, claim_words, lot_of, moved
from services.play.model import Model
from services.play.screen import ROW_KEYS, Now, draw

REDRAW_S: Final = 0.1
"""Countdowns show tenths."""

HELP: Final = """\
Collect nine of one commodity, or eight and the Bull, and ring the bell first.

Everybody trades at once. You call a number; whoever calls the same number
swaps that many cards with you, unseen. A lot is 1-4 cards of one commodity;
Bull and Bear may each take a card's place. Holding the Bear, or the Bull,
costs points when somebody else corners.

  UP DOWN     choose the commodity to give (or the letter before it)
  b  e        mark the Bull, the Bear: it goes with the next call
  1 2 3 4     call so many cards; a new call replaces your old one
  ENTER       answer the offer marked with ▶ with as many of yours
  TAB         mark another offer
  w           take your open offer back
  SPACE       ring the bell, in the commodity that pays most
  r           ready: start, hand sorted, next round
  q           leave

Whoever makes no move for too long counts as away, and a stand-in plays the
hand until you move again.                             Any key closes this."""

LEAVE: Final = """\
Leave the game for good? Your seat is given up, and a stand-in plays your
hand to the end.

  y   leave        any other key   stay"""


NOT_OPEN: Final[dict[int, str]] = {
    table_pb2.PHASE_SEATING: "The game has not started. r starts it, or says you are ready.",
    table_pb2.PHASE_SORTING: "Trading is not open yet; the countdown is at the top right.",
    table_pb2.PHASE_BETWEEN: "The round is over. r: ready for the next one.",
}


class Seat(Protocol):
    """What the screen needs of a seat; `SeatSession` is one."""

    @property
    def view(self) -> TableView: ...
    @property
    def log_us(self) -> int: ...
    @property
    def connected(self) -> bool: ...
    def __aiter__(self) -> AsyncIterator[Happening]: ...
    async def ready(self, ready_for: table_pb2.ReadyFor.ValueType) -> Outcome: ...
    async def offer(
        self, lot: int, directed_at: int = NOBODY, immediate: bool = False
    ) -> Outcome: ...
    async def withdraw(self) -> Outcome: ...
    async def ring_bell(self, lane: int) -> Outcome: ...


class Card(ModalScreen[str]):
    """A text over the table; the key that closes it is the answer."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with Middle():
            yield Static(self._text, markup=False)

    def on_key(self, event: Key) -> None:
        event.stop()
        event.prevent_default()
        self.dismiss(event.key)


class TableScreen(Screen[None]):
    """The table; keys mean what the last line of it says."""

    def __init__(self, app: "PlayApp") -> None:
        super().__init__()
        self._play = app

    def compose(self) -> ComposeResult:
        yield Static(id="table", markup=False)

    def on_mount(self) -> None:
        self.set_interval(REDRAW_S, self._redraw)
        self._redraw()

    def _redraw(self) -> None:
        self.query_one("#table", Static).update(self._play.drawn(self.size.width, self.size.height))

    def on_key(self, event: Key) -> None:
        event.stop()
        event.prevent_default()  # TAB and the arrows are ours
        self._play.pressed(event.key)
        self._redraw()


class PlayApp(App[None]):
    """A person's seat. Runs until the person leaves."""

    CSS = """
    Screen { overflow: hidden; }
    Card { align: center middle; }
    Card Middle { width: 80; height: auto; border: round white; padding: 0 1; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+c,ctrl+q", "leave", "Leave")]

    def __init__(
        self,
        seat: Seat,
        start: Callable[[], Awaitable[None]],
        leave: Callable[[], Awaitable[None]],
        take_back: Callable[[], Awaitable[Seat]],
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(ansi_color=True)
        self.model = Model(seat.view)
        self._seat = seat
        self._start_table = start
        self._leave_table = leave
        self._take_back_seat = take_back
        self._steady_s = steady_s
        self._cut_at_s: float | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._keys: dict[str, Callable[[], None]] = {
            "up": lambda: self._move(-1),
            "down": lambda: self._move(1),
            "b": lambda: self._mark(BULL),
            "e": lambda: self._mark(BEAR),
            "enter": self._answer,
            "tab": lambda: self.model.aim_next(self._seat.view),
            "w": self._withdraw,
            "space": self._ring,
            "r": self._say_ready,
            "question_mark": lambda: self._over(HELP),
            "q": self.action_leave,
            "ctrl+c": self.action_leave,
            **{str(size): self._caller(size) for size in range(1, 5)},
            **{key: self._chooser(place) for place, key in enumerate(ROW_KEYS)},
        }

    def on_mount(self) -> None:
        self.push_screen(TableScreen(self))
        self._spawn(self._follow())

    async def on_unmount(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # ------------------------------------------------------------------ shown

    @property
    def view(self) -> TableView:
        """The table as it is known now."""
        return self._seat.view

    def drawn(self, width: int, height: int) -> Any:
        """The screen as it is now."""
        return draw(self.model, self._seat.view, self._now(), width, height)

    def _now(self) -> Now:
        now_s = self._steady_s()
        if self._seat.connected or self.model.end:
            self._cut_at_s = None
            return Now(self._seat.log_us)
        if self._cut_at_s is None:
            self._cut_at_s = now_s
            self.model.say(
                "CONNECTION LOST: what happens now will be told when it is back",
                self._seat.log_us,
            )
        return Now(self._seat.log_us, now_s - self._cut_at_s)

    def _over(self, text: str, then: Callable[[str | None], None] | None = None) -> None:
        self.push_screen(Card(text), then)

    # ------------------------------------------------------------------ from the exchange

    async def _follow(self) -> None:
        try:
            async for happening in self._seat:
                self.model.take(happening, self._seat.view, self._seat.log_us)
        except Superseded:
            self.model.superseded(self._seat.view)
        except Refused as refused:
            gone = refused.reason == "TABLE_CLOSED"
            self.model.end = (
                "The table is closed."
                if gone
                else words.refusal(refused.reason, {}, refused.message)
            )
        except ClientError as error:
            self.model.end = f"The seat is lost: {error}."

    # ------------------------------------------------------------------ keys

    def pressed(self, key: str) -> None:
        """One key of the person."""
        action = self._keys.get(key)
        if action is None:
            self.model.notice = "That key does nothing here; ? shows all keys."
            return
        if key not in {"q", "ctrl+c", "question_mark"}:
            self.model.notice = ""
        action()

    def _caller(self, size: int) -> Callable[[], None]:
        return lambda: self._call(size)

    def _chooser(self, place: int) -> Callable[[], None]:
        def choose() -> None:
            suits, choice = self._seat.view.suits, self.model.choice
            if place < len(suits):
                self.model.choice = Choice(suits[place], choice.bull, choice.bear)

        return choose

    def _move(self, step: int) -> None:
        if self._seat.view.suits:
            self.model.choice = moved(self._seat.view, self.model.choice, step)

    def _mark(self, lane: int) -> None:
        choice = self.model.choice
        if not count(self._seat.view.hand, lane):
            self.model.notice = f"You do not hold the {'Bull' if lane == BULL else 'Bear'}."
        elif lane == BULL:
            self.model.choice = Choice(choice.lane, not choice.bull, choice.bear)
        else:
            self.model.choice = Choice(choice.lane, choice.bull, not choice.bear)

    def _call(self, size: int) -> None:
        if self._not_open():
            return
        lot = lot_of(self._seat.view, self.model.choice, size)
        if isinstance(lot, str):
            self.model.notice = lot
        else:
            self._act(self._seat.offer(lot))

    def _answer(self) -> None:
        view = self._seat.view
        aimed = self.model.aimed(view)
        if self._not_open():
            return
        if aimed == NOBODY:
            self.model.notice = "No open offer to answer just now. Call one yourself with 1 to 4."
            return
        size = view.seats[aimed].offer_size
        lot = lot_of(view, self.model.choice, size)
        if isinstance(lot, str):
            self.model.notice = f"{story.player(view, aimed)} holds up {size}. {lot}"
        else:
            directed = aimed if view.rules.directed_offers else NOBODY
            self._act(self._seat.offer(lot, directed, immediate=True))

    def _withdraw(self) -> None:
        if not self._not_open():
            self._act(self._seat.withdraw())

    def _ring(self) -> None:
        view = self._seat.view
        if self._not_open():
            return
        claim = best_claim(view)
        if claim is None:
            self.model.notice = (
                "No corner yet, so the bell stays silent: you need nine of one commodity"
                if not view.rules.bull_and_bear
                else "No corner yet, the bell stays silent: nine of a kind, or eight and the Bull."
            )
            return
        self.model.notice = f"You ring: {claim_words(claim, view.deck)} ..."
        self._act(self._seat.ring_bell(claim.lane))

    def _say_ready(self) -> None:
        view = self._seat.view
        if self.model.retakable:
            self._spawn(self._take_back())
        elif view.phase == table_pb2.PHASE_SEATING:
            if view.owner == view.seats[view.seat].person:
                self._spawn(self._start())
            else:
                self._act(self._seat.ready(table_pb2.READY_FOR_START))
        elif view.phase == table_pb2.PHASE_SORTING:
            self._act(self._seat.ready(table_pb2.READY_FOR_OPEN))
        elif view.phase == table_pb2.PHASE_BETWEEN:
            self._act(self._seat.ready(table_pb2.READY_FOR_NEXT))
        else:
            self.model.notice = "Nothing waits for your r just now."

    def action_leave(self) -> None:
        """Leave with care: a game in play is asked about."""
        over = self._seat.view.phase in {table_pb2.PHASE_ENDED, table_pb2.PHASE_CLOSED}
        if over or self.model.end:
            self.exit()
        elif isinstance(self.screen, TableScreen):
            self._over(LEAVE, self._maybe_leave)

    def _maybe_leave(self, key: str | None) -> None:
        if key == "y":
            self._spawn(self._leave())
        else:
            self.model.notice = "You stay."

    def _not_open(self) -> bool:
        """Whether there is nothing to trade on now; then the person is told."""
        phase = self._seat.view.phase
        if self.model.end:
            self.model.notice = "Nothing was sent: you do not hold the seat just now."
            return True
        if phase == table_pb2.PHASE_OPEN:
            return False
        self.model.notice = NOT_OPEN.get(phase, "The game is over. q leaves.")
        return True

    # ------------------------------------------------------------------ acts

    def _act(self, act: Coroutine[Any, Any, Outcome]) -> None:
        self._spawn(self._settle(act))

    async def _settle(self, act: Coroutine[Any, Any, Outcome]) -> None:
        try:
            self.model.settled(await act)
        except InFlightFull:
            self.model.notice = "Too many keys await their answers; wait until some have come."
        except ClientError as error:
            self.model.notice = f"Not sent: {error}"

    async def _start(self) -> None:
        try:
            await self._start_table()
        except Refused as refused:
            self.model.notice = words.refusal(refused.reason, {}, refused.message)

    async def _take_back(self) -> None:
        """The seat again, after a stand-in or another device had it."""
        self.model.end, self.model.retakable = "", False
        try:
            self._seat = await self._take_back_seat()
        except ClientError as error:
            self.model.end = f"The seat is lost: {error}."
            return
        self.model.refresh(self._seat.view)
        self.model.moved_at_us = self._seat.log_us
        self.model.say("You have your seat again", self._seat.log_us)
        self._spawn(self._follow())

    async def _leave(self) -> None:
        try:
            await self._leave_table()
        except ClientError as error:
            self.model.say(f"Leaving was not confirmed: {error}", self._seat.log_us)
        self.exit()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
