"""Any sequence of commands keeps the invariants: a Hypothesis state machine over the real engine.

After every step: I1-I6, I11 and I12 by an independent ledger (`support.ledger`) and by the
engine's own check; nothing is written by `decide`; the table survives dump and load; no viewer
is shown a private field of others. At the end, I9: replaying the events gives the live digest.
"""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from engine import commands, events
from engine.cards import ONE, SUITS_MAX, count, size
from engine.check import check
from engine.commands import NOBODY, AbsentPolicy, Purpose, Visibility
from engine.decide import decide
from engine.events import Event, Note
from engine.evolve import evolve
from engine.rejections import Rejection
from engine.rules import PRESETS
from engine.shown import Phase
from engine.state import Table, digest, dump, load
from engine.view import show
from support.ledger import Ledger
from support.secrecy import check_secrecy

SEED = bytes(range(48))
TABLE_ID = "00" + "m" * 20
GATEWAYS = ("gateway-1", "gateway-2")

seats = st.integers(0, 7)


def exciting(event: Event) -> Event:
    """A deal, but the first hand gets up to eight of one commodity; other events as they are."""
    if not isinstance(event, events.Dealt):
        return event
    hands = [hand or 0 for hand in event.hands]
    lane = event.suits[event.round % len(event.suits)]
    lucky = next(seat for seat, hand in enumerate(hands) if hand)
    others = [seat for seat in range(len(hands)) if seat != lucky]
    for seat in others:
        for junk in event.suits:
            while (
                junk != lane
                and count(hands[lucky], lane) < 8
                and count(hands[seat], lane)
                and count(hands[lucky], junk)
            ):
                hands[lucky] += ONE[lane] - ONE[junk]
                hands[seat] += ONE[junk] - ONE[lane]
    return replace(event, hands=tuple(hands))


def restless(machine: "TableMachine") -> bool:
    """Whether people come and go and time passes."""
    return not machine.calm or machine.table.phase != Phase.OPEN


def trading(machine: "TableMachine") -> bool:
    return machine.table.phase == Phase.OPEN


