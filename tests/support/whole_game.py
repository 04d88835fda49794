"""A whole game by `decide`, as the records its log would hold: quick to make, long enough to forge."""

from random import Random

from engine.cards import BEAR, BULL, LOT_MAX, ONE, SUIT_SIZE, count
from engine.commands import Purpose
from engine.events import Event, Note, Record
from engine.rules import Rules
from engine.shown import Phase
from services.log.codec import pack_record
from services.log.port import START, Commit, OwnerLog
from support.playing import Playing

GAME = "00aaaaaaaaaaaaaaaaaaaa"
NONCE = b"owner-of-a-shard"


class WholeGame(Playing):
    """Seat 0 or another collects, the others swap with it; a bell ends each round."""

    def __init__(self, rules: Rules | str = "blitz", seats: int = 4, seed: int = 1) -> None:
        super().__init__(rules, seats, seed)
        self.records: list[tuple[int, Record]] = []
        """(log time, record), one for each command decided."""
        self._before = 0
        self._first_seq = 1

    def give(self, command):  # type: ignore[no-untyped-def]
        self._first_seq = self.table.seq + 1
        outcome = super().give(command)
        items: tuple[Event | Note, ...] = tuple(self.items[self._before :])
        self._before = len(self.items)
        if items:
            self.records.append((self.now_ms, Record(GAME, self._first_seq, items)))
        return outcome

    def played(self, rounds: int = 100) -> "WholeGame":
        """Play until the game is won, or so many rounds are over."""
        self.dealt()
        chance = Random(self.random.random())
        while self.table.phase not in (Phase.ENDED, Phase.CLOSED) and self.table.round <= rounds:
            self.wait(max(self.table.opens_at_ms - self.now_ms, 0))
            assert self.table.phase == Phase.OPEN
            self.collect(chance.randrange(self.size), chance.choice(self.table.suits))
            if self.table.phase == Phase.BETWEEN and self.table.round < rounds:
                for seat in range(self.size):
                    self.ready(seat, Purpose.NEXT, chance.randbytes(16))
            elif self.table.round >= rounds:
                break
        return self

    def collect(self, seat: int, lane: int) -> None:
        """Swap until `seat` holds nine of `lane` and no card that would block them, then ring."""
        while True:
            hand = self.table.seats[seat].hand
            spare = [other for other in self.given_away(lane) if count(hand, other)]
            if count(hand, lane) == SUIT_SIZE and not (count(hand, BEAR) and self.blocks()):
                break
            self.now_ms += 40
            if not self.swap(seat, lane, spare):
                self.swap_blocker(seat, lane)
        self.now_ms += 400
        self.ring(seat, lane)
        assert not self.answer.rejection

    def blocks(self) -> bool:
        return self.rules.bear_blocks

    def given_away(self, lane: int) -> list[int]:
        return [other for other in (BEAR, BULL, *self.table.suits) if other != lane]

    def swap(self, seat: int, lane: int, spare: list[int]) -> bool:
        """One trade that brings `seat` cards of `lane`."""
        for other in range(self.size):
            there = 0 if other == seat else count(self.table.seats[other].hand, lane)
            for given in spare if there else ():
                size = min(there, count(self.table.seats[seat].hand, given), LOT_MAX)
                self.offer(other, size * ONE[lane])
                self.offer(seat, size * ONE[given])
                return True
        return False

    def swap_blocker(self, seat: int, lane: int) -> None:
        """Nine in hand, and the Bear beside them: it goes to the next seat."""
        other = (seat + 1) % self.size
        wanted = next(
            suit for suit in self.table.suits if count(self.table.seats[other].hand, suit)
        )
        self.offer(other, ONE[wanted])
        self.offer(seat, ONE[BEAR])


class ShardWriter:
    """An owner that writes given records to shard 0."""

    def __init__(self, log: OwnerLog, nonce: bytes = NONCE) -> None:
        self._log = log
        self._nonce = nonce
        lease = self._log.leases([0])[0]
        acquired = self._log.acquire(0, nonce, lease)
        assert acquired is not None
        self._epoch = acquired.epoch
        self._number = 0

    def write(self, now_ms: int, *records: Record) -> str:
        """One entry; its id."""
        return self.write_packed(
            now_ms, *((record.table, pack_record(record)) for record in records)
        )

    def write_packed(self, now_ms: int, *chunks: tuple[str, bytes]) -> str:
        """The same, whatever the bytes say."""
        expected = f"{self._epoch}-{self._number}"
        self._number += 1
        commit = Commit(
            shard=0,
            nonce=self._nonce,
            expected_id=expected,
            expected_nonce=self._nonce,
            id=f"{self._epoch}-{self._number}",
            position=START,
            now_ms=now_ms,
            chunks=chunks,
            dead=(),
            lobby=(),
        )
        results, _ = self._log.exchange([commit], {}, 0, 1)
        assert results == [None]
        return commit.id
