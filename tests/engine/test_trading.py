"""Lots, offers and how they pair (rules.md "Lots, corners, penalties" and "Our rulings")."""

import pytest

from engine import events as e
from engine.cards import ONE
from engine.rejections import Rejection
from engine.shown import Phase
from engine.view import view
from support.playing import Playing, kinds


def pit(preset: str = "classic", seats: int = 4) -> Playing:
    """Seat 0 holds much of everything, seats 1 and 2 enough to answer."""
    return Playing(preset, seats).trading({
        0: "4 wheat, 2 barley, bull, bear",
        1: "4 barley, 2 corn",
        2: "4 corn, 2 rye",
    })  # fmt: skip


# ------------------------------------------------------------------ lots


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_player_holds_up_one_to_four_cards(count: int) -> None:
    """B, C; A shows no larger lot (i)."""
    (opened,) = pit().offer(0, count * ONE[0])
    assert opened == e.OfferOpened(0, count, count * ONE[0], -1, 0, opened.at_ms)


@pytest.mark.parametrize("lot", [0, 5 * ONE[0], 9 * ONE[0], 2 * ONE[0] + 3 * ONE[1], -1, 1 << 4])
def test_and_no_other_number(lot: int) -> None:
    """Matrix B36, B37."""
    playing = pit()
    assert playing.offer(0, lot) == Rejection.LOT_SIZE
    assert playing.answer.parameters == (1, 4)


def test_a_lot_is_of_one_suit() -> None:
    """B, C: "one suit"; matrix B40."""
    assert pit().offer(0, ONE[0] + ONE[1]) == Rejection.ONE_COMMODITY


@pytest.mark.parametrize("preset", ["deluxe", "deluxe-basic"])
def test_mixed_lots_hold_any_cards(preset: str) -> None:
    """A: any 1-4 cards."""
    playing = Playing(preset, 4).trading({0: "1 wheat, 1 barley, 1 coffee, 1 corn"})
    (opened,) = playing.offer(0, playing.cards("1 wheat, 1 barley, 1 coffee, 1 corn"))
    assert opened.size == 4


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("3 wheat, bear", 4),
        ("2 wheat, bull, bear", 4),
        ("2 wheat, bull", 3),
        ("bull", 1),
        ("bear", 1),
        ("bull, bear", 2),
    ],
)
def test_bull_and_bear_may_each_fill_a_lot(words: str, size: int) -> None:
    """Each may replace one card, be a lot of one alone, and both together a lot of two: B for
    the Bear, (i) for the Bull; A and C for both."""
    playing = pit()
    (opened,) = playing.offer(0, playing.cards(words))
    assert opened.size == size


@pytest.mark.parametrize("words", ["2 bull", "1 wheat, 2 bear", "bull, 2 bear"])
def test_there_is_one_bull_and_one_bear(words: str) -> None:
    """Matrix B38."""
    playing = pit()
    assert playing.offer(0, playing.cards(words)) == Rejection.LOT_BULL_BEAR


def test_where_they_are_not_in_play_no_lot_holds_them() -> None:
    """B, A: the basic games are played without."""
    playing = Playing("basic", 4).trading()
    assert playing.offer(0, playing.cards("bull")) == Rejection.LOT_BULL_BEAR


@pytest.mark.parametrize("lot", [ONE[7], 1 << 50, ONE[0] + (1 << 55)])
def test_a_commodity_that_is_not_in_the_deck(lot: int) -> None:
    """Matrix B39."""
    assert pit().offer(0, lot) == Rejection.NO_SUCH_COMMODITY


def test_only_cards_in_hand_can_be_offered() -> None:
    """Matrix B41: the same answer whoever holds them, or nobody."""
    playing = pit()
    assert playing.offer(1, playing.cards("bull")) == Rejection.CARDS_NOT_IN_HAND
    assert playing.offer(1, playing.cards("1 flax")) == Rejection.CARDS_NOT_IN_HAND


# ------------------------------------------------------------------ open offers


def test_cards_in_an_open_offer_stay_the_offerers() -> None:
    """ "stay the offerer's, cannot be offered twice" """
    playing = pit()
    held = playing.hand(0)
    playing.offer(0, 3 * ONE[0])
    assert playing.hand(0) == held


def test_a_new_offer_replaces_the_open_one_in_the_same_step() -> None:
    """ "lowering the bid"; matrix B42: the same cards may be in it."""
    playing = pit()
    playing.offer(0, 4 * ONE[0])
    assert kinds(playing.offer(0, 3 * ONE[0])) == ["OfferOpened"]
    assert playing.offer(1, 4 * ONE[1])[0].size == 4, "the lot of four is gone"
    (traded,) = playing.offer(2, 3 * ONE[2])
    assert (traded.partner, traded.size) == (0, 3)


def test_replacing_that_trades_ends_the_old_offer_too() -> None:
    playing = pit()
    playing.offer(1, 2 * ONE[1])
    playing.offer(0, 4 * ONE[0])
    assert kinds(playing.offer(0, 2 * ONE[0])) == ["Traded"]
    assert playing.table.seats[0].offer_size == 0
    assert kinds(playing.offer(2, 4 * ONE[2])) == ["OfferOpened"]


