"""A table as plain data, and back: what snapshots keep and digests are made of.

The layout is the order of the `..._FIELDS` below. What a table works out from other fields
(`due_ms`, `anyone`, `directed`, `lots`, `idle_limit_ms`, `trading_round`) is not kept but worked
out again.
"""

from array import array
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final

from engine.cards import DECKS
from engine.commands import NOBODY
from engine.deadlines import soonest_ms
from engine.events import RequestAnswered
from engine.limits import ANSWERS_KEPT, SECOND_MS
from engine.lots import lots_of
from engine.rules import RULES_KEPT, Rules, switches
from engine.shown import Mark, Phase
from engine.table import Numbers, Seat, Table

__all__ = [
    "Numbers", "Seat", "Table", "digest", "digest_of", "dump", "gateways", "load",
]  # fmt: skip

TABLE_FIELDS: Final = (
    "table", "seq", "phase", "display_name", "visibility", "absent_policy", "bots", "for_bots",
    "invite_hash", "owner", "epoch", "opened_ms", "opens_at_ms", "round_ends_at_ms",
    "next_deal_at_ms", "ended_ms", "people_gone_ms", "round", "dealer", "commitment", "seed",
    "winner", "scored", "voids", "sudden", "end", "start_at_s", "frozen_at_ms", "frozen_reason",
    "rematch_until_ms", "rematch_table",
)  # fmt: skip
"""Plain fields of a table."""
TUPLE_FIELDS: Final = ("suits", "nonces", "tied", "removed", "left", "left_seats")
SEAT_FIELDS: Final = (
    "person", "taken_seq", "dropped", "forfeited", "bot", "bot_wanted", "attach",
    "holder", "connected", "gateway", "stream", "absence", "away_until_ms", "active_ms",
    "idle_since_ms", "idle_ms", "ready", "nonce", "hand", "offer_size", "offer_lot",
    "offer_directed_at", "offer_ends_at_ms", "offer_seq", "traded_seq", "traded_ms",
    "bell_locked_until_ms", "score", "corners", "penalties", "best_corner",
    "plays_again", "place",
)  # fmt: skip
"""What came later stands at the end: in a table dumped before, it is as in a new one."""
Getter = Callable[[Any], tuple[Any, ...]]
_table_fields: Final[Getter] = attrgetter(*TABLE_FIELDS)
_table_tuples: Final[Getter] = attrgetter(*TUPLE_FIELDS)
_seat_fields: Final[Getter] = attrgetter(*SEAT_FIELDS)


def dump(table: Table) -> list[Any]:
    """The table as nested lists of int, str, bytes, bool and None.

    `[fields, tuples, rules, marks, opening, requests, seats]`; a seat is
    `[fields, person's numbers, stand-in's numbers, whether the newest stream is the stand-in's]`,
    numbers are `[generation, last, kept, refusals]` as in `Numbers` (nothing kept where nothing
    was asked), a refusal `[number, rejection, parameters]`.
    """
    return [
        list(_table_fields(table)),
        [list(held) for held in _table_tuples(table)],
        _plain_switches(switches(table.rules)),
        [[mark.epoch, mark.nonce, mark.first_seq] for mark in table.marks],
        None if table.opening is None else _plain_request(table.opening),
        [_plain_request(answer) for answer in table.requests.values()],
        [_plain_seat(seat) for seat in table.seats],
    ]


@lru_cache(maxsize=RULES_KEPT)
def _plain_switches(held: tuple[Any, ...]) -> list[Any]:
    """One list for all tables of the same rules: of a dump nothing is ever changed."""
    return [list(switch) if isinstance(switch, tuple) else _int(switch) for switch in held]


def _int(switch: Any) -> Any:
    """Enums as plain integers, so that a dump does not depend on how rules were made."""
    return int(switch) if isinstance(switch, int) and not isinstance(switch, bool) else switch


