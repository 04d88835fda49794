"""Commands from a seed: what people, bots, careless clients and attackers send to one table.

The generator looks at the twin, so it sees all hands: it plays towards corners much faster than
people could, and it knows exactly how to be wrong. Two runs with one seed give the same commands.
"""

from dataclasses import replace
from random import Random
from typing import Any

from engine import commands
from engine.cards import DECKS
from engine.commands import NOBODY, AbsentPolicy, Command, Purpose, Visibility
from engine.events import Corner, Cornered, Event
from engine.rules import PRESETS, NextDealer, Rules, VoidPenalty
from engine.shown import Phase
from support.office import Office
from support.rigging import Plan, hands_near, some_plan
from support.twin import timers
from support.twin.cards import BEAR, BULL, Cards, corner_in, lane_names, to_packed
from support.twin.table import Chair, Twin
from support.wrong import Wrong

GATEWAYS = ("gateway-1", "gateway-2", "gateway-3")
INVITE = b"i" * 32
COMMANDS_A_TABLE_MAX = 600
WRONG_IN = 3
"""One command in so many is meant to be refused, or at least to surprise."""


class Play:
    """One table after another, each with rules and habits of its own."""

    def __init__(self, seed: int, *, rigged: bool = True) -> None:
        self.rigged = rigged
        """Whether deals come near a corner."""
        self.random = Random(seed)
        self.tables = 0
        self.requests = 0
        self.kinds = dict.fromkeys(Corner, 0)
        """Corners rung so far, so that the rare kinds are planned as often as others."""
        self.wrong = Wrong(self)
        self.office = Office(self)
        self.new_table()

    def new_table(self) -> None:
        """Rules, people and manners of the next table."""
        pick = self.random
        self.tables += 1
        self.given = 0
        self.now_ms = 1_000 + pick.randrange(1_000_000)
        self.twin = Twin(f"{self.tables % 100:02}" + "a" * 20)
        self.rules = self.some_rules()
        least = self.rules.seats_min
        self.full = pick.random() < 0.7
        """Whether all seats are to be taken by people before the start."""
        most = min(self.rules.seats_max, len(self.rules.suits) or 8)
        self.seats = pick.choice([least, least, pick.randint(least, most)])
        if not self.full and least < most:
            self.seats = pick.randint(least + 1, most)
        self.visibility = pick.choice(list(Visibility))
        policies = [AbsentPolicy.BOT, AbsentPolicy.BOT, AbsentPolicy.FORFEIT]
        if self.visibility == Visibility.PRIVATE:
            policies.append(AbsentPolicy.WAIT)
        self.policy = pick.choice(policies)
        self.bots = pick.random() < 0.7
        self.for_bots = self.bots and pick.random() < 0.1
        self.people = [f"p{self.tables}-{number}" for number in range(self.seats + 2)]
        self.start_at_s = pick.choice([0] * 9 + [1_700_000_000])
        self.unrest = pick.choice([0.0, 0.02, 0.1])
        """How often streams break and people wander off."""
        self.plan: Plan | None = None
        self.sent: list[commands.SeatCommand] = []
        self.asked: list[commands.RequestCommand] = []

    def some_rules(self) -> Rules:
        """A preset, or one with some switches set otherwise."""
        pick = self.random
        often = ["household", "blitz", "tournament"]
        rules = PRESETS[pick.choice([*PRESETS, *often, "household", "blitz"])]
        if pick.random() < 0.5:
            return rules
        names = [name for name, _ in DECKS[rules.deck]]
        blocks = pick.choice(["bear", "both", "neither"])
        switches: dict[str, object] = {
            "below_zero": pick.random() < 0.5,
            "target": pick.choice([100, 5_000]),
            "round_cap_s": 10,
            "false_bell_fine": 10,
            "false_bell_lock_s": pick.choice([0, 2, 60]),
            "scored_rounds_max": 2,
            "rounds_max": 3,
            "mixed_lots": not rules.mixed_lots,
            "directed_offers": not rules.directed_offers,
            "opens_when_sorted": not rules.opens_when_sorted,
            "sorting_pause_s": 0,
            "away_grace_s": 0,
            "idle_s": 2,
            "void_penalty": VoidPenalty.IDLE,
            "next_dealer": pick.choice(list(NextDealer)),
            "eight_and_bull_times": pick.randint(1, 4),
            "nine_and_bull_times": pick.randint(1, 4),
            "cornerer_pays": not rules.cornerer_pays,
            "bull_penalty": 7,
            "suits": tuple(pick.sample(names, pick.randint(rules.seats_min, len(names)))),
        }
        chosen = pick.sample(sorted(switches), pick.randint(1, 5))
        changed = {name: switches[name] for name in chosen}
        if pick.random() < 0.3:
            changed |= {"bear_blocks": blocks == "bear", "eight_bull_and_bear": blocks == "both"}
        return replace(rules, **changed)  # type: ignore[arg-type]

    # -------------------------------------------------------------- the next command

    def next(self) -> Command:
        """The next command, at `self.now_ms`."""
        if self.twin.phase == Phase.CLOSED and self.random.random() < 0.3:
            self.new_table()
        if self.given > COMMANDS_A_TABLE_MAX:
            self.new_table()
        self.given += 1
        self.now_ms += self.random.choice([0, 0, 1, 5, 40, 200, 900])
        command = self.choose()
        if isinstance(command, commands.SeatCommand):
            self.sent = [*self.sent, command][-40:]
        if isinstance(command, commands.RequestCommand):
            self.asked = [*self.asked, command][-80:]
        return command

    def choose(self) -> Command:
        pick = self.random
        wake_ms = timers.wake_at_ms(self.twin)
        if wake_ms and wake_ms <= self.now_ms and pick.random() < 0.9:
            return commands.Tick()
        if pick.randrange(WRONG_IN) == 0:
            return self.wrong.command()
        if self.twin.frozen_at_ms and pick.random() < 0.15:
            return commands.Unfreeze(self.request(), pick.getrandbits(60), "", "ann")
        if pick.random() < 0.01 and self.twin.chairs:
            return self.office.command()
        if pick.random() < self.unrest:
            return self.restless()
        return {
            Phase.NEW: self.open_table,
            Phase.SEATING: self.before_the_start,
            Phase.SORTING: self.while_sorting,
            Phase.OPEN: self.while_open,
            Phase.BETWEEN: self.between_rounds,
            Phase.ENDED: self.after_the_game,
            Phase.CLOSED: self.wait,
        }[self.twin.phase]()

    def wait(self) -> Command:
        """Time passes until something is due."""
        wake_ms = timers.wake_at_ms(self.twin)
        if wake_ms > self.now_ms:
            self.now_ms = wake_ms + self.random.choice([0, 0, 3, 250])
        return commands.Tick()

    def restless(self) -> Command:
        """Streams break, gateways vanish, people leave or sleep."""
        pick = self.random
        if not self.twin.chairs:
            return commands.Tick()
        seat = pick.randrange(len(self.twin.chairs))
        what = pick.randrange(12)
        if what == 0:
            return commands.GatewayLost(pick.choice(GATEWAYS))
        if what <= 2:
            return self.leave(self.twin.chairs[seat].person or self.people[0])
        if what <= 4:
            return self.wait()
        if what <= 6:
            return self.attach(seat, bot=pick.random() < 0.3)
        return commands.Detach(seat, self.twin.chairs[seat].attaches)

    def saw(self, found: list[Event]) -> None:
        """What came of the last command."""
        for event in found:
            if isinstance(event, Cornered):
                self.kinds[Corner(event.kind)] += 1

    # -------------------------------------------------------------- phases of a game

    def after_the_game(self) -> Command:
        """Some want to play again, some do not, some are not there."""
        pick = self.random
        if pick.random() < 0.2:
            return self.wait()
        if pick.random() < 0.1:
            return self.restless()
        sitting = [chair for chair in self.twin.chairs if chair.person]
        if not sitting or (self.twin.rematch_at and pick.random() < 0.8):
            return self.wait()
        silent = [chair for chair in sitting if not chair.wants_rematch]
        return self.vote(pick.choice(silent or sitting).person, yes=pick.random() < 0.9)

    def vote(self, person: str, *, yes: bool) -> Command:
        content = self.random.getrandbits(60)
        next_table = f"{self.tables % 100:02}" + "b" * 20
        return commands.VoteRematch(self.request(), content, person, yes, next_table)

    def open_table(self) -> Command:
        if self.random.random() < 0.2:
            return self.open_seated()
        return commands.OpenTable(**self.opening())

    def open_seated(self) -> Command:
        """With some of the people in their seats from the start, or with an impossible company."""
        pick = self.random
        persons = [pick.choice([person, ""]) for person in self.people[: self.seats]]
        if pick.random() < 0.2:
            persons = pick.choice([persons[1:], [*persons, "x"], ["x"] * self.seats, []])
        return commands.OpenSeated(**self.opening(), persons=tuple(persons))

    def opening(self) -> dict[str, Any]:
        return {
            "request": self.request(),
            "content": self.tables,
            "person": self.people[0],
            "rules": self.rules,
            "seats": self.seats,
            "display_name": f"table {self.tables}",
            "visibility": self.visibility,
            "absent_policy": self.policy,
            "bots": self.bots,
            "for_bots": self.for_bots,
            "invite_hash": INVITE if self.visibility == Visibility.PRIVATE else b"",
            "start_at_s": self.start_at_s,
        }

    def before_the_start(self) -> Command:
        pick = self.random
        if pick.random() < 0.05:
            return self.restless()
        chairs = self.twin.chairs
        free = [seat for seat, chair in enumerate(chairs) if not chair.person]
        enough = self.seats - len(free) >= self.rules.seats_min
        if self.twin.start_at_s and (not free or pick.random() < 0.05):
            return commands.StartDue()
        if self.for_bots or (not self.full and enough) or pick.random() < 0.03:
            return commands.Start(self.request(), pick.getrandbits(60), self.twin.owner)
        seated = {chair.person for chair in chairs}.union(self.twin.removed)
        others = [person for person in self.people if person not in seated]
        if free and others:
            person = pick.choice(others)
            return self.join(person, pick.choice([NOBODY, pick.choice(free)]))
        away = [seat for seat, chair in enumerate(chairs) if not chair.connected]
        if away:
            return self.attach(pick.choice(away))
        return self.some_ready(Purpose.START)

    def while_sorting(self) -> Command:
        if self.random.random() < 0.5 and self.somebody_missing() is not None:
            return self.bring_somebody()
        if self.random.random() < 0.4:
            return self.wait()
        return self.some_ready(Purpose.OPEN)

    def between_rounds(self) -> Command:
        self.plan = None
        if self.random.random() < 0.2:
            return self.wait()
        return self.some_ready(Purpose.NEXT)

    def some_ready(self, purpose: Purpose) -> Command:
        """Somebody who has not said so yet is ready; if all are, time passes."""
        not_yet = [
            seat
            for seat, chair in enumerate(self.twin.chairs)
            if chair.connected and purpose not in chair.ready
        ]
        if not not_yet:
            return self.wait()
        nonce = b"" if purpose == Purpose.OPEN else self.random.choice([b"", self.bytes16()])
        return commands.Ready(
            **self.common(self.random.choice(not_yet)), purpose=purpose, nonce=nonce
        )

    def somebody_missing(self) -> int | None:
        for seat, chair in enumerate(self.twin.chairs):
            if not chair.connected and not chair.dropped and (chair.bot_wanted or chair.person):
                return seat
        return None

    def bring_somebody(self) -> Command:
        seat = self.somebody_missing()
        assert seat is not None
        chair = self.twin.chairs[seat]
        bot = chair.bot_wanted and (not chair.person or self.random.random() < 0.5)
        return self.attach(seat, bot=bot)

    # -------------------------------------------------------------- trading

    def while_open(self) -> Command:
        pick = self.random
        if pick.random() < 0.3 and self.somebody_missing() is not None:
            return self.bring_somebody()
        for seat, commodity in self.corners():
            if pick.random() < 0.8:
                return self.bell(seat, commodity)
        chance = pick.random()
        if self.plan is not None and chance < 0.75:
            step = self.towards(self.plan)
            if step is not None:
                return step
        if chance < 0.79:
            return self.wait()
        if chance < 0.84:
            return commands.Withdraw(**self.common(self.anybody()))
        if chance < 0.88:
            return commands.Call(**self.common(self.anybody()), phrase=pick.randint(1, 8))
        return self.any_offer()

    def corners(self) -> list[tuple[int, str]]:
        """Who could ring now, and for what."""
        return [
            (seat, commodity)
            for seat, chair in enumerate(self.twin.chairs)
            for commodity in self.twin.suits
            if chair.connected and corner_in(self.rules, chair.hand, commodity)
        ]

    def bell(self, seat: int, commodity: str) -> Command:
        lane = next(lane for lane, name in enumerate(self.deck()) if name == commodity)
        return commands.RingBell(**self.common(seat), commodity=lane)

    def deck(self) -> list[str]:
        return [name for name in lane_names(self.rules) if name]

    def towards(self, plan: Plan) -> Command | None:
        """An offer that brings the planned seat nearer to its corner."""
        chairs = self.twin.chairs
        chair = chairs[plan.seat]
        useless = [card for card in chair.hand if card not in (plan.commodity, BULL, BEAR)]
        for seat, other in enumerate(chairs):
            useful = other.hand.count(plan.commodity)
            if seat == plan.seat or not useful or not useless or not can_act(other):
                continue
            size = min(useful, useless.count(useless[0]), 4)
            if other.offer is None or other.offer.lot != [plan.commodity] * size:
                return self.offer(seat, [plan.commodity] * size, directed_at=plan.seat)
            return self.offer(plan.seat, [useless[0]] * size, directed_at=seat)
        return None

    def any_offer(self) -> Command:
        pick = self.random
        seat = self.anybody()
        lot = self.some_lot(self.twin.chairs[seat].hand)
        directed_at = pick.choice([NOBODY, pick.randrange(len(self.twin.chairs))])
        limit_ms = pick.choice([0, 0, 1_000, 60_000, pick.randint(1_000, 60_000)])
        immediate = pick.random() < 0.15
        return self.offer(seat, lot, directed_at, immediate=immediate, limit_ms=limit_ms)

    def some_lot(self, hand: Cards) -> Cards:
        """One to four cards of a hand, by the rules."""
        pick = self.random
        if not hand:
            return [self.deck()[0]]
        if self.rules.mixed_lots and pick.random() < 0.5:
            return pick.sample(hand, min(len(hand), pick.randint(1, 4)))
        commodity = pick.choice(hand)
        same = [card for card in hand if card == commodity]
        animals = [card for card in hand if card in (BULL, BEAR) and pick.random() < 0.3]
        return (animals + same)[: pick.randint(1, 4)] if commodity not in animals else animals

    def offer(
        self,
        seat: int,
        lot: Cards,
        directed_at: int = NOBODY,
        *,
        immediate: bool = False,
        limit_ms: int = 0,
    ) -> Command:
        if not self.rules.directed_offers or directed_at == seat:
            directed_at = NOBODY
        return commands.Offer(
            **self.common(seat),
            lot=to_packed(self.rules, lot),
            directed_at=directed_at,
            immediate=immediate,
            limit_ms=limit_ms,
        )

    def rig(self) -> tuple[int, ...] | None:
        """Hands for the deal just drawn; sometimes as they were drawn.

        Some plans are for corners that the rules do not allow: they must be refused.
        """
        if not self.rigged or self.random.random() < 0.1:
            self.plan = None
            return None
        self.plan = some_plan(self.twin, self.kinds, self.random)
        return hands_near(self.twin, self.plan, self.random)

    # -------------------------------------------------------------- small parts

    def common(self, seat: int) -> dict[str, int]:
        """The fields every seat command has, right for the seat's newest stream."""
        chair = self.twin.chairs[seat]
        player = chair.player(chair.stream.bot if chair.stream else False)
        return {
            "seat": seat,
            "attach": chair.attaches,
            "generation": player.generation,
            "number": player.last_number + 1,
            "round": self.twin.round,
            "seen_seq": max(0, self.twin.seq - self.random.choice([0, 0, 0, 1, 5])),
            "content": self.random.getrandbits(60),
        }

    def anybody(self) -> int:
        """A seat that can act, where there is one."""
        able = [seat for seat, chair in enumerate(self.twin.chairs) if can_act(chair)]
        return self.random.choice(able or list(range(len(self.twin.chairs))))

    def request(self) -> bytes:
        self.requests += 1
        return self.requests.to_bytes(16, "big")

    def bytes16(self) -> bytes:
        return self.random.getrandbits(128).to_bytes(16, "big")

    def join(self, person: str, seat: int) -> Command:
        invite = INVITE if self.visibility == Visibility.PRIVATE else b""
        return commands.Join(self.request(), self.random.getrandbits(60), person, seat, invite)

    def leave(self, person: str) -> Command:
        return commands.Leave(self.request(), self.random.getrandbits(60), person)

    def attach(self, seat: int, *, bot: bool = False) -> Command:
        pick = self.random
        chair = self.twin.chairs[seat]
        resume = pick.choice([0, chair.player(bot).generation])
        person = f"b{seat}" if bot else chair.person
        gateway = pick.choice(GATEWAYS)
        return commands.Attach(seat, person, gateway, self.bytes16(), bot, resume)


def can_act(chair: Chair) -> bool:
    return chair.connected and bool(chair.hand)
