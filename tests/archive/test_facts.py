"""What nobody at the table could see, of a scripted round whose answers are known."""

import json
from dataclasses import replace

import pytest

from engine import commands
from engine.cards import count
from engine.events import Corner, Cornered, Dealt, Event, Note
from engine.rules import PRESETS, Rules
from services.archive.facts import (
    Holding,
    Moment,
    Move,
    RoundFacts,
    Wandering,
    facts_of,
    one_trade_makes_a_corner,
    plain,
)
from services.cli.fact_lines import fact_lines
from support.staged import Staged, cards, lane
from support.whole_game import WholeGame

RULES = PRESETS["blitz"]
WHEAT, BARLEY, CORN = range(3)
SORTING_MS = 5_000


def numbered(items: list[Event | Note]) -> list[tuple[int, Event]]:
    happened = [item for item in items if isinstance(item, Event)]
    return list(enumerate(happened, 1))


def staged(*hands: str, rules: Rules = RULES) -> Staged:
    """Three seats, trading open; seats 0 and 1 hold ten cards."""
    table = Staged(rules, 3)
    table.deal([cards(rules, hand) for hand in hands], dealer=2)
    table.open_exchange()
    return table


def trade(table: Staged, later_ms: int, one: int, lot: str, other: int, against: str) -> int:
    """`one` offers, `other` meets it; the trade's number."""
    table.now_ms += later_ms
    table.offer(one, lot)
    table.offer(other, against)
    return table.table.seq


def the_round(table: Staged) -> RoundFacts:
    [facts] = facts_of(numbered(table.log))
    return facts


@pytest.fixture
def played() -> tuple[Staged, dict[str, int]]:
    """Seat 0 is two wheat short; the Bear goes from seat 1 over seat 2 to seat 1 again."""
    table = staged(
        "wheat 7, barley 2, Bull", "wheat 1, barley 5, corn 3, Bear", "wheat 1, barley 2, corn 6"
    )
    seqs = {"dealt": next(seq for seq, event in numbered(table.log) if hasattr(event, "hands"))}
    seqs["bear"] = trade(table, 1_000, 1, "Bear", 2, "corn 1")
    seqs["vain"] = trade(table, 1_000, 1, "barley 1", 2, "barley 1")
    seqs["near"] = trade(table, 1_000, 2, "wheat 1, Bear", 1, "corn 2")
    seqs["first"] = trade(table, 500, 1, "wheat 2", 0, "barley 2")
    table.now_ms += 2_000
    table.do(commands.Freeze(table.request(), 0, "", "a pause", "ann"))
    table.now_ms += 60_000
    table.do(commands.Unfreeze(table.request(), 0, "", "ann"))
    table.now_ms += 1_500
    table.ring(0, "wheat")
    seqs["rang"] = next(
        seq for seq, event in numbered(table.log) if type(event).__name__ == "Cornered"
    )
    return table, seqs


def test_who_held_bull_and_bear_and_how_long(played: tuple[Staged, dict[str, int]]) -> None:
    facts = the_round(played[0])
    assert facts.bull == (Holding(0, 0, SORTING_MS + 7_000),)
    assert facts.bear == (
        Holding(1, 0, SORTING_MS + 1_000),
        Holding(2, SORTING_MS + 1_000, SORTING_MS + 3_000),
        Holding(1, SORTING_MS + 3_000, SORTING_MS + 7_000),
    ), "a minute of standing still counts for nothing"
    assert facts.opened_ms == SORTING_MS
    assert (facts.ended_ms, facts.void, facts.trades) == (SORTING_MS + 7_000, False, 4)


def test_how_each_commodity_wandered(played: tuple[Staged, dict[str, int]]) -> None:
    assert the_round(played[0]).wanderings == (
        Wandering(WHEAT, 2, (Move(1, 0, 2), Move(2, 1, 1))),
        Wandering(BARLEY, 2, (Move(0, 1, 2), Move(1, 2, 1), Move(2, 1, 1))),
        Wandering(CORN, 2, (Move(1, 2, 2), Move(2, 1, 1))),
    )


def test_like_for_like(played: tuple[Staged, dict[str, int]]) -> None:
    table, seqs = played
    [swap] = the_round(table).swaps
    assert (swap.seq, swap.at_ms) == (seqs["vain"], SORTING_MS + 2_000)
    assert {swap.seat, swap.partner} == {1, 2}
    assert swap.cards == cards(RULES, "barley 1")


def test_when_the_corner_was_within_reach(played: tuple[Staged, dict[str, int]]) -> None:
    """Seven wheat and the Bull: one wheat more makes it, and each other seat has one from the
    first."""
    table, seqs = played
    reach = the_round(table).reach
    assert reach is not None
    assert (reach.seat, reach.lane, reach.kind) == (0, WHEAT, Corner.NINE_AND_BULL)
    assert reach.near == Moment(seqs["dealt"], 0)
    assert reach.held == Moment(seqs["first"], SORTING_MS + 3_500)
    assert reach.rang == Moment(seqs["rang"], SORTING_MS + 7_000)


def test_a_trade_of_others_brings_it_within_reach() -> None:
    """Three wheat short: no other seat has three, or two and the Bull, until they come together."""
    table = staged(
        "wheat 6, barley 2, corn 1, Bear",
        "wheat 1, barley 5, corn 3, Bull",
        "wheat 2, barley 2, corn 5",
    )
    near = trade(table, 1_000, 2, "wheat 2", 1, "corn 2")
    held = trade(table, 1_000, 1, "wheat 3", 0, "barley 2, Bear")
    table.ring(0, "wheat")
    reach = the_round(table).reach
    assert reach is not None
    assert (reach.near.seq, reach.held.seq) == (near, held)