def _plain_request(answer: RequestAnswered) -> list[Any]:
    return [
        answer.request,
        answer.content,
        int(answer.rejection),
        list(answer.parameters),
        answer.seq,
        answer.seat,
    ]


def _plain_numbers(numbers: Numbers) -> list[Any]:
    last = numbers.last
    refusals = [
        [number, int(rejection), list(parameters)]
        for number, (rejection, parameters) in numbers.refusals.items()
        if number > last - ANSWERS_KEPT
    ]
    return [numbers.generation, last, numbers.kept.tolist() if last else [], refusals]


def _plain_seat(seat: Seat) -> list[Any]:
    person, stand_in = seat.numbers
    return [
        list(_seat_fields(seat)),
        _plain_numbers(person),
        _plain_numbers(stand_in),
        seat.current is stand_in,
    ]


def load(plain: list[Any]) -> Table:
    """The table that was dumped."""
    plain_fields, tuples, rules, marks, opening, requests, seats = plain
    table = Table("")
    for name, field in zip(TABLE_FIELDS, plain_fields, strict=True):
        setattr(table, name, field)
    for name, members in zip(TUPLE_FIELDS, tuples, strict=True):
        setattr(table, name, tuple(members))
    held: list[Any] = [tuple(s) if isinstance(s, list) else s for s in rules]
    table.rules = Rules(*held)
    table.marks = [Mark(*mark) for mark in marks]
    table.opening = None if opening is None else _loaded_request(opening)
    table.requests = {answer[0]: _loaded_request(answer) for answer in requests}
    table.seats = tuple(_loaded_seat(seat) for seat in seats)
    _work_out(table)
    return table


def _loaded_request(plain: list[Any]) -> RequestAnswered:
    request, content, rejection, parameters, seq, seat = plain
    return RequestAnswered(request, content, rejection, tuple(parameters), seq, seat, True)


def _loaded_seat(plain: list[Any]) -> Seat:
    plain_fields, person, stand_in, stand_in_acts = plain
    seat = Seat()
    for name, held in zip(SEAT_FIELDS, plain_fields, strict=False):
        setattr(seat, name, held)
    for numbers, (generation, last, kept, refusals) in zip(
        seat.numbers, (person, stand_in), strict=True
    ):
        numbers.begin(generation)
        numbers.last = last
        if last:
            numbers.kept = array("Q", kept)
        for number, rejection, parameters in refusals:
            numbers.refuse(number, rejection, tuple(parameters))
    seat.current = seat.numbers[stand_in_acts]
    return seat


def _work_out(table: Table) -> None:
    rules = table.rules
    table.lots = lots_of(len(DECKS[rules.deck]), rules.bull_and_bear, rules.mixed_lots)
    table.idle_limit_ms = rules.idle_s * SECOND_MS
    offers = [index for index, seat in enumerate(table.seats) if seat.offer_size]
    for index in sorted(offers, key=lambda index: table.seats[index].offer_seq):
        seat = table.seats[index]
        if seat.offer_directed_at == NOBODY:
            table.anyone[seat.offer_size] = index
        else:
            key = seat.offer_size + 8 * seat.offer_directed_at
            table.directed = {**table.directed, key: [*table.directed.get(key, []), index]}
    trades = table.phase == Phase.OPEN and not table.frozen_at_ms
    table.trading_round = table.round if trades else None
    table.due_ms = soonest_ms(table) if table.phase != Phase.NEW else 0


def digest_of(plain: list[Any]) -> bytes:
    """SHA-256 of a dumped table. `ascii` writes numbers, text and bytes the same everywhere."""
    return sha256(ascii(plain).encode()).digest()


def digest(table: Table) -> bytes:
    """Equal for tables that are the same, whatever way they are stored."""
    return digest_of(dump(table))


def gateways(table: Table) -> set[str]:
    """Gateways through which seats of the table are connected now."""
    return {seat.gateway for seat in table.seats if seat.connected}
