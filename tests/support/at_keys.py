"""Keys pressed at a seat, without a terminal, an exchange, or time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from pit.v1 import table_pb2

from services.client.errors import ClientError
from services.client.happenings import Effective, Happening, Outcome
from services.client.view import NOBODY, TableView
from services.play.model import Model
from services.play.player import Player
from services.play.watching import Spectator
from support.own_table import SECOND_US, happen, view_of


class FakeSeat:
    """A seat whose acts are noted and answered as the test wishes."""

    def __init__(self, view: TableView) -> None:
        self.view = view
        self.log_us = 10 * SECOND_US
        self.connected = True
        self.acts: list[tuple[object, ...]] = []
        self.answer: Outcome = Effective(21, None)
        self._news: asyncio.Queue[Happening | ClientError] = asyncio.Queue()

    def tell(self, news: Happening | ClientError) -> None:
        self._news.put_nowait(news)

    async def __aiter__(self) -> AsyncIterator[Happening]:
        while True:
            news = await self._news.get()
            if isinstance(news, ClientError):
                raise news
            yield news

    async def ready(self, ready_for: int) -> Outcome:
        return self._acted("ready", ready_for)

    async def offer(self, lot: int, directed_at: int = NOBODY, immediate: bool = False) -> Outcome:
        return self._acted("offer", lot, directed_at, immediate)

    async def withdraw(self) -> Outcome:
        return self._acted("withdraw")

    async def ring_bell(self, lane: int) -> Outcome:
        return self._acted("bell", lane)

    async def call(self, phrase: int) -> Outcome:
        return self._acted("call", phrase)

    def _acted(self, *act: object) -> Outcome:
        self.acts.append(act)
        return self.answer


class FakeHouse:
    """The exchange beside the table; what it was asked is noted."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.invite_code = ""
        self.agreed = False
        """Whether all others have said yes."""
        self.refusal: ClientError | None = None
        self.other = FakeSeat(view_of())
        """The seat anew, for who takes it back."""

    async def start(self) -> None:
        self._ask("start")

    async def leave(self) -> None:
        self._ask("leave")

    async def take_back(self) -> FakeSeat:
        self._ask("take back")
        return self.other

    async def rematch(self, yes: bool) -> FakeSeat | None:
        self._ask(f"rematch {yes}")
        return self.other if self.agreed else None

    async def transfer_code(self) -> str:
        self._ask("transfer code")
        return "MOVE-CODE"

    async def new_invite(self) -> str:
        self._ask("new invite")
        self.invite_code = "NEW-CODE"
        return self.invite_code

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.refusal is not None:
            raise self.refusal


class FakeStage:
    """A terminal without time: a text over the table is answered by the next key, and what a key
    began has ended before the next one."""

    def __init__(self) -> None:
        self.text = ""
        """What lies over the table."""
        self.over = False
        self._then: Callable[[str | None], None] | None = None
        self._begun: list[Coroutine[Any, Any, None]] = []

    def ask(self, text: str, then: Callable[[str | None], None] | None = None) -> None:
        self.text, self._then = text, then

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._begun.append(work)

    def quit(self) -> None:
        self.over = True

    async def press(self, player: Player | Spectator, *keys: str) -> None:
        for key in keys:
            then, text = self._then, self.text
            self.text, self._then = "", None
            if not text:
                player.pressed(key)
            elif then is not None:
                then(key)
            await self.finish()

    async def finish(self) -> None:
        """Let everything that was begun end."""
        while self._begun:
            await self._begun.pop(0)


class Played:
    """A player, and what its keys did."""

    def __init__(self, phase: int = table_pb2.PHASE_OPEN, preset: str = "blitz") -> None:
        self.seat = FakeSeat(view_of(phase, preset))
        self.view = self.seat.view
        self.house = FakeHouse()
        self.stage = FakeStage()
        self.model = Model(self.view)
        self.player = Player(self.seat, self.house, self.stage, self.model)

    @property
    def acts(self) -> list[tuple[object, ...]]:
        return self.seat.acts

    @property
    def notice(self) -> str:
        return self.model.notice

    @property
    def told(self) -> list[str]:
        return [line.text for line in self.model.told]

    async def press(self, *keys: str) -> None:
        await self.stage.press(self.player, *keys)

    def offered(self, seat: int, size: int) -> None:
        opened = table_pb2.OfferOpened(seat=seat, size=size)
        happen(self.model, self.view, offer_opened=opened)
