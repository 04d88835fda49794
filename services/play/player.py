"""What a person's keys do at the table. No terminal here: a `Stage` shows texts and runs acts."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Protocol

from pit.v1 import table_pb2

from engine.cards import BEAR, BULL, NO_CARDS, count
from services.client.errors import ClientError, Refused
from services.client.happenings import Happening, Outcome
from services.client.protocol import InFlightFull
from services.client.view import NOBODY, TableView
from services.play import story, texts, words
from services.play.hand import (
    Choice,
    best_claim,
    claim_words,
    lot_of,
    moved,
    with_mark,
    without_mark,
)
from services.play.model import Model
from services.play.panels import ROW_KEYS
from services.play.rules_card import rules_card


class Seat(Protocol):
    """What is needed of a seat; `SeatSession` is one."""

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
    async def call(self, phrase: table_pb2.Phrase.ValueType) -> Outcome: ...


class House(Protocol):
    """What is asked of the exchange beside the table. Raises `ClientError`."""

    invite_code: str
    """Of a private table of one's own; empty where it is not known here."""

    async def start(self) -> None: ...
    async def leave(self) -> None:
        """Give the seat up."""

    async def take_back(self) -> Seat:
        """The seat anew, after somebody else had it."""

    async def rematch(self, yes: bool) -> Seat | None:
        """Vote for another game with the same people. The seat there, once it is agreed."""

    async def transfer_code(self) -> str:
        """A code that moves the seat to another device."""

    async def new_invite(self) -> str:
        """A new invite code; earlier ones are worth nothing from then on."""


class Stage(Protocol):
    """The terminal, as a player needs it."""

    def ask(self, text: str, then: Callable[[str | None], None] | None = None) -> None:
        """Show a text over the table; the key that closes it is the answer."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run it beside everything else."""

    def quit(self) -> None:
        """Close the terminal's screen."""


