"""Whole rounds and games: sorting, readiness, deals, dealers, void rounds, ends (rules.md
"Presets", "Our rulings")."""

from dataclasses import replace
from typing import Any

import pytest

from engine import events as e
from engine.commands import Purpose
from engine.events import End
from engine.rejections import Rejection
from engine.rules import PRESETS, Rules
from engine.shown import Phase
from support.playing import Playing, kinds

# ------------------------------------------------------------------ readiness and sorting


def test_a_game_starts_when_all_seats_are_filled_and_ready() -> None:
    """api.md: the third of three is ready, and the cards are dealt."""
    playing = Playing("blitz", 3).seated()
    assert kinds(playing.ready(0, Purpose.START)) == ["ReadyGiven"]
    assert kinds(playing.ready(2, Purpose.START)) == ["ReadyGiven"]
    assert kinds(playing.ready(1, Purpose.START)) == ["ReadyGiven", "Dealt"]
    assert playing.table.phase == Phase.SORTING


def test_an_empty_seat_is_waited_for() -> None:
    playing = Playing("blitz", 3)
    playing.open_table()
    for seat in range(2):
        playing.join(f"p{seat}")
        playing.attach(seat)
        assert kinds(playing.ready(seat, Purpose.START)) == ["ReadyGiven"]


def test_three_meanings_of_ready_each_in_its_place() -> None:
    """ready to start, hand sorted, next round; B: matrix of phases."""
    playing = Playing("blitz", 3).seated()
    assert playing.ready(0, Purpose.OPEN) == Rejection.NOT_STARTED
    assert playing.ready(0, Purpose.NEXT) == Rejection.NOT_STARTED
    for seat in range(3):
        playing.ready(seat, Purpose.START)
    assert playing.ready(0, Purpose.START) == Rejection.ALREADY_STARTED
    assert playing.ready(0, Purpose.NEXT) == Rejection.NOT_NOW
    playing.opened()
    assert playing.ready(0, Purpose.OPEN) == Rejection.NOT_NOW
    playing.corner(0)
    assert playing.ready(0, Purpose.OPEN) == Rejection.NOT_NOW
    assert kinds(playing.ready(0, Purpose.NEXT)) == ["ReadyGiven"]
    assert playing.ready(0, Purpose.NEXT) == Rejection.NOT_NOW, "said already"
    assert playing.ready(1, 4) == playing.ready(1, 0) == Rejection.WRONG_PURPOSE


@pytest.mark.parametrize(
    ("purpose", "nonce"), [(Purpose.START, b"x" * 15), (Purpose.START, b"x" * 17),
                           (Purpose.OPEN, b"x" * 16)]
)  # fmt: skip
def test_a_nonce_has_sixteen_bytes_and_goes_with_start_and_next(purpose: int, nonce: bytes) -> None:
    playing = Playing("blitz", 3).seated()
    assert playing.ready(0, purpose, nonce) == Rejection.NONCE_LENGTH


@pytest.mark.parametrize("preset", list(PRESETS))
def test_the_sorting_pause(preset: str) -> None:
    """B: 30 s. A, C: at most 60 s (i). Ours: 15 s and 5 s. I12: not before."""
    playing = Playing(preset, 4).dealt()
    pause_ms = playing.rules.sorting_pause_s * 1_000
    assert playing.table.opens_at_ms == playing.now_ms + pause_ms
    assert playing.wait(pause_ms - 1) == []
    (opened,) = playing.wait(1)
    cap_ms = playing.rules.round_cap_s * 1_000
    assert opened == e.ExchangeOpened(1, playing.now_ms + cap_ms, playing.now_ms)


@pytest.mark.parametrize("preset", list(PRESETS))
def test_all_ready_opens_early_or_not(preset: str) -> None:
    """A, C, blitz: all ready; B: no (i); tournament: no."""
    playing = Playing(preset, 4).dealt()
    for seat in range(3):
        assert kinds(playing.ready(seat, Purpose.OPEN)) == ["ReadyGiven"]
    early = ["ExchangeOpened"] if playing.rules.opens_when_sorted else []
    assert kinds(playing.ready(3, Purpose.OPEN)) == ["ReadyGiven", *early]


