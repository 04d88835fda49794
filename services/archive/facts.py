"""What nobody at the table could see: a round's story of cards, worked out from its records.

Pure. All times are milliseconds of log time since the round's deal; while a table is frozen they
stand still. Hands of all seats are in it: it is for operators, and for a round's players when
everything about it may be told.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from engine import events
from engine.cards import BEAR, BULL, DECKS, SUIT_SIZE, count, counts, holds
from engine.commands import NOBODY
from engine.events import Event
from engine.lots import lots_of
from engine.rules import Rules
from engine.score import corner, holder
from engine.value import value


@value
class Moment:
    """When something was so, and from which event on."""

    seq: int
    at_ms: int


@value
class Holding:
    """A seat held Bull or Bear for a while."""

    seat: int
    from_ms: int
    to_ms: int


@value
class Move:
    """Cards of one commodity that went from one seat to another, over the whole round."""

    giver: int
    taker: int
    cards: int


@value
class Wandering:
    """How a commodity went round."""

    lane: int
    trades: int
    """In how many trades it changed hands, whichever way."""
    moves: tuple[Move, ...]

    @property
    def cards(self) -> int:
        return sum(move.cards for move in self.moves)


@value
class Swap:
    """Two lots of the very same cards: both sides have what they had."""

    seq: int
    at_ms: int
    seat: int
    partner: int
    cards: int
    """Packed: what each of the two gave."""


@value
class Reach:
    """How near the winner's corner was, and since when."""

    seat: int
    lane: int
    kind: int
    rang: Moment
    held: Moment
    """The first time in the round that the winner's cards supported a corner on this commodity.
    The deal itself may be that moment; and the cards may have been traded away again since."""
    near: Moment
    """The first time that one trade with one other seat, of cards that both held then and of a lot
    that the rules allow, would have made it one; `held`, where no trade before would have."""


@value
class RoundFacts:
    round: int
    rules: Rules
    dealer: int
    suits: tuple[int, ...]
    opened_ms: int
    """0 where it never opened."""
    ended_ms: int
    void: bool
    trades: int
    bull: tuple[Holding, ...]
    """Who held it, one after the other; none where it is not in play."""
    bear: tuple[Holding, ...]
    wanderings: tuple[Wandering, ...]
    """One a commodity in play, most valuable first."""
    swaps: tuple[Swap, ...]
    reach: Reach | None
    """`None` in a void round."""


def facts_of(numbered: Iterable[tuple[int, Event]]) -> Iterator[RoundFacts]:
    """Facts of each round that is over, from all events of a game with their numbers."""
    rules: Rules | None = None
    playing: _Round | None = None
    for seq, event in numbered:
        if isinstance(event, events.TableOpened):
            rules = event.rules
        elif isinstance(event, events.Dealt) and rules is not None:
            playing = _Round(rules, seq, event)
        elif playing is not None:
            handle = _HANDLERS.get(type(event))
            if handle is not None:
                handle(playing, seq, event)
            if isinstance(event, events.RoundScored | events.RoundVoid):
                yield playing.facts(event)
                playing = None


@dataclass(slots=True)
class _Held:
    """One of the two single cards on its way."""

    lane: int
    holdings: list[Holding] = field(default_factory=list)

    def is_with(self, seat: int, at_ms: int) -> None:
        if seat == NOBODY:
            return
        if self.holdings:
            last = self.holdings[-1]
            if last.seat == seat:
                return
            self.ends(at_ms)
        self.holdings.append(Holding(seat, at_ms, at_ms))

    def ends(self, at_ms: int) -> None:
        if self.holdings:
            last = self.holdings[-1]
            self.holdings[-1] = Holding(last.seat, last.from_ms, at_ms)


