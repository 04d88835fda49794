"""A round from the first readiness to the bell, from the rule book."""

from engine.cards import DECKS
from engine.commands import NOBODY, Purpose, Ready, RingBell, Start
from engine.events import (
    Absence,
    BellRefused,
    BotWanted,
    Cornered,
    Dealt,
    ExchangeOpened,
    ReadyGiven,
    SeatsDropped,
    StartCalled,
    Why,
)
from engine.rejections import Rejection
from engine.rules import NextDealer
from engine.shown import Phase

from . import presence
from .cards import BEAR, BULL, corner_in, corner_pays, from_packed, to_packed
from .deal import deal as draw
from .endings import Chance, add, score
from .refused import Refused
from .table import Twin
from .trading import check_round_is_open, end_offer

NONCE_BYTES = 16
TRADE_UNSEEN_FOR_MS = 2_000
NO_NONCE = bytes(NONCE_BYTES)


# ------------------------------------------------------------------ readiness


def ready(twin: Twin, command: Ready, now_ms: int, chance: Chance) -> None:
    check_ready(twin, command)
    chair = twin.chairs[command.seat]
    chair.ready.add(command.purpose)
    if command.purpose != Purpose.OPEN:
        chair.nonce = command.nonce
    twin.say(ReadyGiven(command.seat, command.purpose, command.nonce))
    if twin.phase == Phase.SORTING and all_sorted(twin):
        open_exchange(twin, now_ms)
    elif (twin.phase == Phase.BETWEEN and all_want_next(twin)) or (
        twin.phase == Phase.SEATING and all_want_to_start(twin) and not twin.start_at_s
    ):
        deal(twin, now_ms)


def check_ready(twin: Twin, command: Ready) -> None:
    if command.purpose not in (Purpose.START, Purpose.OPEN, Purpose.NEXT):
        raise Refused(Rejection.WRONG_PURPOSE)
    lengths = (0,) if command.purpose == Purpose.OPEN else (0, NONCE_BYTES)
    if len(command.nonce) not in lengths:
        raise Refused(Rejection.NONCE_LENGTH)
    if twin.frozen_at_ms:
        raise Refused(Rejection.TABLE_FROZEN)
    if twin.phase == Phase.CLOSED:
        raise Refused(Rejection.TABLE_CLOSED)
    if command.purpose == Purpose.START and twin.round > 0:
        raise Refused(Rejection.ALREADY_STARTED)
    if command.purpose != Purpose.START and twin.phase == Phase.SEATING:
        raise Refused(Rejection.NOT_STARTED)
    if command.round != twin.round:
        raise Refused(Rejection.STALE_ROUND, twin.round)
    waiting = {
        Purpose.START: Phase.SEATING,
        Purpose.OPEN: Phase.SORTING,
        Purpose.NEXT: Phase.BETWEEN,
    }
    if twin.phase != waiting[Purpose(command.purpose)]:
        raise Refused(Rejection.NOT_NOW)
    if command.purpose in twin.chairs[command.seat].ready:
        raise Refused(Rejection.NOT_NOW)


def all_want_to_start(twin: Twin) -> bool:
    """Whether every seat is taken and has said it is ready."""
    return all(chair.person and Purpose.START in chair.ready for chair in twin.chairs)


def all_sorted(twin: Twin) -> bool:
    """Whether the exchange may open before the end of the pause."""
    return twin.rules.opens_when_sorted and all_present_are(twin, Purpose.OPEN)


def all_want_next(twin: Twin) -> bool:
    return all_present_are(twin, Purpose.NEXT)


def all_present_are(twin: Twin, purpose: Purpose) -> bool:
    """Whether all who are there have said they are ready. Nobody there: nobody said so."""
    present = [chair for chair in twin.chairs if presence.may_act_at_once(chair)]
    return bool(present) and all(purpose in chair.ready for chair in present)


# ------------------------------------------------------------------ start and deal