def test_an_absent_player_is_not_waited_for() -> None:
    """The last who had not sorted loses the stream: the exchange opens at once."""
    playing = Playing("blitz", 3).dealt()
    playing.ready(0, Purpose.OPEN)
    playing.ready(1, Purpose.OPEN)
    assert kinds(playing.detach(2)) == ["SeatAway"]
    assert kinds(playing.wait(0)) == ["ExchangeOpened"]


def test_the_next_deal_comes_when_all_are_ready() -> None:
    playing = Playing("blitz", 3).trading()
    playing.corner(0)
    for seat in range(2):
        playing.ready(seat, Purpose.NEXT)
    assert kinds(playing.ready(2, Purpose.NEXT)) == ["ReadyGiven", "Dealt"]
    assert playing.table.round == 2


def test_or_after_eight_seconds() -> None:
    playing = Playing("blitz", 3).trading()
    playing.corner(0)
    assert playing.wait(7_999) == []
    assert kinds(playing.wait(1)) == ["Dealt"]


def test_a_nonce_is_for_one_deal() -> None:
    playing = Playing("blitz", 3).trading()
    playing.corner(0)
    playing.ready(0, Purpose.NEXT, b"n" * 16)
    playing.wait(8_000)
    assert playing.table.nonces == (b"n" * 16, bytes(16), bytes(16))


# ------------------------------------------------------------------ dealers


def deals(playing: Playing) -> list[e.Dealt]:
    return [item for item in playing.items if isinstance(item, e.Dealt)]


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "tournament"])
def test_the_winner_of_the_hand_deals_next(preset: str) -> None:
    """B: last winner; A: winner of the hand; C (i)."""
    playing = Playing(preset, 4).trading()
    for winner in (2, 2, 0):
        playing.corner(winner)
        if playing.table.phase == Phase.ENDED:
            return
        playing.next_round()
        assert deals(playing)[-1].dealer == winner


def test_in_a_tournament_the_next_seat_deals() -> None:
    playing = Playing("tournament", 4).trading()
    for _ in range(5):
        before = playing.table.dealer
        playing.corner(1)
        if playing.table.phase == Phase.BETWEEN:
            playing.next_round()
            assert deals(playing)[-1].dealer == (before + 1) % 4
    assert len(deals(playing)) == 5


def test_the_dealer_is_a_seat_so_an_absent_winner_counts() -> None:
    playing = Playing("classic", 4).trading()
    playing.corner(2)
    playing.detach(2)
    playing.wait(8_000)
    assert deals(playing)[-1].dealer == 2


# ------------------------------------------------------------------ void rounds


def void(playing: Playing) -> list[e.Event]:
    """Let the cap of the open round come, all seats trying something now and then."""
    until_ms = playing.table.round_ends_at_ms
    done: list[e.Event] = []
    while playing.now_ms < until_ms:
        for seat in range(playing.size):
            busy(playing, seat)
        done += playing.wait(min(5_000, until_ms - playing.now_ms))
    return done


def busy(playing: Playing, seat: int) -> None:
    """An offer at somebody who holds nothing up."""
    lane = next(lane for lane in range(8) if playing.hand(seat) >> 5 * lane & 15)
    size = 1 + seat % 4
    count = min(size, playing.hand(seat) >> 5 * lane & 15)
    if not playing.table.seats[seat].offer_size:
        playing.offer(seat, count << 5 * lane)
    else:
        playing.withdraw(seat)


def test_a_round_without_a_corner_is_void_at_the_cap() -> None:
    """Counted from the opening; nobody scores, the same dealer deals again."""
    playing = Playing("classic", 4).trading()
    opened_ms = playing.now_ms
    dealer = playing.table.dealer
    done = void(playing)
    assert playing.now_ms == opened_ms + 300_000
    assert kinds(done[-2:]) == ["RoundVoid", "Committed"]
    assert playing.scores() == [0] * 4
    playing.next_round()
    assert playing.table.dealer == dealer


