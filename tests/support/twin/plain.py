"""The twin as the plain lists that `engine.state.dump` gives for a real table.

This is where the two meet: equal lists, so equal digests. What the lists hold is part of the
engine's contract (`engine/state.py`); how their content comes about is not looked up anywhere.
"""

from dataclasses import fields
from typing import Any

from engine import state
from engine.cards import DECKS
from engine.commands import NOBODY
from engine.limits import ANSWERS_KEPT
from engine.rules import Rules

from .cards import to_packed
from .presence import may_act_at_once
from .table import Chair, PastRequest, Player, Twin


def plain(twin: Twin) -> list[Any]:
    """Fields, tuples, rules, marks, opening, requests, seats."""
    return [
        list(table_fields(twin).values()),
        list(table_tuples(twin).values()),
        plain_rules(twin.rules),
        [[mark.epoch, mark.nonce, mark.first_seq] for mark in twin.marks],
        plain_request(twin.opened_by) if twin.opened_by else None,
        [plain_request(past) for past in twin.requests],
        [plain_chair(twin, chair) for chair in twin.chairs],
    ]


def table_fields(twin: Twin) -> dict[str, Any]:
    opening = twin.opening
    assert opening is not None
    return {
        "table": twin.table_id,
        "seq": twin.seq,
        "phase": int(twin.phase),
        "display_name": opening.display_name,
        "visibility": opening.visibility,
        "absent_policy": opening.absent_policy,
        "bots": opening.bots,
        "for_bots": opening.for_bots,
        "invite_hash": twin.invite_hash,
        "owner": twin.owner,
        "epoch": twin.marks[-1].epoch if twin.marks else 0,
        "opened_ms": twin.opened_at_ms,
        "opens_at_ms": twin.opens_at_ms,
        "round_ends_at_ms": twin.round_ends_at_ms,
        "next_deal_at_ms": twin.next_deal_at_ms,
        "ended_ms": twin.round_over_at_ms,
        "people_gone_ms": twin.no_people_since_ms,
        "round": twin.round,
        "dealer": twin.dealer,
        "commitment": twin.commitment,
        "seed": twin.seed,
        "winner": twin.last_winner,
        "scored": twin.rounds_scored,
        "voids": twin.voids_running,
        "sudden": twin.sudden_death_rounds,
        "end": int(twin.end),
        "start_at_s": twin.start_at_s,
        "frozen_at_ms": twin.frozen_at_ms,
        "frozen_reason": twin.frozen_reason,
        "rematch_until_ms": twin.vote_ends_at_ms,
        "rematch_table": twin.rematch_at,
    }


def table_tuples(twin: Twin) -> dict[str, list[Any]]:
    names = [name for name, _ in DECKS[twin.rules.deck]]
    return {
        "suits": [names.index(suit) for suit in twin.suits],
        "nonces": list(twin.drawn_with),
        "tied": list(twin.tied),
        "removed": list(twin.removed),
        "left": [person for person, _ in twin.left_this_round],
        "left_seats": [seat for _, seat in twin.left_this_round],
    }


def plain_rules(rules: Rules) -> list[Any]:
    switches: list[Any] = []
    for switch in fields(rules):
        value = getattr(rules, switch.name)
        if isinstance(value, tuple):
            value = list(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            value = int(value)
        switches.append(value)
    return switches


def plain_request(past: PastRequest) -> list[Any]:
    return [
        past.request,
        past.content,
        int(past.rejection),
        list(past.parameters),
        past.seq,
        past.seat,
    ]


def plain_chair(twin: Twin, chair: Chair) -> list[Any]:
    stand_in_acts = chair.stream.bot if chair.stream else False
    return [
        list(chair_fields(twin, chair).values()),
        plain_player(chair.people),
        plain_player(chair.bots),
        stand_in_acts,
    ]


def chair_fields(twin: Twin, chair: Chair) -> dict[str, Any]:
    ready = 0
    for purpose in chair.ready:
        ready += 2**purpose
    offer, stream = chair.offer, chair.stream
    return {
        "person": chair.person,
        "taken_seq": chair.seated_place,
        "dropped": chair.dropped,
        "forfeited": chair.forfeited,
        "bot": chair.bot,
        "bot_wanted": chair.bot_wanted,
        "attach": chair.attaches,
        "holder": chair.attaches if may_act_at_once(chair) else 0,
        "connected": chair.connected,
        "gateway": stream.gateway if stream else "",
        "stream": stream.name if stream else b"",
        "absence": int(chair.absence),
        "away_until_ms": chair.away_until_ms,
        "active_ms": chair.acted_at_ms,
        "idle_since_ms": chair.idle_since_ms,
        "idle_ms": chair.idle_ms,
        "ready": ready,
        "nonce": chair.nonce,
        "hand": to_packed(twin.rules, chair.hand),
        "offer_size": len(offer.lot) if offer else 0,
        "offer_lot": to_packed(twin.rules, offer.lot) if offer else 0,
        "offer_directed_at": offer.directed_at if offer else NOBODY,
        "offer_ends_at_ms": offer.ends_at_ms if offer else 0,
        "offer_seq": offer.place if offer else 0,
        "traded_seq": chair.last_trade_seq,
        "traded_ms": chair.last_trade_at_ms,
        "bell_locked_until_ms": chair.bell_locked_until_ms,
        "score": chair.score,
        "corners": chair.corners,
        "penalties": chair.penalties,
        "best_corner": chair.best_corner,
        "plays_again": chair.wants_rematch,
        "place": chair.came_in,
    }


def plain_player(player: Player) -> list[Any]:
    kept = [0] * (2 * ANSWERS_KEPT if player.answers else 0)
    refusals = []
    for past in player.answers:
        place = 2 * (past.number % ANSWERS_KEPT)
        kept[place : place + 2] = past.content, past.seq
        if past.rejection:
            refusals.append([past.number, int(past.rejection), list(past.parameters)])
    return [player.generation, player.last_number, kept, refusals]


def named(dumped: list[Any]) -> dict[str, Any]:
    """A dump with names in it, so that a difference can be read."""
    table, tuples, rules, marks, opening, requests, seats = dumped
    return {
        "table": dict(zip(state.TABLE_FIELDS, table, strict=True)),
        "tuples": dict(zip(state.TUPLE_FIELDS, tuples, strict=True)),
        "rules": rules,
        "marks": marks,
        "opening": opening,
        "requests": requests,
        "seats": [
            {
                "seat": dict(zip(state.SEAT_FIELDS, held, strict=True)),
                "person": person,
                "stand_in": stand_in,
                "stand_in_acts": acts,
            }
            for held, person, stand_in, acts in seats
        ],
    }
