"""Whole games through a gateway in process: persons' seats moved by the bots' players."""

import random

from engine.commands import NOBODY
from engine.events import Answered, Attached
from engine.rejections import Rejection
from services.bots.acts import command_of
from services.bots.careful import CAREFUL
from services.bots.chaser import CHASER
from services.bots.pace import MAX
from services.bots.player import Player
from services.bots.wild import WILD
from services.client.happenings import Happened, Settled, Started, WasReset
from services.gateway import wire
from services.log.memory import MemoryReaderLog
from services.log.port import OutEntry
from support.front import Front, Seated

HURRY = 4.0
"""How much faster than the table's clock the players' goes: they need not look like people."""
STRATEGIES = (CAREFUL, CAREFUL, CHASER, WILD)


class Spectator:
    """Follows a table's feed without a seat."""

    seat = NOBODY
    attach = 0
    generation = 0
    bot = False
    stream = b"spectator"

    def __init__(self) -> None:
        self.raw: list[bytes] = []

    def put_event(self, item: bytes) -> None:
        self.raw.append(wire.batch(wire.sent_field(0), wire.table_head(b"", 0), [item]))

    def own_number(self, seq: int) -> int:
        return 0

    def answered(self, note: Answered) -> None:
        raise AssertionError

    def record_done(self) -> None:
        raise AssertionError

    def attached(self, note: Attached) -> None:
        raise AssertionError

    def attach_refused(self, rejection: int) -> None:
        raise AssertionError

    def superseded(self) -> None:
        raise AssertionError

    def taken_for_lost(self) -> None:
        raise AssertionError

    def history_lost(self) -> None:
        raise AssertionError

    def over(self, why: Rejection) -> None:
        raise AssertionError


class PlayedSeat:
    """A seat and the player that moves it."""

    def __init__(self, seated: Seated, chance: random.Random, number: int) -> None:
        self.seated = seated
        self.over = False
        self._chance = chance
        self._player = Player(STRATEGIES[number % len(STRATEGIES)], MAX, chance)

    def step(self, now_s: float) -> None:
        now = now_s * HURRY
        for happening in self.seated.take():
            view = self.seated.view
            match happening:
                case Happened():
                    self._player.saw(view, happening, now)
                    self.over |= happening.event.HasField("game_ended")
                case Settled():
                    self._player.settled(now)
                case Started() | WasReset():
                    self._player.began(view, now)
        if not self.over and now >= self._player.wake_at:
            act = self._player.act(self.seated.view, now)
            if act is not None:
                self.seated.submit(command_of(act, self.seated.view, self._chance))
                self._player.sent(now)


class PlayedTable:
    """Four persons and a spectator, until the game is over."""

    def __init__(self, seats: list[PlayedSeat], spectator: Spectator) -> None:
        self.seats = seats
        self.spectator = spectator
        self.name = seats[0].seated.protocol.table.partition("/")[2]

    @property
    def over(self) -> bool:
        return all(seat.over for seat in self.seats)

    @classmethod
    async def opened(cls, front: Front, chance: random.Random, rules: str) -> "PlayedTable":
        table = await front.table(front.person(0), preset=rules)
        seats = []
        for number in range(4):
            seated = await front.join(front.person(number), table)
            seats.append(PlayedSeat(seated, chance, number))
            seated.connect()
        await front.settle()
        spectator = Spectator()
        front.gateway.feed(table.partition("/")[2]).add(spectator)
        return cls(seats, spectator)


class Recorder:
    """Keeps what the log says before it is trimmed."""

    def __init__(self, front: Front) -> None:
        self._reader = MemoryReaderLog(front.world.store)
        self._after = dict.fromkeys(range(front.world.shards), "0-0")
        self.entries: list[OutEntry] = []

    def listen(self) -> None:
        for shard, after in self._after.items():
            found = self._reader.out_after(shard, after, 1_000, 0)
            self.entries += found
            if found:
                self._after[shard] = found[-1].id


async def play(front: Front, tables: list[PlayedTable], recorder: Recorder) -> None:
    """Until every game is over."""
    for step in range(20_000):
        if step % 50 == 0:
            recorder.listen()
        if all(table.over for table in tables):
            recorder.listen()
            return
        now = front.world.now_s
        for table in tables:
            for seat in table.seats:
                seat.step(now)
        await front.settle(1)
    raise AssertionError("the games did not come to an end")