def test_the_seed_of_a_void_round_is_published_too() -> None:
    playing = Playing("classic", 4).trading()
    seed = playing.table.seed
    voided = next(event for event in void(playing) if isinstance(event, e.RoundVoid))
    assert voided.seed == seed


def test_three_voids_running_end_the_game_and_scores_stand() -> None:
    """ "abandoned" """
    playing = Playing("blitz", 4).trading()
    playing.corner(0)
    playing.next_round()
    scores = playing.scores()
    for _ in range(2):
        assert kinds(void(playing))[-1] == "Committed"
        playing.next_round()
    ended = void(playing)[-1]
    assert isinstance(ended, e.GameEnded)
    assert ended.end == End.STALLED
    assert playing.scores() == scores


def test_a_corner_between_them_starts_the_count_again() -> None:
    playing = Playing(replace(PRESETS["blitz"], target=1_000), 4).trading()
    for _ in range(2):
        void(playing)
        playing.next_round()
    playing.corner(1)
    playing.next_round()
    assert kinds(void(playing))[-1] == "Committed"


def test_an_idle_seat_loses_20_in_a_void_round() -> None:
    """Ours: a seat idle for more than half of it; a table that waits, so nobody stands in."""
    playing = Playing("tournament", 4)
    waits: dict[str, Any] = {"visibility": 3, "absent_policy": 2, "invite_hash": b"i" * 32}
    playing.trading(**waits)
    while playing.table.phase == Phase.OPEN:
        for seat in range(3):
            busy(playing, seat)
        playing.wait(5_000)
    assert playing.scores() == [0, 0, 0, -20]


def test_not_where_it_was_away_for_less_than_half() -> None:
    playing = Playing("tournament", 4)
    playing.trading(visibility=3, absent_policy=2, invite_hash=b"i" * 32)
    begun_ms = playing.now_ms
    while playing.table.phase == Phase.OPEN:
        for seat in range(3 if playing.now_ms - begun_ms < 55_000 else 4):
            busy(playing, seat)
        playing.wait(5_000)
    assert playing.scores() == [0] * 4


def test_time_a_stand_in_plays_is_not_idle() -> None:
    playing = Playing("tournament", 4).trading()
    playing.wait(12_000 + 15_000)
    assert playing.table.seats[3].bot_wanted
    playing.attach(3, bot=True)
    while playing.table.phase == Phase.OPEN:
        for seat in range(3):
            busy(playing, seat)
        playing.wait(5_000)
    assert playing.scores()[3] == 0


@pytest.mark.parametrize("preset", ["classic", "deluxe", "deluxe-house", "household"])
def test_the_sheets_have_no_penalty_for_that(preset: str) -> None:
    playing = Playing(preset, 4)
    playing.trading(visibility=3, absent_policy=2, invite_hash=b"i" * 32)
    playing.wait(playing.rules.round_cap_s * 1_000)
    assert playing.scores() == [0] * 4


# ------------------------------------------------------------------ the end of a game


def corners(playing: Playing, winners: list[int]) -> Any:
    """These seats corner wheat, round after round; the events of the last one."""
    events: Any = []
    for number, winner in enumerate(winners):
        if number:
            playing.next_round()
        events = playing.corner(winner)
    return events


def test_first_to_500_wins() -> None:
    """A, B, C. Only one seat scores a corner in a round, so there is one winner."""
    playing = Playing("basic", 3).trading()
    events = corners(playing, [1, 0, 1, 1, 1, 1])
    ended = events[-1]
    assert ended == e.GameEnded(End.WON, (2, 1, 3), (100, 500, 0), ended.at_ms)
    assert playing.table.phase == Phase.ENDED


def test_blitz_ends_at_200() -> None:
    playing = Playing("blitz", 4).trading()
    assert kinds(corners(playing, [1, 1]))[-1] == "GameEnded"