def start(twin: Twin, command: Start, now_ms: int, chance: Chance) -> None:
    if twin.frozen_at_ms:
        raise Refused(Rejection.TABLE_FROZEN)
    if twin.phase in (Phase.ENDED, Phase.CLOSED):
        raise Refused(Rejection.TABLE_CLOSED)
    if command.person != twin.owner and not command.operator:
        raise Refused(Rejection.NOT_OWNER)
    if twin.phase != Phase.SEATING:
        raise Refused(Rejection.ALREADY_STARTED)
    if seated(twin) < least_seated(twin):
        raise Refused(Rejection.TOO_FEW_PLAYERS, least_seated(twin))
    if twin.start_at_s and not command.operator:
        raise Refused(Rejection.NOT_NOW)
    begin(twin, now_ms)


def start_due(twin: Twin, now_ms: int) -> None:
    """The hour has come that the table was opened for."""
    if twin.phase != Phase.SEATING or not twin.start_at_s:
        return
    twin.start_at_s = 0
    twin.opened_at_ms = twin.clock(now_ms)
    twin.say(StartCalled(now_ms))
    if not twin.frozen_at_ms and seated(twin) >= least_seated(twin):
        begin(twin, now_ms)


def seated(twin: Twin) -> int:
    return len([chair for chair in twin.chairs if chair.person])


def least_seated(twin: Twin) -> int:
    assert twin.opening is not None
    if twin.opening.for_bots:
        return 0
    return 1 if twin.opening.bots else twin.rules.seats_min


def begin(twin: Twin, now_ms: int) -> None:
    assert twin.opening is not None
    empty = [seat for seat, chair in enumerate(twin.chairs) if not chair.person]
    if twin.opening.bots:
        for seat in empty:
            twin.chairs[seat].bot_wanted = True
            twin.say(BotWanted(seat))
    elif empty:
        for seat in empty:
            twin.chairs[seat].dropped = True
        twin.say(SeatsDropped(tuple(empty)))
    deal(twin, now_ms)


def suits_in_play(twin: Twin) -> list[str]:
    """As many commodities as players: those listed, else the most valuable ones."""
    names = [name for name, _ in DECKS[twin.rules.deck]]
    if twin.rules.suits:
        names = [name for name in names if name in twin.rules.suits]
    return names[: len(twin.playing())]


def deal(twin: Twin, now_ms: int) -> None:
    rules = twin.rules
    first = twin.round == 0
    twin.suits = suits_in_play(twin)
    names = [name for name, _ in DECKS[rules.deck]]
    lanes = tuple(names.index(name) for name in twin.suits)
    twin.drawn_with = [chair.nonce or NO_NONCE for chair in twin.chairs]
    twin.dealer, hands = draw(
        rules, twin.seed, twin.drawn_with, twin.suits, twin.playing(), next_dealer(twin)
    )
    twin.round += 1
    twin.phase = Phase.SORTING
    twin.opens_at_ms = now_ms + rules.sorting_pause_s * 1_000
    twin.next_deal_at_ms = 0
    for seat, chair in enumerate(twin.chairs):
        chair.hand = hands.get(seat, [])
        chair.ready = set()
        chair.nonce = b""
        chair.last_trade_seq = 0
        chair.last_trade_at_ms = 0
        chair.bell_locked_until_ms = 0
        chair.idle_ms = 0
        chair.acted_at_ms = now_ms
    packed = tuple(to_packed(rules, chair.hand) for chair in twin.chairs)
    twin.left_this_round = []
    twin.say(Dealt(twin.round, twin.dealer, lanes, packed, twin.opens_at_ms, now_ms))
    if first:
        for seat, chair in enumerate(twin.chairs):
            if chair.person and not chair.connected:
                presence.go_away(twin, seat, Absence.STREAM_LOST, now_ms)


def next_dealer(twin: Twin) -> int | None:
    """Who deals now; `None` where the first deal draws it."""
    if twin.round == 0:
        return None
    if twin.last_winner == NOBODY:
        return twin.dealer
    if twin.rules.next_dealer == NextDealer.WINNER:
        return twin.last_winner
    seats = twin.playing()
    return seats[(seats.index(twin.dealer) + 1) % len(seats)]