class _Round:
    def __init__(self, rules: Rules, seq: int, dealt: events.Dealt) -> None:
        self._rules = rules
        self._dealt = dealt
        self._stood_ms = 0
        """How long time has stood still since the deal."""
        self._frozen_at_ms = 0
        self._opened_ms = 0
        self._hands = [hand or 0 for hand in dealt.hands]
        self._seen = [(Moment(seq, 0), tuple(self._hands))]
        """Everybody's hand after the deal and after each trade."""
        self._moves: dict[int, Counter[tuple[int, int]]] = {lane: Counter() for lane in dealt.suits}
        self._trades: Counter[int] = Counter()
        self._all_trades = 0
        self._swaps: list[Swap] = []
        self._single = _Held(BULL), _Held(BEAR)
        self._rang: tuple[Moment, events.Cornered] | None = None
        self._note_single(0)

    def _since_deal_ms(self, at_ms: int) -> int:
        return (self._frozen_at_ms or at_ms) - self._dealt.at_ms - self._stood_ms

    def _note_single(self, at_ms: int) -> None:
        for single in self._single:
            single.is_with(holder(self._hands, single.lane), at_ms)

    def opened(self, _seq: int, event: events.ExchangeOpened) -> None:
        self._opened_ms = self._since_deal_ms(event.at_ms)

    def traded(self, seq: int, event: events.Traded) -> None:
        given, received = event.given or 0, event.received or 0
        at_ms = self._since_deal_ms(event.at_ms)
        self._all_trades += 1
        for lane, moves in self._moves.items():
            there, back = count(given, lane), count(received, lane)
            if there:
                moves[event.seat, event.partner] += there
            if back:
                moves[event.partner, event.seat] += back
            self._trades[lane] += bool(there or back)
        if given == received:
            self._swaps.append(Swap(seq, at_ms, event.seat, event.partner, given))
        self._hands[event.seat] += received - given
        self._hands[event.partner] += given - received
        self._seen.append((Moment(seq, at_ms), tuple(self._hands)))
        self._note_single(at_ms)

    def cornered(self, seq: int, event: events.Cornered) -> None:
        self._rang = Moment(seq, self._since_deal_ms(event.at_ms)), event

    def frozen(self, _seq: int, event: events.Frozen) -> None:
        self._frozen_at_ms = event.at_ms

    def thawed(self, _seq: int, event: events.Thawed) -> None:
        self._stood_ms += event.frozen_ms
        self._frozen_at_ms = 0

    def facts(self, event: events.RoundScored | events.RoundVoid) -> RoundFacts:
        ended_ms = self._since_deal_ms(event.at_ms)
        for single in self._single:
            single.ends(ended_ms)
        bull, bear = self._single
        return RoundFacts(
            round=event.round,
            rules=self._rules,
            dealer=self._dealt.dealer,
            suits=self._dealt.suits,
            opened_ms=self._opened_ms,
            ended_ms=ended_ms,
            void=isinstance(event, events.RoundVoid),
            trades=self._all_trades,
            bull=tuple(bull.holdings),
            bear=tuple(bear.holdings),
            wanderings=tuple(self._wandering(lane) for lane in self._dealt.suits),
            swaps=tuple(self._swaps),
            reach=self._reach(),
        )

    def _wandering(self, lane: int) -> Wandering:
        moves = self._moves[lane]
        return Wandering(
            lane,
            self._trades[lane],
            tuple(Move(giver, taker, moves[giver, taker]) for giver, taker in sorted(moves)),
        )

    def _reach(self) -> Reach | None:
        if self._rang is None:
            return None
        rang, event = self._rang
        seat, lane = event.seat, event.commodity
        near: Moment | None = None
        for moment, hands in self._seen:
            if corner(hands[seat], lane, self._rules)[0]:
                return Reach(seat, lane, event.kind, rang, moment, near or moment)
            if near is None and _is_near(hands, seat, lane, self._rules):
                near = moment
        return None  # an altered record: `verify` says so


_HANDLERS: Final[dict[type, Callable[[_Round, int, Any], None]]] = {
    events.ExchangeOpened: _Round.opened,
    events.Traded: _Round.traded,
    events.Cornered: _Round.cornered,
    events.Frozen: _Round.frozen,
    events.Thawed: _Round.thawed,
}