def test_equal_scores_share_a_place() -> None:
    rules = replace(PRESETS["basic"], target=200)
    ended = corners(Playing(rules, 4).trading(), [1, 2, 0, 1])[-1]
    assert ended.places == (2, 1, 2, 4)


def test_a_finished_table_stays_ten_minutes_then_closes() -> None:
    """rules.md "Table life"; the time is ours."""
    playing = Playing("blitz", 4).trading()
    corners(playing, [1, 1])
    assert playing.wait(599_999) == []
    assert kinds(playing.wait(1)) == ["TableClosed"]
    assert playing.table.wake_at_ms == 0


# ------------------------------------------------------------------ fixed rounds


def fixed(**changes: Any) -> Playing:
    """A short tournament without Bull and Bear, whose end the tests can reach."""
    plain: dict[str, Any] = {"bull_and_bear": False, "scored_rounds_max": 4, "rounds_max": 6}
    rules: Rules = replace(PRESETS["tournament"], **{**plain, **changes})
    return Playing(rules, 4).trading()


def test_a_tournament_ends_after_12_scored_rounds_the_highest_score_wins() -> None:
    rules = replace(PRESETS["tournament"], target=10_000)
    playing = Playing(rules, 4).trading()
    events = corners(playing, [0, 1, 2] * 3 + [0, 3, 0])
    assert playing.table.round == 12
    assert events[-1].end == End.ROUNDS_PLAYED
    assert events[-1].places[0] == 1


def test_or_at_500_whichever_is_first() -> None:
    assert corners(fixed(scored_rounds_max=12), [0] * 5)[-1].end == End.WON


def test_or_after_16_rounds_in_all() -> None:
    """Void ones counted; here six."""
    playing = fixed(rounds_max=3)
    corners(playing, [0])
    playing.next_round()
    void(playing)
    playing.next_round()
    ended = void(playing)[-1]
    assert isinstance(ended, e.GameEnded)
    assert ended.end == End.ROUNDS_PLAYED
    assert ended.places[0] == 1


def tied(corners_of: dict[int, int], penalties: dict[int, int], best: dict[int, int]) -> Any:
    """One round before the end seats 0 and 1 have equal scores, and this between them; then
    seat 2 corners. What follows."""
    playing = fixed(scored_rounds_max=3, target=10_000)
    corners(playing, [0, 1])
    for index in (0, 1):
        seat = playing.table.seats[index]
        seat.score = 300
        seat.corners = corners_of.get(index, 1)
        seat.penalties = penalties.get(index, 0)
        seat.best_corner = best.get(index, 100)
    playing.next_round()
    return playing, playing.corner(2)[-1]


@pytest.mark.parametrize(
    ("corners_of", "penalties", "best"),
    [
        ({1: 2}, {1: 1}, {1: 50}),
        ({}, {0: 1}, {1: 50}),
        ({}, {}, {0: 85}),
    ],
)
def test_the_order_of_tie_breaks(
    corners_of: dict[int, int], penalties: dict[int, int], best: dict[int, int]
) -> None:
    """Most corners, fewest penalties, highest single corner: each before the next."""
    _, ended = tied(corners_of, penalties, best)
    assert ended.end == End.ROUNDS_PLAYED
    assert ended.places == (2, 1, 3, 4)


def test_then_sudden_death_the_first_tied_seat_to_corner_wins() -> None:
    """Played by all: a corner of a seat that is not tied only counts for itself."""
    playing, committed = tied({}, {}, {})
    assert isinstance(committed, e.Committed)
    assert committed.tied == (0, 1)
    playing.next_round()
    again = playing.corner(3)[-1]
    assert again.tied == (0, 1)
    playing.next_round()
    ended = playing.corner(1)[-1]
    assert ended.end == End.ROUNDS_PLAYED
    assert ended.places == (2, 1, 3, 3)


def test_after_two_such_rounds_without_the_place_is_shared() -> None:
    playing, _ = tied({}, {}, {})
    playing.next_round()
    void(playing)
    playing.next_round()
    ended = playing.corner(3)[-1]
    assert ended.end == End.SHARED
    assert ended.places == (1, 1, 3, 3)