def test_a_corner_out_of_the_pack_was_held_from_the_deal_on() -> None:
    table = staged("wheat 9, barley 1", "barley 8, corn 1, Bull", "corn 8, Bear")
    table.ring(0, "wheat")
    reach = the_round(table).reach
    assert reach is not None
    assert reach.held == reach.near
    assert reach.held.at_ms == 0


@pytest.mark.parametrize(
    ("mine", "theirs", "rules", "within_reach"),
    [
        ("wheat 8, corn 1", "wheat 1, rye 8", RULES, True),
        ("wheat 7, corn 2", "wheat 2, rye 7", RULES, True),
        ("wheat 7, corn 1, rye 1", "wheat 2, rye 7", RULES, False),
        ("wheat 7, corn 1, rye 1", "wheat 2, rye 7", replace(RULES, mixed_lots=True), True),
        ("wheat 7, corn 1, Bear", "wheat 2, rye 7", RULES, True),
        ("wheat 8, corn 1", "rye 8, Bull", RULES, True),
        ("wheat 4, corn 5", "wheat 5, rye 4", RULES, False),
        ("wheat 5, corn 4", "wheat 4, rye 5", RULES, True),
        ("wheat 9, Bear", "rye 9", replace(RULES, bear_blocks=True), True),
        ("wheat 7, corn 2", "wheat 1, rye 8", RULES, False),
    ],
)
def test_one_trade_away(mine: str, theirs: str, rules: Rules, within_reach: bool) -> None:
    found = one_trade_makes_a_corner(
        cards(rules, mine), cards(rules, theirs), lane(rules, "wheat"), rules
    )
    assert found == within_reach


def test_a_void_round_has_no_corner() -> None:
    table = staged(
        "wheat 7, barley 2, Bull", "wheat 1, barley 5, corn 3, Bear", "wheat 1, barley 2, corn 6"
    )
    table.wait_until(table.table.round_ends_at_ms)
    facts = the_round(table)
    assert facts.void
    assert facts.reach is None
    assert fact_lines(facts)[0].startswith("round 1 in hindsight: 0 trades, void after")


def test_without_bull_and_bear_nobody_holds_them() -> None:
    game = WholeGame("basic", 3, seed=2).played(rounds=2)
    rounds = list(facts_of(numbered(game.items)))
    assert len(rounds) == 2
    for facts in rounds:
        assert (facts.bull, facts.bear) == ((), ())
        assert facts.reach is not None
        assert facts.reach.near.seq <= facts.reach.held.seq < facts.reach.rang.seq


def test_cards_that_moved_add_up_over_whole_games() -> None:
    """What a seat got less what it gave is what it held at the end less what it was dealt."""
    game = WholeGame("deluxe", 5, seed=4).played(rounds=3)
    rounds = list(facts_of(numbered(game.items)))
    assert [facts.round for facts in rounds] == [1, 2, 3]
    deals = [item for item in game.items if isinstance(item, Dealt)]
    corners = [item for item in game.items if isinstance(item, Cornered)]
    for facts, dealt, cornered in zip(rounds, deals, corners, strict=True):
        assert facts.reach is not None
        gained = sum(
            move.cards * ((move.taker == facts.reach.seat) - (move.giver == facts.reach.seat))
            for wandering in facts.wanderings
            for move in wandering.moves
            if wandering.lane == facts.reach.lane
        )
        began = dealt.hands[facts.reach.seat]
        assert began is not None
        assert gained == count(cornered.hand, facts.reach.lane) - count(began, facts.reach.lane)
        assert json.loads(json.dumps(plain(facts)))["round"] == facts.round
        assert sum(one.to_ms - one.from_ms for one in facts.bear) == facts.ended_ms


def test_as_lines(played: tuple[Staged, dict[str, int]]) -> None:
    table, seqs = played
    lines = fact_lines(the_round(table))
    assert lines[0] == "round 1 in hindsight: 4 trades, scored after 12.0 s"
    assert "  Bear      seat 1 for 6.0 s, seat 2 for 2.0 s, seat 1 for 4.0 s" in lines
    assert "  wheat     3 cards in 2 trades: 2 from seat 1 to 0, 1 from seat 2 to 1" in lines
    assert f"  in vain   seats 2 and 1 each gave 1 barley at 7.0 s (event {seqs['vain']})" in lines
    assert lines[-1] == (
        "  corner    seat 0, wheat, nine and the Bull: one trade away at 0.0 s "
        f"(event {seqs['dealt']}), in hand at 8.5 s (event {seqs['first']}), "
        f"rung at 12.0 s (event {seqs['rang']})"
    )


def test_as_json(played: tuple[Staged, dict[str, int]]) -> None:
    table, seqs = played
    told = json.loads(json.dumps(plain(the_round(table))))
    assert told["bear"][1] == {"seat": 2, "from_ms": 6_000, "held_ms": 2_000}
    assert told["commodities"][0] == {
        "commodity": "wheat",
        "trades": 2,
        "cards": 3,
        "moves": [
            {"giver": 1, "taker": 0, "cards": 2},
            {"giver": 2, "taker": 1, "cards": 1},
        ],
    }
    assert told["same_swaps"][0]["cards"] == {"barley": 1}
    assert told["corner"]["held"] == {"event": seqs["first"], "at_ms": 8_500}
