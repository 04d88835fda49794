"""The bell, corners and what everyone scores (rules.md "Lots, corners, penalties", "Rulings")."""

from dataclasses import replace
from typing import Any

import pytest

from engine import events as e
from engine.cards import ONE, counts
from engine.events import Corner
from engine.rejections import Rejection
from engine.rules import PRESETS
from support.playing import Playing, kinds


def rung(preset: str | Any, held: str, others: dict[int, str] | None = None) -> Any:
    """Seat 0 holds `held` and rings for wheat; what came of it."""
    playing = Playing(preset, 4).trading({0: held, **(others or {})})
    return playing.ring(0, 0)


def result(events: Any) -> tuple[int, tuple[int, ...]]:
    """Kind and deltas."""
    corner = next(ev for ev in events if isinstance(ev, e.Cornered))
    scored = next(ev for ev in events if isinstance(ev, e.RoundScored))
    return corner.kind, scored.deltas


# ------------------------------------------------------------------ corners by preset


def test_nine_of_one_commodity_score_its_value() -> None:
    """All sheets: "corner on wheat", 100."""
    events = rung("basic", "9 wheat")
    assert kinds(events) == ["Cornered", "RoundScored", "Committed"]
    assert result(events) == (Corner.NINE, (100, 0, 0, 0))


def test_the_commodity_named_is_the_one_scored() -> None:
    playing = Playing("basic", 4).trading({0: "9 rye"})
    assert playing.ring(0, 0) == Rejection.NO_CORNER
    assert result(playing.ring(0, 3)) == (Corner.NINE, (70, 0, 0, 0))


@pytest.mark.parametrize(
    ("preset", "points"),
    [("classic", 100), ("deluxe", 200), ("deluxe-house", 100), ("household", 100),
     ("tournament", 100), ("blitz", 100)],
)  # fmt: skip
def test_eight_and_the_bull_are_a_corner(preset: str, points: int) -> None:
    """B: x1. A: x2, any corner with the Bull is doubled. C: x1."""
    kind, deltas = result(rung(preset, "8 wheat, bull, 1 corn", {1: "bear"}))
    assert (kind, deltas[0]) == (Corner.EIGHT_AND_BULL, points)


@pytest.mark.parametrize("preset", ["classic", "deluxe", "deluxe-house", "household", "blitz"])
def test_nine_and_the_bull_pay_double(preset: str) -> None:
    """A, B, C."""
    kind, deltas = result(rung(preset, "9 wheat, bull", {1: "bear"}))
    assert (kind, deltas[0]) == (Corner.NINE_AND_BULL, 200)


@pytest.mark.parametrize("preset", ["classic", "household", "blitz"])
def test_the_bear_beside_nine_does_no_harm(preset: str) -> None:
    """B: no; C: no (i)."""
    kind, _ = result(rung(preset, "9 wheat, bear", {1: "bull"}))
    assert kind == Corner.NINE_AND_BEAR


@pytest.mark.parametrize("preset", ["deluxe", "deluxe-house", "tournament"])
def test_or_blocks_the_corner(preset: str) -> None:
    """A."""
    outcome = rung(preset, "9 wheat, bear", {1: "bull"})
    if preset == "tournament":
        assert kinds(outcome) == ["BellRefused"]
    else:
        assert outcome == Rejection.NO_CORNER


@pytest.mark.parametrize("preset", ["household", "blitz"])
def test_eight_bull_and_bear_are_a_corner(preset: str) -> None:
    """C (i)."""
    kind, _ = result(rung(preset, "8 wheat, bull, bear"))
    assert kind == Corner.EIGHT_BULL_AND_BEAR


@pytest.mark.parametrize("preset", ["classic", "deluxe", "deluxe-house"])
def test_or_not(preset: str) -> None:
    """B: no (i); A: no."""
    assert rung(preset, "8 wheat, bull, bear") == Rejection.NO_CORNER


def test_the_tenth_card_is_laid_aside() -> None:
    """{9 + any} and {8 + Bull + any plain card} are corners."""
    assert result(rung("classic", "9 wheat, 1 corn"))[0] == Corner.NINE
    assert result(rung("classic", "8 wheat, bull, 1 rye"))[0] == Corner.EIGHT_AND_BULL


def test_the_best_kind_the_hand_supports_is_scored() -> None:
    """Nine and the Bull is eight and the Bull, too: what pays most counts."""
    rules = replace(PRESETS["classic"], eight_and_bull_times=3)
    kind, deltas = result(rung(rules, "9 wheat, bull", {1: "bear"}))
    assert (kind, deltas[0]) == (Corner.EIGHT_AND_BULL, 300)


@pytest.mark.parametrize("held", ["8 wheat", "8 wheat, bear", "7 wheat, bull, bear", "4 wheat"])
def test_less_is_no_corner(held: str) -> None:
    """Matrix B51."""
    assert rung("classic", held, {1: "1 wheat"}) == Rejection.NO_CORNER


