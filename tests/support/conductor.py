"""Plays tables straight through the log, as a gateway would, but seeing all hands.

It follows the out streams with `evolve`, so its tables are what the log says, and sends each seat's
next command through the in streams. A command stays outstanding until the log answers it, and is
sent again, as it was, when that takes too long: so nothing is left to chance when matchers die.
"""

from base64 import b32encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Protocol

from engine import commands
from engine.cards import BEAR, BULL, LANE_BITS, NO_CARDS, count
from engine.commands import NOBODY, AbsentPolicy, Command, Purpose, Visibility
from engine.events import Answered, Attached, Event, Note, RequestAnswered, Traded
from engine.evolve import evolve
from engine.rules import PRESETS, Rules
from engine.shown import Phase
from engine.table import Seat, Table
from services.log.codec import InBatch, pack_batch, pack_command, unpack_record
from services.log.port import OutEntry

GATEWAY = "conductor"
AGAIN_S = 1.0
"""A gateway sends a command again when it has heard nothing for so long; the table sees it once."""


class Pipe(Protocol):
    """The two ends of the log that the conductor holds."""

    def send(self, shard: int, body: bytes) -> None: ...

    def read(self, shard: int, after: str) -> list[OutEntry]: ...


def table_id(shard: int, number: int) -> str:
    """A well-formed id of a table of this shard."""
    return f"{shard:02d}{b32encode(sha256(b'%d' % number).digest()).decode().lower()[:20]}"


@dataclass
class Seen:
    """What the log has said so far."""

    trades: int = 0
    rounds: int = 0
    games: int = 0
    refused: int = 0
    answered: int = 0


@dataclass
class Outstanding:
    command: Command
    sent_s: float