class TableMachine(RuleBasedStateMachine):
    """One table, from its opening on."""

    def __init__(self) -> None:
        super().__init__()
        self.table = Table(TABLE_ID)
        self.ledger = Ledger()
        self.now_ms = 1_000
        self.history: list[Event | Note] = []
        self.requests = 0
        self.repeatable: commands.Command | None = None
        self.calm = False
        """Nobody comes or goes, and no time passes unused: the table gets to trade."""

    # -------------------------------------------------------------- the step

    def give(self, command: commands.Command) -> None:
        before = dump(self.table)
        found, answer = decide(self.table, command, self.now_ms, lambda size: SEED[:size])
        assert dump(self.table) == before, "decide has written"
        self.check_refusal(found, answer)
        if answer is not None:
            self.evolve_note(answer)
        for event in map(exciting, found):
            evolve(self.table, event)
            self.history.append(event)
            self.ledger.enter(event, self.table.seq, self.now_ms)
            check(self.table)
            check_secrecy(event, len(self.table.seats))
        self.repeatable = command

    def evolve_note(self, note: Note) -> None:
        seq = self.table.seq
        evolve(self.table, note)
        self.history.append(note)
        assert self.table.seq == seq, "I6: a note takes no number"

    def check_refusal(self, found: list[Event], answer: Note | None) -> None:
        rejection = getattr(answer, "rejection", 0)
        if rejection:
            assert not found, "a refused command changes nothing"
            Rejection(rejection)

    # -------------------------------------------------------------- opening

    @initialize(
        preset=st.sampled_from(sorted(PRESETS)),
        more=st.integers(0, 5),
        policy=st.sampled_from(AbsentPolicy),
        bots=st.booleans(),
        all_come=st.sampled_from([True, True, True, False]),
        calm=st.sampled_from([True, True, False]),
    )
    def open_table(
        self, preset: str, more: int, policy: AbsentPolicy, bots: bool, all_come: bool, calm: bool
    ) -> None:
        self.calm = calm and all_come
        rules = PRESETS[preset]
        private = policy == AbsentPolicy.WAIT
        self.invite = b"i" * 32 if private else b""
        number = min(rules.seats_min + more, rules.seats_max)
        self.give(
            commands.OpenTable(
                self.request(),
                1,
                "p0",
                rules,
                number,
                "machine",
                Visibility.PRIVATE if private else Visibility.PUBLIC,
                policy,
                bots,
                False,
                self.invite,
            )
        )
        assert self.table.phase == Phase.SEATING
        for seat in range(number if all_come else 0):
            self.give(commands.Join(self.request(), 1, f"p{seat}", seat, self.invite))
            self.attach(seat, False, False)
        if self.calm:
            self.sit_down_to_play(number)

    def sit_down_to_play(self, number: int) -> None:
        """All are ready and the exchange is open."""
        for seat in range(number):
            self.give(commands.Ready(**self.common(seat), purpose=Purpose.START, nonce=b""))
        assert self.table.phase == Phase.SORTING
        self.time_comes()
        assert self.table.phase == Phase.OPEN

    def request(self) -> bytes:
        self.requests += 1
        return self.requests.to_bytes(16, "big")

    def common(self, seat: int) -> dict[str, int]:
        seat %= len(self.table.seats)
        place = self.table.seats[seat]
        return {
            "seat": seat,
            "attach": place.attach,
            "generation": place.current.generation,
            "number": place.current.last + 1,
            "round": self.table.round,
            "seen_seq": self.table.seq,
            "content": place.current.last,
        }

    # -------------------------------------------------------------- what players do

    @rule(seat=seats, purpose=st.sampled_from(Purpose), nonce=st.sampled_from([b"", b"n" * 16]))
    def ready(self, seat: int, purpose: Purpose, nonce: bytes) -> None:
        self.give(commands.Ready(**self.common(seat), purpose=purpose, nonce=nonce))

    @precondition(lambda self: self.table.phase in (Phase.SORTING, Phase.BETWEEN))
    @rule(wait=st.booleans())
    def all_ready(self, wait: bool) -> None:
        """Everybody is ready; the wait may be over, too."""
        purpose = Purpose.OPEN if self.table.phase == Phase.SORTING else Purpose.NEXT
        phase = self.table.phase
        for seat in range(len(self.table.seats)):
            if self.table.phase == phase:
                self.give(commands.Ready(**self.common(seat), purpose=purpose, nonce=b""))
        if self.table.phase == phase and wait:
            self.time_comes()

    @precondition(trading)
    @rule(
        seat=seats,
        lane=st.integers(0, SUITS_MAX + 1),
        number=st.integers(1, 4),
        directed_at=st.sampled_from([NOBODY, 0, 1, 2]),
        immediate=st.booleans(),
        limit_ms=st.sampled_from([0, 0, 1_000, 5_000]),
    )
    def offer_from_hand(
        self, seat: int, lane: int, number: int, directed_at: int, immediate: bool, limit_ms: int
    ) -> None:
        """Cards that are there, from the first commodity held at or after `lane`."""
        hand = self.table.seats[seat % len(self.table.seats)].hand
        held = [each for each in range(10) if count(hand, each)]
        if not held:
            return
        chosen = next((each for each in held if each >= lane), held[0])
        lot = ONE[chosen] * min(number, count(hand, chosen))
        self.offer(seat, lot, directed_at, immediate, limit_ms)

    @precondition(trading)
    @rule(seat=seats, other=seats)
    def chase(self, seat: int, other: int) -> None:
        """`other` offers what `seat` collects, and `seat` gives something else for it."""
        places = self.table.seats
        seat, other = seat % len(places), other % len(places)
        wanted = self.collected(seat)
        junk = [
            lane for lane in self.table.suits if lane != wanted and count(places[seat].hand, lane)
        ]
        if seat == other or not junk or not count(places[other].hand, wanted):
            return
        number = min(4, count(places[other].hand, wanted), count(places[seat].hand, junk[0]))
        self.offer(other, ONE[wanted] * number, NOBODY, False, 0)
        self.offer(seat, ONE[junk[0]] * number, NOBODY, False, 0)

    @precondition(trading)
    @rule(seat=seats, most=st.integers(1, 4), then_rings=st.booleans())
    def collect(self, seat: int, most: int, then_rings: bool) -> None:
        """A seat collects from everybody in turn, and may find that it has a corner."""
        for _ in range(most):
            for other in range(len(self.table.seats)):
                self.chase(seat, other)
        if then_rings:
            self.ring_for_the_collected(seat)

    def collected(self, seat: int) -> int:
        """The commodity the seat has most of."""
        hand = self.table.seats[seat].hand
        return max(self.table.suits, key=lambda lane: count(hand, lane))

    @precondition(trading)
    @rule(seat=seats)
    def ring_for_the_collected(self, seat: int) -> None:
        seat %= len(self.table.seats)
        self.ring(seat, self.collected(seat))

    @rule(
        seat=seats,
        lot=st.one_of(
            st.integers(0, (1 << 50) - 1),
            st.lists(st.sampled_from(ONE), max_size=6).map(sum),
        ),
        directed_at=st.integers(-2, 9),
        immediate=st.booleans(),
        limit_ms=st.integers(-1, 70_000),
    )
    def offer(self, seat: int, lot: int, directed_at: int, immediate: bool, limit_ms: int) -> None:
        """Any cards at all, held or not, even numbers that are no cards."""
        self.give(
            commands.Offer(
                **self.common(seat),
                lot=lot,
                directed_at=directed_at,
                immediate=immediate,
                limit_ms=limit_ms,
            )
        )

    @rule(seat=seats)
    def withdraw(self, seat: int) -> None:
        self.give(commands.Withdraw(**self.common(seat)))

    @rule(seat=seats, commodity=st.integers(-1, 9))
    def ring(self, seat: int, commodity: int) -> None:
        self.give(commands.RingBell(**self.common(seat), commodity=commodity))

    @rule(seat=seats, phrase=st.integers(0, 9))
    def call(self, seat: int, phrase: int) -> None:
        self.give(commands.Call(**self.common(seat), phrase=phrase))

    @precondition(lambda self: isinstance(self.repeatable, commands.SeatCommand))
    @rule()
    def repeat(self) -> None:
        """The same command once more: the same answer, and no event."""
        assert self.repeatable is not None
        seq = self.table.seq
        self.give(self.repeatable)
        assert self.table.seq == seq, "I8: a repeated command had a second effect"

    @rule(
        seat=seats, what=st.sampled_from(["attach", "generation", "number"]), by=st.integers(-2, 2)
    )
    def stale(self, seat: int, what: str, by: int) -> None:
        """A command out of place is refused or answered again, never done."""
        fields_ = self.common(seat)
        fields_[what] += by or 1
        seq = self.table.seq
        self.give(commands.Call(**fields_, phrase=1))
        assert self.table.seq == seq

    # -------------------------------------------------------------- coming and going

    @precondition(restless)
    @rule(who=st.integers(0, 9), seat=st.integers(-1, 8), invited=st.booleans())
    def join(self, who: int, seat: int, invited: bool) -> None:
        invite = self.invite if invited else b"?"
        self.give(commands.Join(self.request(), 1, f"p{who}", seat, invite))

    @precondition(restless)
    @rule(who=st.integers(0, 9))
    def leave(self, who: int) -> None:
        self.give(commands.Leave(self.request(), 1, f"p{who}"))

    @precondition(restless)
    @rule(who=st.integers(0, 3))
    def start(self, who: int) -> None:
        self.give(commands.Start(self.request(), 1, f"p{who}"))

    @precondition(restless)
    @rule(seat=seats, bot=st.booleans(), resume=st.booleans())
    def attach(self, seat: int, bot: bool, resume: bool) -> None:
        seat %= len(self.table.seats)
        place = self.table.seats[seat]
        generation = place.numbers[bot].generation if resume else 0
        person = f"b{seat}" if bot else place.person
        stream = bytes([self.requests % 256]) * 16
        gateway = GATEWAYS[seat % 2]
        self.give(commands.Attach(seat, person, gateway, stream, bot, generation))

    @precondition(restless)
    @rule(seat=seats, old=st.booleans())
    def detach(self, seat: int, old: bool) -> None:
        seat %= len(self.table.seats)
        self.give(commands.Detach(seat, self.table.seats[seat].attach - old))

    @precondition(restless)
    @rule(gateway=st.sampled_from(GATEWAYS))
    def lose_gateway(self, gateway: str) -> None:
        self.give(commands.GatewayLost(gateway))

    @rule(epoch=st.integers(1, 1 << 40))
    def mark(self, epoch: int) -> None:
        self.evolve_note(events.Marked(epoch, b"o" * 16))

    # -------------------------------------------------------------- operators

    def operate(self, kind: type[commands.RequestCommand], **fields: object) -> None:
        self.give(kind(self.request(), 1, "", **fields, operator="ann"))

    @precondition(restless)
    @rule(ms=st.integers(0, 100_000), stays=st.booleans())
    def freeze(self, ms: int, stays: bool) -> None:
        """The table's time stands still for a while: not one deadline comes nearer."""
        wake_ms, seq = self.table.wake_at_ms, self.table.seq
        self.operate(commands.Freeze, reason="a dispute")
        frozen = self.table.seq > seq
        assert not self.table.wake_at_ms
        self.now_ms += ms
        self.tick_all()
        if not stays:
            self.operate(commands.Unfreeze)
        if frozen and not stays:
            assert self.table.wake_at_ms == (wake_ms + ms if wake_ms > 1 else wake_ms), "I12"

    @precondition(lambda self: self.table.frozen_at_ms)
    @rule()
    def unfreeze(self) -> None:
        self.operate(commands.Unfreeze)

    @precondition(restless)
    @rule(behind=st.sampled_from([0, 0, 1]))
    def void_round(self, behind: int) -> None:
        number = self.table.round - behind
        self.operate(commands.VoidRound, round=number, reason="a dispute")

    @rule(seat=st.integers(-1, 8), delta=st.integers(-600, 600))
    def adjust_score(self, seat: int, delta: int) -> None:
        scores = [place.score for place in self.table.seats]
        self.operate(commands.AdjustScore, seat=seat, delta=delta, reason="a dispute")
        changed = [n for n, place in enumerate(self.table.seats) if place.score != scores[n]]
        assert changed in ([], [seat])

    @precondition(lambda self: self.table.phase == Phase.ENDED)
    @rule(who=st.integers(0, 9), yes=st.booleans())
    def vote(self, who: int, yes: bool) -> None:
        """On a rematch; nobody votes before the end."""
        before = self.table.rematch_table
        self.give(commands.VoteRematch(self.request(), 1, f"p{who}", yes, "01" + "b" * 20))
        assert self.table.rematch_table.startswith(before)
        assert not (self.table.rematch_table and self.table.rematch_until_ms)

    @precondition(restless)
    @rule(seat=seats, operator=st.sampled_from(["", "ann"]), who=st.integers(0, 9))
    def remove(self, seat: int, operator: str, who: int) -> None:
        person = "" if operator else f"p{who}"
        self.give(commands.RemoveSeat(self.request(), 1, person, seat, "a dispute", operator))

    @rule(who=st.integers(0, 9), invited=st.booleans())
    def watch(self, who: int, invited: bool) -> None:
        """I10: a spectator is shown the table; not one card, and nothing changes."""
        before = dump(self.table)
        invite = self.invite if invited else b"?"
        self.give(commands.Watch(f"p{who}", invite, GATEWAYS[0], b"w" * 16))
        assert dump(self.table) == before

    # -------------------------------------------------------------- time

    @precondition(restless)
    @rule(ms=st.integers(0, 30_000), tick=st.booleans())
    def time_passes(self, ms: int, tick: bool) -> None:
        self.now_ms += ms
        if tick:
            self.tick_all()

    @precondition(restless)
    @rule()
    def time_comes(self) -> None:
        """The next deadline is here, not a millisecond earlier."""
        self.operate(commands.Unfreeze)
        wake_ms = self.table.wake_at_ms
        if wake_ms > self.now_ms:
            self.now_ms = wake_ms - 1
            seq = self.table.seq
            self.give(commands.Tick())
            assert self.table.seq == seq, "I12: a timer strikes before its time"
            self.now_ms = wake_ms
            self.give(commands.Tick())
            assert self.table.seq > seq, "a deadline comes and nothing happens"
        self.tick_all()

    def tick_all(self) -> None:
        for _ in range(100):
            seq = self.table.seq
            self.give(commands.Tick())
            if self.table.seq == seq:
                wake_ms = self.table.wake_at_ms
                assert wake_ms == 0 or wake_ms > self.now_ms, "something due is not done"
                return
        pytest.fail("the table never comes to rest")

    # -------------------------------------------------------------- always

    @invariant()
    def survives_storage(self) -> None:
        if self.table.phase == Phase.NEW:
            return
        plain = dump(self.table)
        stored = load(plain)
        assert dump(stored) == plain
        assert digest(stored) == digest(self.table)
        assert stored.wake_at_ms == self.table.wake_at_ms

    @invariant()
    def shows_own_cards_only(self) -> None:
        if self.table.phase == Phase.NEW:
            return
        for viewer in (NOBODY, *range(len(self.table.seats))):
            shown = show(self.table, viewer)
            own = self.table.seats[viewer] if viewer != NOBODY else None
            assert shown.hand == (own.hand if own else 0)
            assert shown.offer_lot == (own.offer_lot if own else 0)
            assert shown.seq == self.table.seq
            assert [size(place.hand) for place in self.table.seats] == [
                place.cards for place in shown.seats
            ]

    def teardown(self) -> None:
        """I9."""
        again = Table(TABLE_ID)
        for item in self.history:
            evolve(again, item)
        assert digest(again) == digest(self.table)


TestTable = TableMachine.TestCase
TestTable.settings = settings(
    max_examples=80,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.all
class TestTableForLong(TableMachine.TestCase):
    settings = settings(TestTable.settings, max_examples=150, stateful_step_count=60)