def test_withdrawing() -> None:
    """Matrix B48."""
    playing = pit()
    assert playing.withdraw(0) == Rejection.NOTHING_TO_WITHDRAW
    playing.offer(0, ONE[0])
    (ended,) = playing.withdraw(0)
    assert ended.why == e.Why.WITHDRAWN
    assert kinds(playing.offer(1, ONE[1])) == ["OfferOpened"]


def test_withdrawing_what_has_just_been_traded() -> None:
    """Matrix B49: only while the withdrawer had not seen the trade."""
    playing = pit()
    playing.offer(0, ONE[0])
    seen = playing.table.seq
    playing.offer(1, ONE[1])
    assert playing.withdraw(0, seen_seq=seen) == Rejection.OFFER_TRADED
    assert playing.withdraw(0) == Rejection.NOTHING_TO_WITHDRAW


# ------------------------------------------------------------------ pairing


def test_an_equal_number_is_swapped_unseen() -> None:
    """All sheets: whoever offers the same number may swap."""
    playing = pit()
    before = [playing.hand(seat) for seat in range(4)]
    playing.offer(0, 2 * ONE[0])
    (traded,) = playing.offer(1, 2 * ONE[1])
    assert traded == e.Traded(1, 0, 2, 2 * ONE[1], 2 * ONE[0], traded.at_ms)
    assert playing.hand(0) == before[0] - 2 * ONE[0] + 2 * ONE[1]
    assert playing.hand(1) == before[1] + 2 * ONE[0] - 2 * ONE[1]
    assert playing.hand(2) == before[2]


def test_another_number_is_not() -> None:
    playing = pit()
    playing.offer(0, 2 * ONE[0])
    assert kinds(playing.offer(1, 3 * ONE[1])) == ["OfferOpened"]


def test_never_with_oneself() -> None:
    playing = pit()
    playing.offer(0, 2 * ONE[0])
    assert kinds(playing.offer(0, 2 * ONE[1])) == ["OfferOpened"]


def test_two_wheat_against_two_wheat_is_a_legal_trade() -> None:
    playing = Playing("classic", 4).trading({0: "2 wheat", 1: "2 wheat"})
    playing.offer(0, 2 * ONE[0])
    (traded,) = playing.offer(1, 2 * ONE[0])
    assert traded.given == traded.received == 2 * ONE[0]


@pytest.mark.parametrize("undirected_first", [True, False])
def test_the_oldest_of_those_at_nobody_and_those_at_the_arriver(undirected_first: bool) -> None:
    """ "the oldest open offer of the same size among those directed at nobody and those directed
    at X" """
    playing = pit()
    if undirected_first:
        playing.offer(1, ONE[1])
        playing.offer(2, ONE[2], directed_at=0)
    else:
        playing.offer(2, ONE[2], directed_at=0)
        playing.offer(1, ONE[1])
    (traded,) = playing.offer(0, ONE[0])
    assert traded.partner == (1 if undirected_first else 2)
    (traded,) = playing.offer(0, ONE[0])
    assert traded.partner == (2 if undirected_first else 1)


def test_of_several_directed_at_the_arriver_the_oldest() -> None:
    playing = pit()
    for seat in (3, 1, 2):
        lot = ONE[next(lane for lane in range(4) if playing.hand(seat) >> 5 * lane & 15)]
        playing.offer(seat, lot, directed_at=0)
    partners = [playing.offer(0, ONE[0])[0].partner for _ in range(3)]
    assert partners == [3, 1, 2]


def test_replacing_an_offer_makes_it_the_youngest() -> None:
    playing = pit()
    playing.offer(1, ONE[1], directed_at=0)
    playing.offer(2, ONE[2], directed_at=0)
    playing.offer(1, ONE[1], directed_at=0)
    assert playing.offer(0, ONE[0])[0].partner == 2


def test_an_offer_at_somebody_else_is_passed_over() -> None:
    playing = pit()
    playing.offer(1, ONE[1], directed_at=3)
    assert kinds(playing.offer(0, ONE[0])) == ["OfferOpened"]


def test_own_offer_does_not_hide_one_directed_at_the_arriver() -> None:
    playing = pit()
    playing.offer(0, ONE[0])
    playing.offer(1, ONE[1], directed_at=0)  # meets seat 0's offer at once
    playing.offer(0, ONE[0])
    assert playing.offer(2, ONE[2], directed_at=0)[0].partner == 0


# ------------------------------------------------------------------ directed, immediate, limited


def test_answering_one_caller() -> None:
    """A directed offer pairs only with that seat's open offer of that size."""
    playing = pit()
    playing.offer(1, ONE[1])
    assert kinds(playing.offer(0, ONE[0], directed_at=2)) == ["OfferOpened"]
    assert playing.offer(0, ONE[0], directed_at=1)[0].partner == 1


def test_not_with_one_that_is_directed_at_a_third() -> None:
    playing = pit()
    playing.offer(1, ONE[1], directed_at=2)
    assert kinds(playing.offer(0, ONE[0], directed_at=1)) == ["OfferOpened"]


