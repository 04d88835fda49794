"""Tables staged for a test: rules, people and hands chosen, then played by the real engine.

Everything on a staged table was decided by the engine, but for two facts that chance would
settle: a deal's hands and its dealer may be the test's choice. Hands are written as a card
player would: `"wheat 8, oats 1, Bull"`.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from engine import commands, events
from engine.cards import BEAR, BULL, DECKS, pack
from engine.check import check
from engine.commands import NOBODY
from engine.decide import decide
from engine.evolve import evolve
from engine.rules import Rules
from engine.state import Table

TABLE_ID = "00" + "t" * 20
GATEWAY = "gateway-1"
NONCE = b"n" * 16


def chance(size: int) -> bytes:
    """The server's chance of a staged table: always the same."""
    return bytes(range(size))


def person(seat: int) -> str:
    """The id of the person who sits at `seat`."""
    return f"p{seat}"


def lane(rules: Rules, commodity: str) -> int:
    """Which lane a commodity has in the deck of these rules."""
    return [name for name, _ in DECKS[rules.deck]].index(commodity)


def cards(rules: Rules, text: str) -> int:
    """Packed cards from words: `"wheat 8, Bull"`; a missing number means one."""
    lanes: dict[int, int] = {}
    for part in text.split(","):
        words = part.split()
        if words:
            name, number = words[0], int(words[1]) if len(words) > 1 else 1
            where = {"Bull": BULL, "Bear": BEAR}.get(name)
            where = lane(rules, name) if where is None else where
            lanes[where] = lanes.get(where, 0) + number
    return pack(lanes)


def in_words(rules: Rules, packed: int) -> str:
    """The words `cards` reads."""
    names = [name for name, _ in DECKS[rules.deck]] + ["Bull", "Bear"]
    lanes = [*range(len(DECKS[rules.deck])), BULL, BEAR]
    held = [(name, (packed >> (5 * where)) & 15) for name, where in zip(names, lanes, strict=True)]
    return ", ".join(
        name if name in ("Bull", "Bear") and number == 1 else f"{name} {number}"
        for name, number in held
        if number
    )


class Staged:
    """A table under test, its seats taken and their streams attached."""

    def __init__(
        self,
        rules: Rules,
        seats: int,
        *,
        seated: int | None = None,
        absent_policy: int = commands.AbsentPolicy.BOT,
        visibility: int = commands.Visibility.PUBLIC,
        bots: bool = True,
    ) -> None:
        self.rules = rules
        self.table = Table(TABLE_ID)
        self.now_ms = 1_000
        self.seats = seats
        self.log: list[events.Event | events.Note] = []
        self.rigs: Sequence[int] | None = None
        """Hands for every deal in place of those drawn; the dealer of the first as told."""
        self.first_dealer = seats - 1
        self._requests = count(1)
        self._number = [0] * seats
        self._streams: dict[int, events.Attached] = {}
        self.do(
            commands.OpenTable(
                request=self.request(),
                content=0,
                person=person(0),
                rules=rules,
                seats=seats,
                display_name="staged",
                visibility=visibility,
                absent_policy=absent_policy,
                bots=bots,
                for_bots=False,
                invite_hash=b"i" * 32 if visibility == commands.Visibility.PRIVATE else b"",
            )
        )
        for seat in range(seats if seated is None else seated):
            invite = b"i" * 32 if visibility == commands.Visibility.PRIVATE else b""
            self.do(commands.Join(self.request(), 0, person(seat), seat, invite))
            self.attach(seat)

    def request(self) -> bytes:
        """A request id not used before."""
        return next(self._requests).to_bytes(16, "big")

    def attach(self, seat: int, *, bot: bool = False) -> list[events.Event]:
        """Give the seat a fresh stream."""
        return self.do(self.attaching(seat, bot=bot))[0]

    def attaching(self, seat: int, *, bot: bool = False) -> commands.Attach:
        who = f"b{seat}" if bot else self.table.seats[seat].person
        return commands.Attach(seat, who, GATEWAY, seat.to_bytes(16, "big"), bot, 0)

    def attach_number(self, seat: int) -> int:
        """The newest attach number of the seat."""
        return self._streams[seat].attach

    def common(self, seat: int, **changed: int) -> dict[str, int]:
        """The fields every seat command has, right for this seat now unless changed."""
        number = self._number[seat] + 1
        fields = {
            "seat": seat,
            "attach": self._streams[seat].attach,
            "generation": self._streams[seat].generation,
            "number": number,
            "round": self.table.round,
            "seen_seq": self.table.seq,
            "content": number,
        }
        return fields | changed

    def ready(self, seat: int, purpose: commands.Purpose) -> list[events.Event]:
        nonce = b"" if purpose == commands.Purpose.OPEN else NONCE
        return self.do(commands.Ready(**self.common(seat), purpose=purpose, nonce=nonce))[0]

    def offer(
        self,
        seat: int,
        lot: str,
        *,
        directed_at: int = NOBODY,
        immediate: bool = False,
        limit_ms: int = 0,
        **changed: int,
    ) -> tuple[list[events.Event], events.Note | None]:
        return self.do(
            commands.Offer(
                **self.common(seat, **changed),
                lot=cards(self.rules, lot),
                directed_at=directed_at,
                immediate=immediate,
                limit_ms=limit_ms,
            )
        )

    def ring(
        self, seat: int, commodity: str, **changed: int
    ) -> tuple[list[events.Event], events.Note | None]:
        named = lane(self.rules, commodity)
        return self.do(commands.RingBell(**self.common(seat, **changed), commodity=named))

    def deal(self, hands: Sequence[int], dealer: int) -> None:
        """Everybody is ready; the deal comes out as told."""
        self.rigs = hands
        self.first_dealer = dealer
        for seat in range(self.seats):
            self.ready(seat, commands.Purpose.START)

    def open_exchange(self) -> None:
        """Wait for the end of the sorting pause."""
        dealt = next(item for item in reversed(self.log) if isinstance(item, events.Dealt))
        self.wait_until(dealt.opens_at_ms)

    def wait_until(self, now_ms: int) -> list[events.Event]:
        """Let time pass, with every timer on the way at its own time."""
        happened: list[events.Event] = []
        while True:
            wake_ms = self.table.wake_at_ms
            due = bool(wake_ms) and wake_ms <= now_ms
            self.now_ms = max(self.now_ms, wake_ms) if due else now_ms
            found = self.do(commands.Tick())[0]
            happened += found
            if not found and (not due or self.table.wake_at_ms == wake_ms):
                return happened

    def do(self, command: commands.Command) -> tuple[list[events.Event], events.Note | None]:
        """Decide, then evolve: one command from beginning to end."""
        found, answer = decide(self.table, command, self.now_ms, chance)
        happened = [self._rig(event) for event in found]
        for item in [answer, *happened] if answer is not None else happened:
            self.log.append(item)
            evolve(self.table, item)
            check(self.table)
        if isinstance(answer, events.Attached):
            self._streams[answer.seat] = answer
            self._number[answer.seat] = answer.last_number
        if isinstance(answer, events.Answered) and answer.kept:
            self._number[answer.seat] = answer.number
        return happened, answer

    def _rig(self, event: events.Event) -> events.Event:
        if self.rigs is None or not isinstance(event, events.Dealt):
            return event
        dealer = self.first_dealer if event.round == 1 else event.dealer
        if dealer != self.first_dealer and self.rules.bull_and_bear:
            return event  # two other seats hold ten cards
        return replace(event, dealer=dealer, hands=tuple(self.rigs))