# ------------------------------------------------------------------ one trade away


def _is_near(hands: tuple[int, ...], seat: int, lane: int, rules: Rules) -> bool:
    mine = hands[seat]
    for other, theirs in enumerate(hands):
        # Most pairs of hands are nowhere near: eight of the commodity between them at least.
        enough = count(mine, lane) + count(theirs, lane) >= SUIT_SIZE - 1
        if other != seat and enough and one_trade_makes_a_corner(mine, theirs, lane, rules):
            return True
    return False


def one_trade_makes_a_corner(mine: int, theirs: int, lane: int, rules: Rules) -> bool:
    """Whether some lot of `mine` for one of `theirs`, both as the rules allow, gives a corner."""
    for size, lots in _lots_of_hand(mine, rules).items():
        for received in _lots_of_hand(theirs, rules).get(size, ()):
            for given in lots:
                if corner(mine - given + received, lane, rules)[0]:
                    return True
    return False


def _lots_of_hand(hand: int, rules: Rules) -> dict[int, list[int]]:
    return _lots_held(hand, len(DECKS[rules.deck]), rules.bull_and_bear, rules.mixed_lots)


@lru_cache(maxsize=1_000)
def _lots_held(hand: int, suits: int, bull_and_bear: bool, mixed: bool) -> dict[int, list[int]]:
    """The lots that a hand could offer, by size."""
    found: dict[int, list[int]] = {}
    for lot, size in lots_of(suits, bull_and_bear, mixed).items():
        if holds(hand, lot):
            found.setdefault(size, []).append(lot)
    return found


# ------------------------------------------------------------------ as plain data


def plain(facts: RoundFacts) -> dict[str, Any]:
    """For JSON; cards as counts by name."""
    reach = facts.reach
    return {
        "round": facts.round,
        "dealer": facts.dealer,
        "opened_ms": facts.opened_ms,
        "ended_ms": facts.ended_ms,
        "void": facts.void,
        "trades": facts.trades,
        "bull": [_plain_holding(holding) for holding in facts.bull],
        "bear": [_plain_holding(holding) for holding in facts.bear],
        "commodities": [
            {
                "commodity": lane_name(facts.rules, wandering.lane),
                "trades": wandering.trades,
                "cards": wandering.cards,
                "moves": [
                    {"giver": move.giver, "taker": move.taker, "cards": move.cards}
                    for move in wandering.moves
                ],
            }
            for wandering in facts.wanderings
        ],
        "same_swaps": [
            {
                "event": swap.seq,
                "at_ms": swap.at_ms,
                "seats": [swap.seat, swap.partner],
                "cards": plain_cards(facts.rules, swap.cards),
            }
            for swap in facts.swaps
        ],
        "corner": None
        if reach is None
        else {
            "seat": reach.seat,
            "commodity": lane_name(facts.rules, reach.lane),
            "kind": events.Corner(reach.kind).name.lower(),
            "rang": _plain_moment(reach.rang),
            "held": _plain_moment(reach.held),
            "one_trade_away": _plain_moment(reach.near),
        },
    }


def lane_name(rules: Rules, lane: int) -> str:
    return DECKS[rules.deck][lane][0]


def _plain_holding(holding: Holding) -> dict[str, int]:
    held_ms = holding.to_ms - holding.from_ms
    return {"seat": holding.seat, "from_ms": holding.from_ms, "held_ms": held_ms}


def _plain_moment(moment: Moment) -> dict[str, int]:
    return {"event": moment.seq, "at_ms": moment.at_ms}


def plain_cards(rules: Rules, cards: int) -> dict[str, int]:
    """Packed cards as counts by name."""
    names = {BULL: "bull", BEAR: "bear"}
    return {
        names.get(lane) or lane_name(rules, lane): number
        for lane, number in enumerate(counts(cards))
        if number
    }