# ------------------------------------------------------------------ penalties


@pytest.mark.parametrize(
    ("preset", "both"), [("classic", 50), ("deluxe", 40), ("household", 40), ("blitz", 40)]
)
def test_who_holds_bull_and_bear_pays_when_another_corners(preset: str, both: int) -> None:
    """20 for the Bull, 20 for the Bear; both: B 50, A and C 40. Scores may go below zero."""
    assert result(rung(preset, "9 wheat", {1: "bull", 2: "bear"}))[1] == (100, -20, -20, 0)
    assert result(rung(preset, "9 wheat", {3: "bull, bear"}))[1] == (100, 0, 0, -both)


def test_where_scores_stay_above_zero_nobody_pays_what_he_has_not() -> None:
    rules = replace(PRESETS["classic"], below_zero=False)
    scored = rung(rules, "9 wheat", {1: "bull, bear"})
    assert result(scored)[1] == (100, 0, 0, 0)


@pytest.mark.parametrize(("held", "pays"), [("9 wheat, bear", 20), ("8 wheat, bull, bear", 40)])
def test_the_cornerer_pays_for_the_bear_as_held(held: str, pays: int) -> None:
    """C: 20, with the Bull 40: the winner's score is the corner's value minus it."""
    events = rung("household", held, {} if "bull" in held else {1: "bull"})
    assert result(events)[1][0] == 100 - pays


@pytest.mark.parametrize(("held", "others"), [("9 wheat, bear", {1: "bull"}),
                                              ("8 wheat, bull, bear", {})])  # fmt: skip
def test_or_pays_nothing(held: str, others: dict[int, str]) -> None:
    """B: "another player"."""
    rules = replace(PRESETS["classic"], eight_bull_and_bear=True)
    assert result(rung(rules, held, others))[1][0] == 100


def test_the_bull_in_the_winners_hand_costs_nothing() -> None:
    """C: only the Bear is paid for at one's own corner."""
    assert result(rung("household", "8 wheat, bull, 1 corn", {1: "bear"}))[1] == (100, -20, 0, 0)


def test_shown_are_the_winners_cards_and_who_held_bull_and_bear() -> None:
    """ "Shown at a corner" """
    corner = rung("classic", "9 wheat", {1: "bull", 3: "bear"})[0]
    assert counts(corner.hand)[0] == 9
    assert (corner.bull_seat, corner.bear_seat) == (1, 3)


# ------------------------------------------------------------------ when it rings


def test_cards_in_the_own_open_offer_count() -> None:
    """Matrix B53: "an accepted bell withdraws the ringer's own offer first" """
    playing = Playing("classic", 4).trading({0: "9 wheat"})
    playing.offer(0, 4 * ONE[0])
    events = playing.ring(0, 0)
    assert kinds(events) == ["OfferEnded", "Cornered", "RoundScored", "Committed"]
    assert events[0].why == e.Why.BELL


def test_a_corner_dealt_straight_may_be_rung_once_trading_is_open() -> None:
    """ "not before" """
    playing = Playing("classic", 4).dealt()
    playing.rig({0: "9 wheat"})
    assert playing.ring(0, 0) == Rejection.NOT_OPEN
    playing.opened()
    assert kinds(playing.ring(0, 0))[0] == "Cornered"


def test_a_bell_is_judged_where_it_stands_and_never_remembered() -> None:
    """ "A bell and a trade race: order of the table's log decides" """
    playing = Playing("classic", 4).trading({0: "8 wheat, 1 corn", 1: "1 wheat"})
    playing.offer(0, ONE[2])
    assert playing.ring(0, 0) == Rejection.NO_CORNER
    traded = playing.offer(1, ONE[0])
    assert kinds(traded) == ["Traded"]
    assert kinds(playing.ring(0, 0))[0] == "Cornered"


def test_one_trade_completes_two_corners() -> None:
    """ "the first bell in the log wins; the other ringer is told by how much it was late, and
    pays nothing"; matrix B52."""
    playing = Playing("tournament", 4).trading({0: "8 wheat, 1 barley", 1: "8 barley, 1 wheat"})
    playing.offer(0, ONE[1])
    playing.offer(1, ONE[0])
    seen = playing.table.seq
    assert kinds(playing.ring(0, 0))[0] == "Cornered"
    playing.now_ms += 37
    assert playing.ring(1, 1, seen_seq=seen) == Rejection.ROUND_OVER
    assert playing.answer.parameters == (37,)
    assert playing.scores()[1] == 0


def test_the_other_is_told_even_if_that_bell_ended_the_game() -> None:
    rules = replace(PRESETS["classic"], target=100)
    playing = Playing(rules, 4).trading({0: "9 wheat", 1: "9 barley"})
    assert kinds(playing.ring(0, 0))[-1] == "GameEnded"
    assert playing.ring(1, 1) == Rejection.ROUND_OVER
    assert playing.answer.parameters == (1,), "late, however little"


