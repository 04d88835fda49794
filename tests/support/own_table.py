"""A table as one person sees it, without an exchange: views, events and a seat to press keys at."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from pit.v1 import table_pb2

from engine.cards import BEAR, BULL, pack
from engine.rules import PRESETS
from services.client.errors import ClientError
from services.client.happenings import Effective, Happened, Happening, Outcome
from services.client.view import NOBODY, TableView
from services.gateway.convert.rules import rule_set_message
from services.play.model import Model
from services.play.player import Player
from services.play.watching import Spectator

NAMES = ("Ada", "Bo", "", "Cy")
SECOND_US = 1_000_000
HAND = pack({0: 1, 2: 5, 3: 2, BULL: 1, BEAR: 1})
"""One wheat, five corn, two rye, Bull and Bear."""


def view_of(
    phase: int = table_pb2.PHASE_OPEN, preset: str = "blitz", hand: int = HAND
) -> TableView:
    """Round 2 at Ada's table, seen from her seat; ten seconds have passed."""
    snapshot = table_pb2.Snapshot(
        table="tables/00aaaaaaaaaaaaaaaaaaaa",
        seq=20,
        phase=phase,  # type: ignore[arg-type]
        rule_set=rule_set_message(PRESETS[preset]),
        display_name="Ada's table",
        owner="people/p0",
        round=2,
        dealer=1,
        seat=0,
        opens_at_us=13 * SECOND_US,
        round_ends_at_us=75 * SECOND_US,
        next_deal_at_us=18 * SECOND_US,
    )
    for seat, name in enumerate(NAMES):
        snapshot.seats.add(
            seat=seat,
            person=f"people/p{seat}" if name else "",
            display_name=name,
            bot=not name,
            connected=True,
            score=(85, -20, 0, 110)[seat],
            cards=10 if seat < 2 else 9,
        )
    view = TableView(snapshot)
    view.suits = (0, 1, 2, 3)
    view.hand = hand
    return view


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


def happen(
    model: Model,
    view: TableView,
    received: int = 0,
    given: int = 0,
    number: int = 0,
    **kind: object,
) -> Happened:
    """The next event at the table, taken by view and model."""
    event = table_pb2.Event(seq=view.seq + 1, **kind)  # type: ignore[arg-type]
    happened = Happened(event, number, shown(view, received), shown(view, given))
    view.apply(event, happened.received, happened.given)
    model.take(happened, view, 10 * SECOND_US)
    return happened


def shown(view: TableView, cards: int) -> table_pb2.Cards:
    """Packed counts as the message that shows them."""
    lot = view.deck.lot(cards)
    message = table_pb2.Cards(bull=lot.bull, bear=lot.bear)
    if lot.count:
        message.counts.add(commodity=lot.commodity, count=lot.count)
    message.counts.extend(lot.mixed)
    return message


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