class Player:
    """A person's seat and its keys."""

    def __init__(self, seat: Seat, house: House, stage: Stage, model: Model) -> None:
        self.seat = seat
        self.model = model
        self._house = house
        self._stage = stage
        self._moving = False
        """On the way to a new table."""
        self._keys: dict[str, Callable[[], None]] = {
            "up": lambda: self._move(-1),
            "down": lambda: self._move(1),
            "right": lambda: self._mix(with_mark),
            "left": lambda: self._mix(without_mark),
            "x": self._unmark,
            "b": lambda: self._mark(BULL),
            "e": lambda: self._mark(BEAR),
            "enter": self._answer,
            "tab": lambda: self.model.aim_next(self.seat.view),
            "w": self._withdraw,
            "space": self._ring,
            "r": self._say_ready,
            "n": self._no_rematch,
            "c": lambda: stage.ask(texts.phrases(), self._say),
            "m": self._ask_mute,
            "i": self._invite,
            "t": lambda: stage.spawn(self._ask_house(self._transfer())),
            "v": lambda: stage.ask(rules_card(self.view)),
            "question_mark": lambda: stage.ask(texts.help_text(self.view.rules, watching=False)),
            "q": self.leave,
            "ctrl+c": self.leave,
            **{str(cards): self._caller(cards) for cards in range(1, 5)},
            **{key: self._chooser(place) for place, key in enumerate(ROW_KEYS)},
        }

    @property
    def view(self) -> TableView:
        return self.seat.view

    async def follow(self) -> None:
        """Take what happens until the seat's life here is over."""
        try:
            async for happening in self.seat:
                self.model.take(happening, self.view, self.seat.log_us)
                if self.view.rematch_table and self.view.seats[self.view.seat].plays_again:
                    self._play_again()
        except ClientError as error:
            self.model.lost(error, self.view)

    def pressed(self, key: str) -> None:
        """One key of the person."""
        action = self._keys.get(key)
        if action is None:
            self.model.notice = "That key does nothing here; ? shows all keys."
            return
        if key not in {"q", "ctrl+c", "question_mark"}:
            self.model.notice = ""
        action()

    # ------------------------------------------------------------------ choosing

    def _chooser(self, place: int) -> Callable[[], None]:
        def choose() -> None:
            suits = self.view.suits
            if place < len(suits):
                self.model.choice = Choice(suits[place], self.model.choice.marked)

        return choose

    def _move(self, step: int) -> None:
        if self.view.suits:
            self.model.choice = moved(self.view, self.model.choice, step)

    def _mark(self, lane: int) -> None:
        """Mark the Bull or the Bear, or unmark it."""
        choice = self.model.choice
        if not count(self.view.hand, lane):
            self.model.notice = f"You do not hold the {words.lane_name(self.view.deck, lane)}."
            return
        change = without_mark if count(choice.marked, lane) else with_mark
        self._choose(change(self.view, choice, lane))

    def _mix(self, change: Callable[[TableView, Choice, int], Choice | str]) -> None:
        """Mark or unmark a card of the chosen commodity."""
        if not self.view.rules.mixed_lots:
            self.model.notice = "These rules know no mixed lots: 1 to 4 calls cards of one kind."
        elif self.view.suits:
            self._choose(change(self.view, self.model.choice, self.model.choice.lane))

    def _choose(self, choice: Choice | str) -> None:
        if isinstance(choice, str):
            self.model.notice = choice
        else:
            self.model.choice = choice

    def _unmark(self) -> None:
        if self.model.choice.marked == NO_CARDS:
            self.model.notice = "Nothing is marked."
        self.model.choice = Choice(self.model.choice.lane)

    # ------------------------------------------------------------------ trading

    def _caller(self, cards: int) -> Callable[[], None]:
        return lambda: self._call(cards)

    def _call(self, cards: int) -> None:
        if self._not_open():
            return
        lot = lot_of(self.view, self.model.choice, cards)
        if isinstance(lot, str):
            self.model.notice = lot
        else:
            self._act(self.seat.offer(lot))

    def _answer(self) -> None:
        if self._not_open():
            return
        view = self.view
        aimed = self.model.aimed(view)
        if aimed == NOBODY:
            gone = self.model.just_gone(self.seat.log_us)
            late = f"Too late: {story.player(view, gone)}'s offer is gone. "
            self.model.notice = (
                f"{'No open offer to answer. ' if gone == NOBODY else late}"
                "Wait for one, or call with 1 to 4."
            )
            return
        cards = view.seats[aimed].offer_size
        if self.model.slipped(self.seat.log_us):
            who = story.player(view, aimed)
            self.model.notice = f"Nothing given: ▶ has just moved to {who}'s {cards}. Again?"
            return
        lot = lot_of(view, self.model.choice, cards)
        if isinstance(lot, str):
            self.model.notice = f"{story.player(view, aimed)} holds up {cards}. {lot}"
        else:
            directed = aimed if view.rules.directed_offers else NOBODY
            self._act(self.seat.offer(lot, directed, immediate=True))

    def _withdraw(self) -> None:
        if not self._not_open():
            self._act(self.seat.withdraw())

    def _ring(self) -> None:
        if self._not_open():
            return
        view = self.view
        claim = best_claim(view)
        if claim is None:
            self.model.notice = (
                "No corner yet, the bell stays silent: nine of a kind, or eight and the Bull."
                if view.rules.bull_and_bear
                else "No corner yet, so the bell stays silent: you need nine of one commodity."
            )
            return
        self.model.notice = f"You ring: {claim_words(claim, view.deck)} ..."
        self._act(self.seat.ring_bell(claim.lane))

    def _not_open(self) -> bool:
        """Whether there is nothing to trade on now; then the person is told."""
        if self.model.end:
            self.model.notice = "Nothing was sent: you do not hold the seat just now."
            return True
        if self.view.frozen_at_us:
            self.model.notice = words.REFUSALS["TABLE_FROZEN"]
            return True
        if self.view.phase == table_pb2.PHASE_OPEN:
            return False
        self.model.notice = texts.NOT_OPEN.get(self.view.phase, "Nothing to trade any more.")
        return True

    # ------------------------------------------------------------------ around the table

    def _say_ready(self) -> None:
        view = self.view
        if self.model.retakable:
            self._stage.spawn(self._take_back())
        elif self.model.end:
            self.model.notice = "Nothing was sent: you do not hold the seat any more."
        elif view.phase == table_pb2.PHASE_SEATING:
            if view.owner == view.seats[view.seat].person:
                self._stage.spawn(self._ask_house(self._house.start()))
            else:
                self._act(self.seat.ready(table_pb2.READY_FOR_START))
        elif view.phase == table_pb2.PHASE_SORTING and not view.rules.opens_when_sorted:
            self.model.notice = "By these rules trading opens by the clock alone."
        elif view.phase == table_pb2.PHASE_SORTING:
            self._act(self.seat.ready(table_pb2.READY_FOR_OPEN))
        elif view.phase == table_pb2.PHASE_BETWEEN:
            self._act(self.seat.ready(table_pb2.READY_FOR_NEXT))
        elif view.phase == table_pb2.PHASE_ENDED:
            self._play_again()
        else:
            self.model.notice = "Nothing waits for your r just now."

    def _play_again(self) -> None:
        if not self._moving:
            self._moving = True
            self._stage.spawn(self._rematch())

    def _no_rematch(self) -> None:
        if self.view.phase == table_pb2.PHASE_ENDED and self.view.rematch_until_us:
            self._stage.spawn(self._ask_house(self._house.rematch(yes=False)))
        else:
            self.model.notice = "Nothing waits for your n just now."

    def _say(self, key: str | None) -> None:
        phrase = texts.PHRASE_KEYS.get(key or "")
        if phrase is not None:
            self._act(self.seat.call(phrase))

    def _ask_mute(self) -> None:
        self._stage.ask(texts.mutes(self.view, self.model.muted), self._mute)

    def _mute(self, key: str | None) -> None:
        self.model.mute(key, self.view)

    def _invite(self) -> None:
        view = self.view
        if view.owner != view.seats[view.seat].person:
            self.model.notice = "Only the owner of a table can invite."
        else:
            self._stage.ask(texts.invitation(self._house.invite_code), self._renew)

    def _renew(self, key: str | None) -> None:
        if key == "n":
            self._stage.spawn(self._ask_house(self._new_invite()))

    def leave(self) -> None:
        """Leave with care: a game in play is asked about."""
        if self.view.phase in {table_pb2.PHASE_ENDED, table_pb2.PHASE_CLOSED} or self.model.end:
            self._stage.quit()
        else:
            self._stage.ask(texts.LEAVE, self._maybe_leave)

    def _maybe_leave(self, key: str | None) -> None:
        if key == "y":
            self._stage.spawn(self._leave_for_good())
        elif key == "k":
            self.model.kept = True
            self._stage.quit()
        else:
            self.model.notice = "You stay."

    # ------------------------------------------------------------------ acts

    def _act(self, act: Coroutine[Any, Any, Outcome]) -> None:
        self._stage.spawn(self._settle(act))

    async def _settle(self, act: Coroutine[Any, Any, Outcome]) -> None:
        try:
            self.model.settled(await act)
        except InFlightFull:
            self.model.notice = "Too many keys await their answers; wait until some have come."
        except ClientError as error:
            self.model.notice = f"Not sent: {error}"

    async def _ask_house(self, asked: Coroutine[Any, Any, object]) -> None:
        try:
            await asked
        except Refused as refused:
            self.model.notice = words.refusal(refused.reason, {}, refused.message)
        except ClientError as error:
            self.model.notice = f"Not done: {error}"

    async def _new_invite(self) -> None:
        code = await self._house.new_invite()
        self.model.say(f"Others join by: pit play --code {code}", self.seat.log_us)

    async def _rematch(self) -> None:
        try:
            await self._ask_house(self._go_over())
        finally:
            self._moving = False

    async def _go_over(self) -> None:
        """To the new table, if that is agreed."""
        seat = await self._house.rematch(yes=True)
        if seat is not None:
            self.seat = seat
            self.model.begin(self.view, self.seat.log_us)
            self._stage.spawn(self.follow())

    async def _transfer(self) -> None:
        self._stage.ask(texts.transfer(await self._house.transfer_code()))

    async def _take_back(self) -> None:
        """The seat again, after a stand-in or another device had it."""
        self.model.retakable = False
        try:
            self.seat = await self._house.take_back()
        except ClientError as error:
            self.model.end = f"The seat is lost: {error}."
            return
        self.model.taken_back(self.view, self.seat.log_us)
        self._stage.spawn(self.follow())

    async def _leave_for_good(self) -> None:
        try:
            await self._house.leave()
        except ClientError as error:
            self.model.say(f"Leaving was not confirmed: {error}", self.seat.log_us)
        self._stage.quit()