def rig(twin: Twin, hands: tuple[int, ...]) -> None:
    """The test's own deal in place of the one just drawn."""
    for chair, hand in zip(twin.chairs, hands, strict=True):
        chair.hand = from_packed(twin.rules, hand)


def open_exchange(twin: Twin, now_ms: int) -> None:
    twin.phase = Phase.OPEN
    twin.opened_exchange_at_ms = now_ms
    twin.round_ends_at_ms = now_ms + twin.rules.round_cap_s * 1_000
    for seat, chair in enumerate(twin.chairs):
        chair.acted_at_ms = now_ms
        chair.ready = set()
        chair.idle_ms = 0
        chair.idle_since_ms = 0
        if not chair.dropped and not presence.may_act_at_once(chair):
            presence.nobody_plays(twin, seat, now_ms)
    twin.say(ExchangeOpened(twin.round, twin.round_ends_at_ms, now_ms))


# ------------------------------------------------------------------ the bell


def ring_bell(twin: Twin, command: RingBell, now_ms: int, chance: Chance) -> None:
    names = [name for name, _ in DECKS[twin.rules.deck]]
    if not 0 <= command.commodity < len(names):
        raise Refused(Rejection.NO_SUCH_COMMODITY)
    over = twin.phase in (Phase.BETWEEN, Phase.ENDED) and not twin.frozen_at_ms
    if over and command.round == twin.round:
        raise Refused(Rejection.ROUND_OVER, late_by_ms(twin, command, now_ms))
    check_round_is_open(twin, command, now_ms)
    chair = twin.chairs[command.seat]
    if chair.bell_locked_until_ms > now_ms:
        raise Refused(Rejection.BELL_LOCKED, chair.bell_locked_until_ms - now_ms)
    commodity = names[command.commodity]
    kind = corner_in(twin.rules, chair.hand, commodity)
    if kind is None:
        false_bell(twin, command, now_ms)
        return
    end_offer(twin, command.seat, Why.BELL, now_ms)
    twin.say(
        Cornered(
            seat=command.seat,
            commodity=command.commodity,
            kind=kind,
            hand=to_packed(twin.rules, chair.hand),
            bull_seat=holder(twin, BULL),
            bear_seat=holder(twin, BEAR),
            at_ms=now_ms,
        )
    )
    pays = corner_pays(twin.rules, kind, commodity)
    score(twin, command.seat, pays, now_ms, chance)


def late_by_ms(twin: Twin, command: RingBell, now_ms: int) -> int:
    """By how much a true bell missed the round that another won, one at least; else 0."""
    commodity = DECKS[twin.rules.deck][command.commodity][0]
    corner = corner_in(twin.rules, twin.chairs[command.seat].hand, commodity)
    if corner is None or twin.last_winner in (NOBODY, command.seat):
        return 0
    return max(1, now_ms - twin.round_over_at_ms)


def false_bell(twin: Twin, command: RingBell, now_ms: int) -> None:
    rules, chair = twin.rules, twin.chairs[command.seat]
    costs = rules.false_bell_fine > 0 or rules.false_bell_lock_s > 0
    claims_not_to_know = chair.last_trade_seq > command.seen_seq
    may_not_know = now_ms < chair.last_trade_at_ms + TRADE_UNSEEN_FOR_MS
    if not costs or (claims_not_to_know and may_not_know):
        raise Refused(Rejection.NO_CORNER)
    locked_until_ms = 0
    if rules.false_bell_lock_s:
        locked_until_ms = now_ms + rules.false_bell_lock_s * 1_000
    chair.bell_locked_until_ms = locked_until_ms
    fines = [-rules.false_bell_fine if chair is other else 0 for other in twin.chairs]
    fine = -add(twin, fines)[command.seat]
    twin.say(BellRefused(command.seat, command.commodity, fine, locked_until_ms, now_ms))


def holder(twin: Twin, card: str) -> int:
    for seat, chair in enumerate(twin.chairs):
        if card in chair.hand:
            return seat
    return NOBODY