class Conductor:
    """Some tables, played for ever: when a game is over its table goes on to the next id."""

    def __init__(
        self,
        pipe: Pipe,
        shards: int,
        tables: int,
        monotonic: Callable[[], float],
        *,
        seats: int = 4,
        rules: Rules = PRESETS["blitz"],
        seed: int = 1,
    ) -> None:
        self.pipe = pipe
        self.monotonic = monotonic
        self.random = Random(seed)
        self.rules = rules
        self.seats = seats
        self.seen = Seen()
        self.tables: dict[str, Table] = {}
        """All that were ever opened, as the log says they are."""
        self.playing: list[str] = []
        self.opened = 0
        self.after = dict.fromkeys(range(shards), "0-0")
        self.outstanding: dict[tuple[str, int], Outstanding] = {}
        self.silent: set[int] = set()
        """Seats of which nothing more is sent."""
        self.alive_s = 0.0
        for number in range(tables):
            self.open_another(number % shards)

    # ---------------------------------------------------------------- a step

    def step(self) -> int:
        """Hear what the log says, then send what follows; how many commands were sent."""
        self.listen()
        return self.send()

    def listen(self) -> int:
        """Evolve the tables over what is new in the log."""
        entries = 0
        for shard, after in self.after.items():
            for entry in self.pipe.read(shard, after):
                self.after[shard] = entry.id
                entries += 1
                for chunk in entry.chunks:
                    assert chunk.intact
                    record = unpack_record(chunk.table, chunk.body)
                    table = self.tables.get(chunk.table)
                    if table is not None:
                        for item in record.items:
                            self.hear(table, item)
        return entries

    def hear(self, table: Table, item: Event | Note) -> None:
        evolve(table, item)
        if isinstance(item, Answered):
            waiting = self.outstanding.get((table.table, item.seat))
            if waiting and getattr(waiting.command, "number", None) == item.number:
                del self.outstanding[table.table, item.seat]
                self.seen.answered += 1
                self.seen.refused += item.rejection != 0
        elif isinstance(item, Attached):
            self.outstanding.pop((table.table, item.seat), None)
        elif isinstance(item, RequestAnswered):
            seat = int.from_bytes(item.request, "big") % 100
            self.outstanding.pop((table.table, seat - 1), None)
        elif isinstance(item, Traded):
            self.seen.trades += 1
        self.seen.rounds += type(item).__name__ == "RoundScored"
        self.seen.games += type(item).__name__ == "GameEnded"

    def send(self) -> int:
        """Every seat's next command, or the outstanding one again if it has waited long."""
        now_s = self.monotonic()
        batches: dict[int, list[tuple[str, bytes]]] = {}
        if now_s - self.alive_s >= 1:
            self.alive_s = now_s
            batches = {shard: [] for shard in self.after}
        sent = 0
        for name, seat, command in self.due(now_s):
            self.outstanding[name, seat] = Outstanding(command, now_s)
            batches.setdefault(int(name[:2]), []).append((name, pack_command(command)))
            sent += 1
        for shard, packed in batches.items():
            for first in range(0, max(len(packed), 1), 8):
                self.pipe.send(
                    shard, pack_batch(InBatch(GATEWAY, tuple(packed[first : first + 8])))
                )
        return sent

    def due(self, now_s: float) -> Iterator[tuple[str, int, Command]]:
        for name, table in list(self.tables.items()):
            if table.phase in (Phase.ENDED, Phase.CLOSED) and name in self.playing:
                self.playing.remove(name)
                self.open_another(int(name[:2]))
        for name in self.playing:
            table = self.tables[name]
            for seat, command in self.wishes(table):
                waiting = self.outstanding.get((name, seat))
                if waiting is None:
                    yield name, seat, command
                elif now_s - waiting.sent_s >= AGAIN_S:
                    yield name, seat, waiting.command

    def open_another(self, shard: int) -> None:
        name = table_id(shard, self.opened)
        self.opened += 1
        self.tables[name] = Table(name)
        self.playing.append(name)

    # ---------------------------------------------------------------- what seats want

    def wishes(self, table: Table) -> Iterable[tuple[int, Command]]:
        """(seat, its next command); seat -1 is whoever opens the table."""
        if table.phase == Phase.NEW:
            return [(-1, self.opening(table))]
        return [
            (number, command)
            for number, seat in enumerate(table.seats)
            if number not in self.silent and (command := self.wish(table, number, seat))
        ]

    def opening(self, table: Table) -> Command:
        return commands.OpenTable(
            **self.request(table, -1),
            rules=self.rules,
            seats=self.seats,
            display_name="A table",
            visibility=Visibility.PUBLIC,
            absent_policy=AbsentPolicy.BOT,
            bots=True,
            for_bots=False,
            invite_hash=b"",
        )

    def wish(self, table: Table, number: int, seat: Seat) -> Command | None:
        if not seat.person:
            return commands.Join(**self.request(table, number), seat=number, invite_hash=b"")
        if not seat.connected:
            stream = self.random.randbytes(16)
            return commands.Attach(number, seat.person, GATEWAY, stream, False, 0)
        purposes = {
            Phase.SEATING: Purpose.START,
            Phase.SORTING: Purpose.OPEN,
            Phase.BETWEEN: Purpose.NEXT,
        }
        if purpose := purposes.get(Phase(table.phase)):
            if seat.ready & (1 << purpose) or seat.dropped:
                return None
            nonce = b"" if purpose == Purpose.OPEN else self.random.randbytes(16)
            return commands.Ready(**self.common(table, number), purpose=purpose, nonce=nonce)
        return self.trade(table, number, seat)

    def trade(self, table: Table, number: int, seat: Seat) -> Command | None:
        """Ring with nine; else offer the commodity one has least of, now and then all anew."""
        held = {lane: count(seat.hand, lane) for lane in table.suits}
        best = max(held, key=lambda lane: (held[lane], -lane))
        bull = count(seat.hand, BULL)
        if held[best] == 9 or (held[best] == 8 and bull):
            return commands.RingBell(**self.common(table, number), commodity=best)
        if seat.offer_size and self.random.random() < 0.8:
            return None
        spare = [lane for lane in held if lane != best and held[lane]]
        if count(seat.hand, BEAR) and self.random.random() < 0.2:
            lot = 1 << (LANE_BITS * BEAR)
        elif spare:
            lane = self.random.choice(spare)
            lot = min(held[lane], self.random.choice((1, 1, 2, 3))) << (LANE_BITS * lane)
        else:
            return None
        assert lot != NO_CARDS
        return commands.Offer(
            **self.common(table, number),
            lot=lot,
            directed_at=NOBODY,
            immediate=False,
            limit_ms=0,
        )

    def request(self, table: Table, seat: int) -> dict[str, object]:
        """Request ids end in two digits that say whose they are."""
        request = (
            (int.from_bytes(sha256(table.table.encode()).digest()[:8], "big") * 100) + seat + 1
        )
        person = f"p{b32encode(sha256(b'%d' % max(seat, 0)).digest()).decode().lower()[:20]}"
        return {"request": request.to_bytes(16, "big"), "content": 7, "person": person}

    def common(self, table: Table, number: int) -> dict[str, int]:
        seat = table.seats[number]
        numbers = seat.numbers[0]
        return {
            "seat": number,
            "attach": seat.attach,
            "generation": numbers.generation,
            "number": numbers.last + 1,
            "round": table.round,
            "seen_seq": table.seq,
            "content": self.random.getrandbits(60),
        }
