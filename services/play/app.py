"""The terminal: keys in, the screen out. What they mean stands in `player`, what is shown in
`screen`."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final, Protocol

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Middle
from textual.events import Key
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from services.client.view import TableView
from services.play.guidance import Now
from services.play.model import Model
from services.play.screen import draw

REDRAW_S: Final = 0.1
"""Countdowns show tenths."""


class Watched(Protocol):
    """The table as its stream tells it."""

    @property
    def view(self) -> TableView: ...
    @property
    def log_us(self) -> int: ...
    @property
    def connected(self) -> bool: ...


class Person(Protocol):
    """Who sits at the keys: a `Player`, or a spectator."""

    @property
    def seat(self) -> Watched: ...
    @property
    def model(self) -> Model: ...
    async def follow(self) -> None: ...
    def pressed(self, key: str) -> None: ...
    def leave(self) -> None: ...


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
        self._play.person.pressed(event.key)
        self._redraw()


class PlayApp(App[None]):
    """A person at a table. Runs until the person leaves.

    `sit` makes the person, who is given this app as the `Stage` of `player`.
    """

    CSS = """
    Screen { overflow: hidden; }
    Card { align: center middle; }
    Card Middle { width: 80; max-width: 100%; height: auto; border: round white; padding: 0 1; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+c,ctrl+q", "leave", "Leave")]

    def __init__(
        self,
        sit: Callable[["PlayApp"], Person],
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(ansi_color=True)
        self._steady_s = steady_s
        self._cut_at_s: float | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.person = sit(self)

    def on_mount(self) -> None:
        self.push_screen(TableScreen(self))
        self.spawn(self.person.follow())

    async def on_unmount(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def action_leave(self) -> None:
        if isinstance(self.screen, TableScreen):
            self.person.leave()

    # ------------------------------------------------------------------ shown

    def drawn(self, width: int, height: int) -> Any:
        """The screen as it is now."""
        now = self._now()
        self.person.model.age(now.log_us)
        return draw(self.person.model, self.person.seat.view, now, width, height)

    def _now(self) -> Now:
        now_s, model, seat = self._steady_s(), self.person.model, self.person.seat
        log_us = seat.view.frozen_at_us or seat.log_us
        if seat.connected or model.end:
            self._cut_at_s = None
            return Now(log_us)
        if self._cut_at_s is None:
            self._cut_at_s = now_s
            model.say("CONNECTION LOST: what happens now will be told when it is back", seat.log_us)
        return Now(log_us, now_s - self._cut_at_s)

    # ------------------------------------------------------------------ the stage

    def ask(self, text: str, then: Callable[[str | None], None] | None = None) -> None:
        self.push_screen(Card(text), then)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def quit(self) -> None:
        self.exit()
