"""What has just happened, in words: own trades, operators' acts, resets, refusals."""

import pytest
from pit.v1 import play_pb2, table_pb2

from engine.cards import ONE
from services.client.happenings import Effective, Rejected, Started, Undone, Unknown, WasReset
from services.play.guidance import Now
from services.play.model import Model
from support.own_table import SECOND_US, happen
from support.play_screens import opened, text_of, trading


def told(model: Model) -> list[str]:
    return [line.text for line in model.told]


def test_an_own_trade_says_what_went_and_what_came() -> None:
    model, _ = trading()
    assert "Bo traded 2: you gave 2 rye, got 2 corn" in told(model)
    assert "Bot 2 and Bo traded 2" in told(model)


def test_others_trades_do_not_push_out_what_happened_to_oneself() -> None:
    model, view = trading()
    for _ in range(30):
        happen(model, view, traded=table_pb2.Traded(seat=2, partner=1, size=1))
    assert "Bo traded 2: you gave" in text_of(model, view)


def test_a_reset_lists_what_is_undone() -> None:
    model, view = opened()
    lost = Undone(play_pb2.Command(ring_bell=play_pb2.RingBell()), 9)
    model.take(WasReset(play_pb2.RESET_REASON_HISTORY, (lost,)), view, 0)
    assert told(model)[0].startswith("The exchange's store lost its last moments.")
    assert "UNDONE: your ring bell" in told(model)[1]


def test_a_resume_is_told() -> None:
    model, view = opened()
    model.take(Started(resumed=True), view, 0)
    assert told(model)[0].startswith("Connected again")


@pytest.mark.parametrize(
    ("outcome", "notice"),
    [
        (Effective(3, True), ""),
        (Unknown("HISTORY"), "Nobody can say whether that took effect"),
        (Rejected(9, "NO_PARTNER", {}, ""), "Too late: that offer is gone"),
        (Rejected(9, "NOT_OPEN", {"wait_ms": "1500"}, ""), "it opens in 1.5 s"),
        (Rejected(9, "SOMETHING_NEW", {}, "english"), "The exchange refused: english"),
    ],
)
def test_outcomes_are_explained(outcome: Effective | Rejected | Unknown, notice: str) -> None:
    model, _ = opened()
    model.settled(outcome)
    assert notice in model.notice
    assert bool(notice) == bool(model.notice)


# ---------------------------------------------------------------------- the exchange's own words


def test_who_acted_and_why_is_told_with_every_act_of_an_operator() -> None:
    model, view = trading()
    happen(
        model,
        view,
        frozen=table_pb2.Frozen(reason="a dispute", operator="Ann", at_us=10 * SECOND_US),
    )
    happen(model, view, resumed=table_pb2.Resumed(operator="Ann", frozen_us=65 * SECOND_US))
    left = table_pb2.SeatLeft(seat=3, removed=True, reason="abuse", operator="Ann")
    happen(model, view, seat_left=left)
    happen(model, view, table_closed=table_pb2.TableClosed(reason="the end", operator="Ann"))
    assert told(model)[-4:] == [
        "The game is FROZEN by Ann (operator): a dispute",
        "The game GOES ON: it stood still for 1:05, everybody has as much time as before",
        "The player of seat 3 was REMOVED by Ann (operator): abuse",
        "The table is closed by Ann (operator): the end",
    ]


def test_time_that_stood_still_does_not_count_as_idle() -> None:
    model, view = trading()
    happen(model, view, frozen=table_pb2.Frozen(at_us=10 * SECOND_US))
    happen(model, view, resumed=table_pb2.Resumed(frozen_us=60 * SECOND_US))
    assert "Move within" not in text_of(model, view, Now(70 * SECOND_US))
    assert "Move within 3.0 s" in text_of(model, view, Now(75 * SECOND_US))


def test_a_correction_in_the_middle_of_a_game_is_told_and_scored() -> None:
    model, view = trading()
    totals = [75, -20, 0, 110]
    adjusted = table_pb2.ScoreAdjusted(
        seat=0, delta=-10, totals=totals, reason="a second bell", operator="Ann"
    )
    happen(model, view, score_adjusted=adjusted)
    assert told(model)[-1] == "Your score is CORRECTED by -10, by Ann (operator): a second bell"
    assert [seat.score for seat in view.seats] == totals
    assert not model.result.title


def test_a_swap_of_the_same_is_called_one() -> None:
    model, view = trading()
    swap = table_pb2.Traded(seat=1, partner=0, size=2)
    happen(model, view, 2 * ONE[2], 2 * ONE[2], traded=swap)
    assert told(model)[-1] == "Bo traded 2 with you: 2 corn for just the same"


def test_who_sat_down_or_stands_in_is_told_apart() -> None:
    model, view = opened()
    happen(model, view, bot_seated=table_pb2.BotSeated(seat=2))
    happen(model, view, bot_seated=table_pb2.BotSeated(seat=1))
    assert told(model) == ["Bot 2 sits down", "A stand-in plays for Bo now"]
