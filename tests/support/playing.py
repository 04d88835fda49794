"""A table under test and the hands that play it: commands with the right numbers, checked events."""

import random
from collections.abc import Callable
from typing import Any

from engine import commands as c
from engine import events as e
from engine.cards import DECKS, ONE, counts, size
from engine.check import check
from engine.commands import NOBODY, AbsentPolicy, Purpose, Visibility
from engine.decide import decide
from engine.evolve import evolve
from engine.rejections import Rejection
from engine.rules import PRESETS, Rules
from engine.shown import Phase
from engine.table import Table

START_MS = 1_000_000


class Playing:
    """Drives one table through `decide` and `evolve`, with `check` after every item."""

    def __init__(self, rules: Rules | str = "blitz", seats: int = 4, seed: int = 1) -> None:
        self.rules = PRESETS[rules] if isinstance(rules, str) else rules
        self.size = seats
        self.random = random.Random(seed)
        self.table = Table("00aaaaaaaaaaaaaaaaaaaa")
        self.now_ms = START_MS
        self.answer: Any = None
        """The newest answer."""
        self.items: list[e.Event | e.Note] = []
        """All that was recorded, in order."""
        self.requests = 0

    # -------------------------------------------------------------- one command

    def chance(self, count: int) -> bytes:
        return self.random.randbytes(count)

    def give(self, command: c.Command) -> tuple[tuple[e.Event, ...], Any]:
        """Decide and apply."""
        events, answer = decide(self.table, command, self.now_ms, self.chance)
        for item in (*(() if answer is None else (answer,)), *events):
            self.apply(item)
        return events, answer

    def apply(self, item: e.Event | e.Note) -> None:
        evolve(self.table, item)
        self.items.append(item)
        settled = not isinstance(item, (e.Attached, e.Cornered, e.SeatsDropped))
        if settled:
            check(self.table)

    def act(self, kind: Callable[..., c.SeatCommand], seat: int, **fields: Any) -> Any:
        """The seat's next command; its own fields by name, the common ones filled in."""
        events, answer = self.give(self.command(kind, seat, **fields))
        self.answer = answer
        return list(events) if not answer.rejection else Rejection(answer.rejection)

    def command(self, kind: Callable[..., c.SeatCommand], seat: int, **fields: Any) -> Any:
        place = self.table.seats[seat]
        common = {
            "seat": seat,
            "attach": place.attach,
            "generation": place.current.generation,
            "number": place.current.last + 1,
            "round": self.table.round,
            "seen_seq": self.table.seq,
            "content": self.random.getrandbits(64),
        }
        return kind(**{**common, **fields})

    # -------------------------------------------------------------- acts by name

    def offer(self, seat: int, lot: int, **fields: Any) -> Any:
        plain = {"directed_at": NOBODY, "immediate": False, "limit_ms": 0}
        return self.act(c.Offer, seat, lot=lot, **{**plain, **fields})

    def withdraw(self, seat: int, **fields: Any) -> Any:
        return self.act(c.Withdraw, seat, **fields)

    def ring(self, seat: int, commodity: int, **fields: Any) -> Any:
        return self.act(c.RingBell, seat, commodity=commodity, **fields)

    def ready(self, seat: int, purpose: int, nonce: bytes = b"", **fields: Any) -> Any:
        return self.act(c.Ready, seat, purpose=purpose, nonce=nonce, **fields)

    def call(self, seat: int, phrase: int) -> Any:
        return self.act(c.Call, seat, phrase=phrase)

    def request(self, kind: Callable[..., c.RequestCommand], person: str, **fields: Any) -> Any:
        self.requests += 1
        common = {"request": self.requests.to_bytes(16, "big"), "content": self.requests}
        events, answer = self.give(kind(**{**common, "person": person, **fields}))
        self.answer = answer
        return list(events) if not answer.rejection else Rejection(answer.rejection)

    def open_table(self, person: str = "p0", **fields: Any) -> Any:
        plain = {
            "rules": self.rules,
            "seats": self.size,
            "display_name": "a table",
            "visibility": int(Visibility.PUBLIC),
            "absent_policy": int(AbsentPolicy.BOT),
            "bots": True,
            "for_bots": False,
            "invite_hash": b"",
        }
        return self.request(c.OpenTable, person, **{**plain, **fields})

    def join(self, person: str, seat: int = NOBODY, **fields: Any) -> Any:
        return self.request(c.Join, person, **{"seat": seat, "invite_hash": b"", **fields})

    def leave(self, person: str) -> Any:
        return self.request(c.Leave, person)

    def start(self, person: str = "p0", **fields: Any) -> Any:
        return self.request(c.Start, person, **fields)

    def operate(self, kind: Callable[..., c.RequestCommand], **fields: Any) -> Any:
        """An operator's act, with a reason where it needs one."""
        if "reason" in kind.__dataclass_fields__:  # type: ignore[attr-defined]
            fields = {"reason": "a dispute", **fields}
        return self.request(kind, "", **{"operator": "ann", **fields})

    def freeze(self) -> Any:
        return self.operate(c.Freeze)

    def unfreeze(self) -> Any:
        return self.operate(c.Unfreeze)

    def adjust(self, seat: int, delta: int, **fields: Any) -> Any:
        return self.operate(c.AdjustScore, seat=seat, delta=delta, **fields)

    def attach(
        self, seat: int, bot: bool = False, resume: int = 0, gateway: str = "g1", person: str = ""
    ) -> tuple[tuple[e.Event, ...], Any]:
        who = person or ("b" if bot else self.table.seats[seat].person)
        stream = self.random.randbytes(16)
        return self.give(c.Attach(seat, who, gateway, stream, bot, resume))

    def detach(self, seat: int, attach: int = 0) -> tuple[e.Event, ...]:
        return self.give(c.Detach(seat, attach or self.table.seats[seat].attach))[0]

    # -------------------------------------------------------------- time

    def wait(self, ms: int) -> list[e.Event]:
        """Let log time pass, doing each thing when it is due."""
        until_ms = self.now_ms + ms
        done: list[e.Event] = []
        while self.table.wake_at_ms and self.table.wake_at_ms <= until_ms:
            self.now_ms = max(self.now_ms, self.table.wake_at_ms)
            events, _ = self.give(c.Tick())
            assert events, "wake_at_ms named a time at which nothing was due"
            done += events
        self.now_ms = until_ms
        return done

    # -------------------------------------------------------------- to a certain point

    def seated(self, **opening: Any) -> "Playing":
        """Opened, every seat taken and attached."""
        self.open_table(**opening)
        for seat in range(self.size):
            self.join(f"p{seat}", invite_hash=opening.get("invite_hash", b""))
            self.attach(seat)
        return self

    def dealt(self, **opening: Any) -> "Playing":
        self.seated(**opening)
        for seat in range(self.size):
            self.ready(seat, Purpose.START, bytes([seat]) * 16)
        return self

    def trading(self, held: dict[int, str] | None = None, **opening: Any) -> "Playing":
        """The exchange is open; seats named in `held` have at least those cards."""
        self.dealt(**opening)
        if held is not None:
            self.rig(held)
        return self.opened()

    def opened(self) -> "Playing":
        self.wait(max(self.table.opens_at_ms - self.now_ms, 0))
        return self

    def rig(self, held: dict[int, str], dealer: int | None = None) -> None:
        """A deal in which these seats hold these cards, "8 wheat, bull"; the rest goes round.

        With Bull and Bear the first two seats hold ten cards, for the last one was the dealer,
        unless another `dealer` is named.
        """
        table = self.table
        table.dealer = self.size - 1 if dealer is None else dealer
        left = [(table.dealer + turn) % self.size for turn in (1, 2)]
        hands = [self.cards(held.get(seat, "")) for seat in range(self.size)]
        rest = [lane for lane in table.suits for _ in range(9)]
        if self.rules.bull_and_bear:
            rest += [8, 9]
        for hand in hands:
            for lane, number in enumerate(counts(hand)):
                for _ in range(number):
                    rest.remove(lane)
        room = [
            9 + (self.rules.bull_and_bear and seat in left) - size(hand)
            for seat, hand in enumerate(hands)
        ]
        for turn in range(10 * self.size):
            seat = turn % self.size
            if room[seat] > 0:
                hands[seat] += ONE[rest.pop(0)]
                room[seat] -= 1
        for seat, hand in zip(table.seats, hands, strict=True):
            seat.hand = hand
        check(table)

    def cards(self, words: str) -> int:
        """Packed cards: "2 wheat, bull"."""
        names = [name for name, _ in DECKS[self.rules.deck]]
        packed = 0
        for part in filter(None, words.split(", ")):
            number, _, name = part.rpartition(" ")
            lane = {"bull": 8, "bear": 9}.get(name)
            packed += int(number or 1) * ONE[names.index(name) if lane is None else lane]
        return packed

    def hand(self, seat: int) -> int:
        return self.table.seats[seat].hand

    def scores(self) -> list[int]:
        return [seat.score for seat in self.table.seats]

    def corner(self, seat: int) -> Any:
        """End the round at once: the seat is given nine of the best suit, and rings."""
        if self.table.phase != Phase.OPEN:
            self.opened()
        self.rig({seat: "9 " + DECKS[self.rules.deck][0][0]}, self.table.dealer)
        return self.ring(seat, 0)

    def next_round(self) -> "Playing":
        for seat in range(self.size):
            self.ready(seat, Purpose.NEXT)
        return self.opened()


def kinds(events: Any) -> list[str]:
    """Names of the events' types."""
    return [type(event).__name__ for event in events]