def test_a_late_bell_without_a_corner_was_late_by_nothing() -> None:
    playing = Playing("classic", 4).trading({0: "9 wheat"})
    playing.ring(0, 0)
    playing.now_ms += 5
    assert playing.ring(1, 1) == Rejection.ROUND_OVER
    assert playing.answer.parameters == (0,)


def test_a_commodity_there_is_not() -> None:
    playing = Playing("classic", 4).trading()
    for lane in (-1, 7, 8, 9):
        assert playing.ring(0, lane) == Rejection.NO_SUCH_COMMODITY


# ------------------------------------------------------------------ false bells


def test_a_false_bell_costs_nothing_in_the_sheets() -> None:
    """(i): a plain refusal, no event."""
    for preset in ("basic", "classic", "deluxe", "household", "blitz"):
        playing = Playing(preset, 4).trading({0: "4 wheat"})
        assert playing.ring(0, 0) == Rejection.NO_CORNER
        assert playing.scores() == [0] * 4


def test_a_false_bell_costs_20_and_3_seconds_in_a_tournament() -> None:
    """(o): an accepted command with the event "bell refused"; only that seat's bell is locked."""
    playing = Playing("tournament", 4).trading({0: "4 wheat", 1: "9 barley"})
    (refused,) = playing.ring(0, 0)
    assert refused == e.BellRefused(0, 0, 20, playing.now_ms + 3_000, playing.now_ms)
    assert playing.scores() == [-20, 0, 0, 0]
    playing.now_ms += 1_000
    assert playing.ring(0, 0) == Rejection.BELL_LOCKED
    assert playing.answer.parameters == (2_000,)
    assert kinds(playing.offer(0, ONE[0])) == ["OfferOpened"], "trading goes on"
    assert kinds(playing.ring(1, 1))[0] == "Cornered"


def test_the_lock_ends_in_log_time() -> None:
    playing = Playing("tournament", 4).trading({0: "4 wheat"})
    playing.ring(0, 0)
    playing.now_ms += 3_000
    assert kinds(playing.ring(0, 0)) == ["BellRefused"]


def test_no_fine_when_the_round_was_over_or_stale() -> None:
    playing = Playing("tournament", 4).trading({0: "9 wheat", 1: "4 barley"})
    playing.ring(0, 0)
    assert playing.ring(1, 1) == Rejection.ROUND_OVER
    playing.next_round()
    assert playing.ring(1, 1, round=1) == Rejection.STALE_ROUND
    assert playing.scores()[1] == 0


def test_no_fine_when_a_trade_the_ringer_had_not_seen_spoilt_it() -> None:
    """ "when the seat's last trade was committed after the last event the ringer had seen" """
    playing = Playing("tournament", 4).trading({0: "8 wheat", 1: "2 corn"})
    playing.offer(0, ONE[0])
    seen = playing.table.seq
    playing.offer(1, ONE[3])
    assert playing.ring(0, 0, seen_seq=seen) == Rejection.NO_CORNER
    assert playing.scores()[0] == 0
    assert kinds(playing.ring(0, 0)) == ["BellRefused"], "seen now"


@pytest.mark.parametrize(("after_ms", "fined"), [(1_999, False), (2_000, True)])
def test_who_says_to_have_seen_nothing_is_believed_for_two_seconds(
    after_ms: int, fined: bool
) -> None:
    """ "and less than 2 s of log time before the bell": a client may say 0 for ever."""
    playing = Playing("tournament", 4).trading({0: "8 wheat", 1: "2 corn"})
    playing.offer(0, ONE[0])
    playing.offer(1, ONE[3])
    playing.now_ms += after_ms
    found = playing.ring(0, 0, seen_seq=0)
    assert found == Rejection.NO_CORNER if not fined else kinds(found) == ["BellRefused"]
    assert playing.scores()[0] == (-20 if fined else 0)


def test_while_a_table_is_frozen_a_trade_grows_no_older() -> None:
    playing = Playing("tournament", 4).trading({0: "8 wheat", 1: "2 corn"})
    playing.offer(0, ONE[0])
    playing.offer(1, ONE[3])
    playing.now_ms += 1_000
    playing.freeze()
    playing.now_ms += 60_000
    playing.unfreeze()
    playing.now_ms += 999
    assert playing.ring(0, 0, seen_seq=0) == Rejection.NO_CORNER
    playing.now_ms += 1
    assert kinds(playing.ring(0, 0, seen_seq=0)) == ["BellRefused"]


def test_the_fine_leaves_no_score_below_zero_where_that_is_the_rule() -> None:
    rules = replace(PRESETS["tournament"], below_zero=False)
    playing = Playing(rules, 4).trading({0: "4 wheat"})
    assert playing.ring(0, 0)[0].fine == 0
    assert playing.scores()[0] == 0
