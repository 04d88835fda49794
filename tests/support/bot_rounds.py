"""Bots at a real table in virtual time: the engine decides, nothing waits, nothing is sent.

Each bot is told exactly what the gateway would send to its seat: events and snapshots go through
the gateway's own conversions, made from `engine.view`.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pit.v1 import table_pb2

from engine import commands
from engine.commands import NOBODY
from engine.decide import decide
from engine.events import (
    Answered,
    Attached,
    BotWanted,
    Event,
    GameEnded,
    RoundScored,
    RoundVoid,
    Traded,
)
from engine.evolve import evolve
from engine.rules import PRESETS, Rules
from engine.table import Table
from engine.view import view
from services.bots.acts import Act, MakeOffer, Ring, SayReady, TakeBack
from services.bots.player import Player
from services.client.happenings import Happened
from services.client.view import TableView
from services.gateway.convert.cards import deck_of
from services.gateway.convert.events import concerned, event_message, own_part
from services.gateway.convert.tables import snapshot_message

START_MS = 1_000_000
NO_CARDS = table_pb2.Cards()


@dataclass
class Tally:
    """What became of the rounds, with times in seconds of log time."""

    rounds: int = 0
    voids: int = 0
    games: int = 0
    trades: int = 0
    commands: int = 0
    rejections: dict[int, int] = field(default_factory=dict)
    open_s: float = 0.0
    """Time in which trading was open."""

    @property
    def rounds_per_minute(self) -> float:
        """Of open trading time: pauses between rounds depend on the rules alone."""
        return 60 * self.rounds / self.open_s if self.open_s else 0.0


Watcher = Callable[["BotTable", Event], None]


class BotTable:
    """One game of bots, seat by seat as they are given; `watcher` is
    shown every event unhidden, after everybody was told of it."""

    def __init__(
        self,
        rules: Rules,
        players: Sequence[Player],
        chance: random.Random,
        tally: Tally,
        watcher: Watcher | None = None,
    ) -> None:
        self.table = Table("00" + "a" * 20)
        self.now_ms = START_MS
        self.players = list(players)
        self.tally = tally
        self.over = False
        self._rules = rules
        self._chance = chance
        self._watcher = watcher
        self._deck = deck_of(rules)
        self.views: dict[int, TableView] = {}
        """What each attached seat knows."""
        self._attaches: dict[int, Attached] = {}
        self._numbers = [0] * len(players)
        self._requests = 0
        self._opened_ms = 0
        self._wanted: list[int] = []
        self._give(self._open_command())
        self._give(commands.Start(**self._request()))
        for seat in self._wanted:
            self._attach(seat)

    @property
    def now(self) -> float:
        return self.now_ms / 1000

    def step(self) -> None:
        """Let time pass until the next thing happens, and let it happen."""
        seat = min(self.views, key=lambda one: self.players[one].wake_at)
        wake_ms = self.players[seat].wake_at * 1000
        due_ms = self.table.wake_at_ms or float("inf")
        self.now_ms = max(self.now_ms, int(min(wake_ms, due_ms)) + 1)
        if due_ms <= wake_ms:
            self._give(commands.Tick())
            return
        player, seen = self.players[seat], self.views[seat]
        act = player.act(seen, self.now)
        if act is not None:
            player.sent(self.now)
            self._give(self._command(seat, act))
            player.settled(self.now)

    # ------------------------------------------------------------------ inside

    def _give(self, command: commands.Command) -> None:
        events, answer = decide(self.table, command, self.now_ms, self._chance.randbytes)
        if answer is not None:
            if isinstance(answer, Answered):
                self._count_answer(answer)
            shown = answer.shown if isinstance(answer, Attached) else None
            evolve(self.table, answer)
            if isinstance(answer, Attached) and shown is not None:
                self._attaches[answer.seat] = answer
                seen = TableView(snapshot_message(shown, {}))
                self.views[answer.seat] = seen
                self.players[answer.seat].began(seen, self.now)
        for event in events:
            evolve(self.table, event)
            self._tell(event)

    def _count_answer(self, answer: Answered) -> None:
        self.tally.commands += 1
        if answer.rejection:
            counted = self.tally.rejections
            counted[answer.rejection] = counted.get(answer.rejection, 0) + 1

    def _tell(self, event: Event) -> None:
        self._count(event)
        message = event_message(view(event, NOBODY), self.table.seq, self._deck, {})
        for seat, seen in self.views.items():
            received = given = NO_CARDS
            if seat in concerned(event):
                own = own_part(view(event, seat), seat, self._deck)
                if own is not None:
                    received, given = own.received, own.given
            seen.apply(message, received, given)
            self.players[seat].saw(seen, Happened(message, 0, received, given), self.now)
        if self._watcher is not None:
            self._watcher(self, event)

    def _count(self, event: Event) -> None:
        match event:
            case BotWanted(seat):
                self._wanted.append(seat)
            case Traded():
                self.tally.trades += 1
            case RoundScored() | RoundVoid():
                self.tally.rounds += 1
                self.tally.voids += isinstance(event, RoundVoid)
                self.tally.open_s += (self.now_ms - self._opened_ms) / 1000
            case GameEnded():
                self.tally.games += 1
                self.over = True
        if type(event).__name__ == "ExchangeOpened":
            self._opened_ms = self.now_ms

    def _attach(self, seat: int) -> None:
        self._give(
            commands.Attach(
                seat=seat,
                person="b" + "a" * 20,
                gateway="g",
                stream=bytes([seat]) * 16,
                bot=True,
                resume_generation=0,
            )
        )

    def _command(self, seat: int, act: Act) -> commands.SeatCommand:
        self._numbers[seat] += 1
        common = {
            "seat": seat,
            "attach": self._attaches[seat].attach,
            "generation": self._attaches[seat].generation,
            "number": self._numbers[seat],
            "round": self.table.round,
            "seen_seq": self.table.seq,
            "content": self._numbers[seat],
        }
        match act:
            case MakeOffer(lot, directed_at, immediate, limit_ms):
                return commands.Offer(
                    **common,
                    lot=lot,
                    directed_at=directed_at,
                    immediate=immediate,
                    limit_ms=limit_ms,
                )
            case TakeBack():
                return commands.Withdraw(**common)
            case Ring(lane):
                return commands.RingBell(**common, commodity=lane)
            case SayReady(ready_for):
                nonce = b"" if ready_for == table_pb2.READY_FOR_OPEN else self._chance.randbytes(16)
                return commands.Ready(**common, purpose=int(ready_for), nonce=nonce)

    def _open_command(self) -> commands.OpenTable:
        return commands.OpenTable(
            **self._request(),
            rules=self._rules,
            seats=len(self.players),
            display_name="bots",
            visibility=commands.Visibility.PUBLIC,
            absent_policy=commands.AbsentPolicy.BOT,
            bots=True,
            for_bots=True,
            invite_hash=b"",
        )

    def _request(self) -> dict[str, object]:
        self._requests += 1
        return {
            "request": self._requests.to_bytes(16, "big"),
            "content": self._requests,
            "person": "b" + "a" * 20,
        }


def play_rounds(
    preset: str,
    rounds: int,
    make_player: Callable[[random.Random], Player],
    seed: int,
    seats: int = 4,
    watcher: Watcher | None = None,
) -> Tally:
    """So many rounds, over as many games as that takes."""
    chance = random.Random(seed)
    tally = Tally()
    while tally.rounds < rounds:
        players = [make_player(random.Random(chance.getrandbits(64))) for _ in range(seats)]
        game = BotTable(PRESETS[preset], players, chance, tally, watcher)
        while not game.over and tally.rounds < rounds:
            game.step()
    return tally
