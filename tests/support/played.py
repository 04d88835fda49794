"""Whole games through a gateway in process: persons' seats moved by the bots' players."""

import random

from pit.v1 import play_pb2

from services.bots.acts import command_of
from services.bots.careful import CAREFUL
from services.bots.chaser import CHASER
from services.bots.pace import MAX
from services.bots.player import Player
from services.bots.wild import WILD
from services.client.happenings import Happened, Settled, Started, WasReset
from services.log.memory import MemoryReaderLog
from services.log.port import OutEntry
from support.front import Front, OpenDoor, Seated

HURRY = 4.0
"""How much faster than the table's clock the players' goes: they need not look like people."""
STRATEGIES = (CAREFUL, CAREFUL, CHASER, WILD)


class Spectator:
    """Watches a table without a seat at it, by the real stream."""

    def __init__(self, front: Front, table: str) -> None:
        self._door = OpenDoor()
        watched = play_pb2.WatchedTable(table=table)
        stream = front.gateway.open_watch(self._door, front.person(31))
        stream.begin(play_pb2.WatchRequest(tables=[watched]))

    @property
    def raw(self) -> list[bytes]:
        """Everything that was sent."""
        return self._door.messages


class PlayedSeat:
    """A seat and the player that moves it."""

    def __init__(self, seated: Seated, chance: random.Random, number: int) -> None:
        self.seated = seated
        self.over = False
        self._chance = chance
        self._player = Player(STRATEGIES[number % len(STRATEGIES)], MAX, chance)

    def step(self, now_s: float) -> None:
        now = now_s * HURRY
        if not self.seated.door.messages and (self.over or now < self._player.wake_at):
            return
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
        spectator = Spectator(front, table)
        await front.settle()
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