def test_everybody_sees_whom_it_is_directed_at() -> None:
    (opened,) = pit().offer(0, ONE[0], directed_at=2)
    seen = view(opened, 3)
    assert isinstance(seen, e.OfferOpened)
    assert seen.directed_at == 2


def test_no_directed_offers_in_a_tournament() -> None:
    """Arranged swaps are collusion (o); matrix B47."""
    playing = Playing("tournament", 4).trading({0: "1 wheat"})
    assert playing.offer(0, ONE[0], directed_at=1) == Rejection.DIRECTED_OFFERS_OFF


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (0, Rejection.DIRECTED_AT_SELF),
        (4, Rejection.DIRECTED_AT_NO_SEAT),
        (-2, Rejection.DIRECTED_AT_NO_SEAT),
    ],
)
def test_directed_at_whom_there_is_not(target: int, why: Rejection) -> None:
    """Matrix B47."""
    assert pit().offer(0, ONE[0], directed_at=target) == why


def test_directed_at_an_empty_seat() -> None:
    """Matrix B47: nobody sits there, and no bot plays for it."""
    playing = Playing("classic", 5).trading({0: "1 wheat"}, bots=False)
    playing.leave("p4")
    assert playing.offer(0, ONE[0], directed_at=4) == Rejection.DIRECTED_AT_EMPTY_SEAT


def test_an_immediate_offer_trades_or_is_refused() -> None:
    """ "without a partner it is refused, changes nothing, and an older open offer stays" """
    playing = pit()
    playing.offer(0, 3 * ONE[0])
    assert playing.offer(0, 2 * ONE[0], immediate=True) == Rejection.NO_PARTNER
    assert playing.table.seats[0].offer_size == 3
    assert playing.offer(1, 3 * ONE[1], immediate=True)[0].partner == 0


def test_an_offer_with_a_limit_ends_by_itself() -> None:
    """ "Or it carries a limit of 1-60 s." I12: not before its time."""
    playing = pit()
    (opened,) = playing.offer(0, ONE[0], limit_ms=2_000)
    assert opened.ends_at_ms == playing.now_ms + 2_000
    assert playing.wait(1_999) == []
    (ended,) = playing.wait(1)
    assert (ended.seat, ended.why) == (0, e.Why.EXPIRED)


@pytest.mark.parametrize("limit_ms", [1, 999, 60_001, -5])
def test_limits_are_of_1_to_60_seconds(limit_ms: int) -> None:
    playing = pit()
    assert playing.offer(0, ONE[0], limit_ms=limit_ms) == Rejection.LIMIT_RANGE
    assert playing.answer.parameters == (1_000, 60_000)


def test_a_replaced_limit_is_forgotten() -> None:
    playing = pit()
    playing.offer(0, ONE[0], limit_ms=2_000)
    playing.offer(0, 2 * ONE[0])
    assert playing.wait(5_000) == []


# ------------------------------------------------------------------ when there is no trading


def test_while_hands_are_sorted_nothing_is_offered() -> None:
    """Matrix B43: the parameter says how long."""
    playing = Playing("classic", 4).dealt()
    playing.now_ms += 1_000
    assert playing.offer(0, ONE[0]) == Rejection.NOT_OPEN
    assert playing.answer.parameters == (29_000,)
    assert playing.withdraw(0) == Rejection.NOT_OPEN


def test_before_the_game_nothing_is_offered() -> None:
    playing = Playing("classic", 4).seated()
    assert playing.offer(0, ONE[0]) == Rejection.NOT_STARTED


def test_after_the_round_nothing_is_offered() -> None:
    """Matrix B44. No round was lost by it: late by 0."""
    playing = pit()
    playing.corner(0)
    assert playing.offer(1, ONE[1]) == Rejection.ROUND_OVER
    assert playing.answer.parameters == (0,)


def test_a_stale_round_is_refused_even_if_the_new_hand_would_allow_it() -> None:
    """Matrix B46: the parameter is the round being played."""
    playing = pit()
    playing.corner(0)
    playing.next_round()
    playing.rig({0: "4 wheat"})
    assert playing.offer(0, ONE[0], round=1) == Rejection.STALE_ROUND
    assert playing.answer.parameters == (2,)


def test_the_end_of_a_round_ends_every_offer() -> None:
    playing = pit()
    playing.offer(1, ONE[1])
    playing.offer(2, 2 * ONE[2], directed_at=1)
    playing.corner(0)
    assert playing.table.phase == Phase.BETWEEN
    assert not any(seat.offer_size for seat in playing.table.seats)
    playing.next_round()
    playing.rig({0: "1 wheat"})
    assert kinds(playing.offer(0, ONE[0])) == ["OfferOpened"]


def test_calls_are_heard_by_all_and_change_nothing() -> None:
    playing = pit()
    held = [playing.hand(seat) for seat in range(4)]
    assert playing.call(0, 2) == [e.Called(0, 2)]
    assert playing.call(0, 9) == playing.call(0, 0) == Rejection.NO_SUCH_PHRASE
    assert [playing.hand(seat) for seat in range(4)] == held
