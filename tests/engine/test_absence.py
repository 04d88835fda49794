"""Players who go, stay away, sit idle, come back or leave (rules.md "Our rulings")."""

from typing import Any

import pytest

from engine import commands as c
from engine import events as e
from engine.cards import ONE
from engine.commands import AbsentPolicy, Purpose
from engine.events import Absence, End, Why
from engine.rejections import Rejection
from engine.shown import Phase
from support.playing import Playing, kinds

PRIVATE: dict[str, Any] = {"visibility": 3, "invite_hash": b"i" * 32}


def pit(preset: str = "classic", **opening: Any) -> Playing:
    return Playing(preset, 4).trading({0: "4 wheat", 1: "4 barley"}, **opening)


# ------------------------------------------------------------------ a lost stream


def test_when_the_stream_is_lost_the_open_offer_is_withdrawn_at_once() -> None:
    playing = pit()
    playing.offer(0, ONE[0])
    ended, away = playing.detach(0)
    assert (ended.seat, ended.why) == (0, Why.STREAM_LOST)
    assert away == e.SeatAway(0, Absence.STREAM_LOST, playing.now_ms + 30_000, playing.now_ms)


@pytest.mark.parametrize(("preset", "grace_s"), [("classic", 30), ("tournament", 15), ("blitz", 8)])
def test_after_the_grace_a_bot_is_wanted(preset: str, grace_s: int) -> None:
    """Default on public tables. I12: not before."""
    playing = pit(preset)
    playing.detach(0)
    assert not any(isinstance(ev, e.BotWanted) for ev in playing.wait(grace_s * 1_000 - 1))
    assert e.BotWanted(0) in playing.wait(1)


def test_a_table_that_waits_does_nothing() -> None:
    """Private tables only."""
    playing = pit(absent_policy=AbsentPolicy.WAIT, **PRIVATE)
    (away,) = playing.detach(0)
    assert away.until_ms == 0
    for seat in range(1, 4):
        playing.offer(seat, playing.hand(seat) & -playing.hand(seat))
    assert playing.wait(10_000) == []


def test_waiting_is_for_private_tables() -> None:
    playing = Playing("classic", 4)
    assert playing.open_table(absent_policy=AbsentPolicy.WAIT) == Rejection.SETTINGS_INVALID


def test_forfeiting_is_final_for_the_game() -> None:
    playing = pit(absent_policy=AbsentPolicy.FORFEIT)
    playing.detach(0)
    done = playing.wait(30_000)
    assert [ev for ev in done if getattr(ev, "seat", None) == 0] == [
        e.SeatForfeited(0, playing.now_ms),
        e.BotWanted(0),
    ]
    _, refused = playing.attach(0)
    assert refused.rejection == Rejection.SEAT_FORFEITED
    assert playing.join("p0") == Rejection.SEAT_FORFEITED
    assert playing.leave("p0") == Rejection.SEAT_FORFEITED
    assert playing.offer(0, ONE[0]) == Rejection.SEAT_FORFEITED


def test_without_bots_a_forfeit_may_leave_too_few() -> None:
    playing = Playing("classic", 3).trading(absent_policy=AbsentPolicy.FORFEIT, bots=False)
    playing.detach(0)
    playing.wait(15_000)
    for seat in (1, 2):
        playing.offer(seat, playing.hand(seat) & -playing.hand(seat))
    done = playing.wait(15_000)
    assert kinds(done) == ["SeatForfeited", "RoundVoid", "GameEnded"]
    assert playing.items[-1].end == End.TOO_FEW_PLAYERS  # type: ignore[union-attr]


def test_coming_back_takes_the_seat_back_at_once() -> None:
    """Within the grace, and from a bot."""
    playing = pit()
    playing.detach(0)
    assert kinds(playing.attach(0)[0]) == ["SeatBack"]
    playing.detach(0)
    playing.wait(30_000)
    playing.attach(0, bot=True)
    assert playing.table.seats[0].bot
    assert kinds(playing.attach(0)[0]) == ["SeatBack"]
    assert not playing.table.seats[0].bot
    assert kinds(playing.offer(0, ONE[0])) == ["OfferOpened"]


def test_a_silent_gateway_loses_all_its_streams() -> None:
    """design.md "Presence": which only starts the usual grace."""
    playing = pit()
    playing.attach(3, gateway="g2")
    events, note = playing.give(c.GatewayLost("g1"))
    assert note == e.StreamsLost("g1")
    assert [(ev.seat, ev.absence) for ev in events] == [(s, Absence.STREAM_LOST) for s in range(3)]  # type: ignore[union-attr]
    assert playing.give(c.GatewayLost("g1")) == ((), None)


def test_a_gateway_that_was_only_slow_goes_on() -> None:
    """Its next command brings the player back; number and stream are what they were."""
    playing = pit()
    playing.give(c.GatewayLost("g1"))
    assert kinds(playing.offer(0, ONE[0])) == ["SeatBack", "OfferOpened"]
    assert playing.table.seats[0].connected


def test_but_not_once_a_stand_in_has_the_seat() -> None:
    playing = pit()
    old = playing.command(c.Withdraw, 0)
    playing.detach(0)
    playing.wait(30_000)
    playing.attach(0, bot=True)
    assert playing.give(old)[1].rejection == Rejection.SUPERSEDED


def test_a_refused_command_brings_nobody_back() -> None:
    """A refusal changes nothing of the game."""
    playing = pit()
    playing.give(c.GatewayLost("g1"))
    assert playing.offer(0, ONE[6]) == Rejection.CARDS_NOT_IN_HAND
    assert playing.table.seats[0].absence


def test_before_the_start_streams_come_and_go_without_a_word() -> None:
    playing = Playing("blitz", 3).seated()
    assert playing.detach(0) == ()
    assert playing.attach(0)[0] == ()


def test_who_sits_without_a_stream_at_the_first_deal_is_away() -> None:
    playing = Playing("blitz", 3).seated()
    playing.ready(0, Purpose.START)
    playing.detach(0)
    playing.ready(1, Purpose.START)
    events = playing.ready(2, Purpose.START)
    assert kinds(events) == ["ReadyGiven", "Dealt", "SeatAway"]
    assert events[-1].seat == 0


# ------------------------------------------------------------------ idle seats


@pytest.mark.parametrize(("preset", "idle_s"), [("classic", 20), ("tournament", 12), ("blitz", 8)])
def test_no_act_for_idle_s_counts_as_away_though_connected(preset: str, idle_s: int) -> None:
    playing = pit(preset)
    assert playing.wait(idle_s * 1_000 - 1) == []
    done = playing.wait(1)
    assert [(ev.seat, ev.absence) for ev in done] == [(seat, Absence.IDLE) for seat in range(4)]  # type: ignore[union-attr]


def test_its_open_offer_ends_and_any_act_brings_it_back() -> None:
    playing = pit()
    playing.wait(1_000)
    playing.offer(0, ONE[0])
    for _ in range(2):
        playing.wait(10_000)
        for seat in (1, 2, 3):
            playing.withdraw(seat)
            playing.offer(seat, 2 * (playing.hand(seat) & -playing.hand(seat)), limit_ms=1_000)
    whys = [item.why for item in playing.items if isinstance(item, e.OfferEnded)]
    assert Why.IDLE in whys
    assert kinds(playing.offer(0, ONE[0])) == ["SeatBack", "OfferOpened"]


@pytest.mark.parametrize("act", ["offer", "withdraw"])
def test_offers_and_withdrawals_are_acts(act: str) -> None:
    playing = pit()
    playing.wait(15_000)
    playing.offer(0, ONE[0])
    if act == "withdraw":
        playing.wait(4_000)
        playing.withdraw(0)
    idle = [ev.seat for ev in playing.wait(19_999) if isinstance(ev, e.SeatAway)]
    assert 0 not in idle


def test_calls_and_bells_are_not() -> None:
    """One silent hand can block every corner, however much it talks."""
    playing = pit()
    playing.wait(19_000)
    playing.call(0, 1)
    playing.ring(0, 0)
    assert 0 in [ev.seat for ev in playing.wait(1_000) if isinstance(ev, e.SeatAway)]


def test_while_hands_are_sorted_nobody_is_idle() -> None:
    playing = Playing("deluxe", 4).dealt()
    assert playing.wait(59_999) == []


def test_an_idle_player_is_replaced_after_the_grace_and_may_come_back() -> None:
    playing = pit("blitz")
    done = playing.wait(16_000)
    assert kinds(done) == ["SeatAway"] * 4 + ["BotWanted"] * 4
    playing.attach(0, bot=True)
    assert kinds(playing.attach(0)[0]) == ["SeatBack"]


def test_bots_are_not_judged_by_it() -> None:
    playing = pit("blitz")
    playing.wait(16_000)
    for seat in range(4):
        playing.attach(seat, bot=True)
    assert kinds(playing.wait(20_000)) == []


# ------------------------------------------------------------------ leaving for good


def test_a_freed_seat_is_played_by_a_bot_until_somebody_joins() -> None:
    """ "and inherits its score": suits and cards stay."""
    playing = pit()
    playing.corner(0)
    playing.next_round()
    hand, score = playing.hand(0), playing.scores()[0]
    assert kinds(playing.leave("p0")) == ["SeatLeft", "OwnerChanged", "BotWanted"]
    playing.attach(0, bot=True)
    taken, away = playing.join("new")
    assert (taken.seat, away.until_ms) == (0, 0)
    assert playing.table.seats[0].bot, "the bot plays on until the stream is there"
    assert kinds(playing.attach(0)[0]) == ["SeatBack"]
    assert (playing.hand(0), playing.scores()[0]) == (hand, score)


def test_without_bots_the_game_ends_when_too_few_remain() -> None:
    playing = Playing("classic", 4).trading(bots=False)
    assert kinds(playing.leave("p3")) == ["SeatLeft"]
    assert playing.table.phase == Phase.OPEN
    events = playing.leave("p2")
    assert kinds(events) == ["SeatLeft", "RoundVoid", "GameEnded"]
    assert events[-1].end == End.TOO_FEW_PLAYERS


def test_leaving_takes_the_open_offer_along() -> None:
    playing = pit()
    playing.offer(0, ONE[0])
    assert kinds(playing.leave("p0"))[:2] == ["OfferEnded", "SeatLeft"]
    assert kinds(playing.offer(1, ONE[1])) == ["OfferOpened"]


def test_who_left_is_not_seated_any_more() -> None:
    playing = pit()
    old = playing.command(c.Withdraw, 0)
    playing.leave("p0")
    assert playing.give(old)[1].rejection == Rejection.NOT_SEATED
    playing.join("new", 0)
    assert playing.give(old)[1].rejection == Rejection.SUPERSEDED, "nor may act for the next"
    assert playing.leave("p0") == Rejection.NOT_SEATED


def test_the_next_player_cannot_resume_the_last_ones_numbers() -> None:
    playing = pit()
    generation = playing.table.seats[0].current.generation
    playing.leave("p0")
    playing.join("new", 0)
    _, attached = playing.attach(0, resume=generation)
    assert not attached.resumed
    assert attached.answers == ()


# ------------------------------------------------------------------ table life


def test_an_unstarted_table_closes_after_15_minutes() -> None:
    playing = Playing("classic", 4)
    playing.open_table()
    assert playing.wait(899_999) == []
    ended, closed = playing.wait(1)
    assert ended.end == End.NEVER_STARTED  # type: ignore[union-attr]
    assert isinstance(closed, e.TableClosed)


def test_a_game_with_no_human_for_5_minutes_ends() -> None:
    """abandoned; the bots' play until then counts."""
    playing = Playing("deluxe", 4).dealt()
    for seat in range(4):
        playing.detach(seat)
    done = playing.wait(299_999)
    assert not any(isinstance(event, e.GameEnded) for event in done)
    ended = playing.wait(1)[-1]
    assert isinstance(ended, e.GameEnded)
    assert ended.end == End.NO_PEOPLE


def test_one_who_comes_back_in_time_keeps_it() -> None:
    playing = Playing("deluxe", 4).dealt()
    for seat in range(4):
        playing.detach(seat)
    playing.wait(290_000)
    playing.attach(0)
    assert not any(isinstance(event, e.GameEnded) for event in playing.wait(20_000))


def test_a_table_opened_for_bots_needs_nobody() -> None:
    playing = Playing("deluxe", 4)
    playing.open_table(for_bots=True)
    assert kinds(playing.start()) == ["BotWanted"] * 4 + ["Dealt"]
    for seat in range(4):
        assert kinds(playing.attach(seat, bot=True)[0]) == ["BotSeated"]
    done = playing.wait(330_000)
    assert kinds(done) == ["ExchangeOpened"], "no end for lack of people"


def test_ownership_passes_to_the_person_seated_longest() -> None:
    playing = Playing("classic", 4)
    playing.open_table("p2")
    for person, seat in (("p2", 0), ("p1", 3), ("p3", 1)):
        playing.join(person, seat)
    assert playing.leave("p2")[1] == e.OwnerChanged("p1")
    assert kinds(playing.leave("p3")) == ["SeatLeft"]
    assert playing.leave("p1")[1] == e.OwnerChanged("")
    assert e.OwnerChanged("p9") in playing.join("p9")


def test_who_left_in_a_round_takes_that_seat_again_or_waits_for_the_next_deal() -> None:
    """Ours: nobody sees the cards of two seats in one round (RULES.md "Leaving")."""
    playing = Playing("blitz", 4).trading()
    playing.leave("p0")
    playing.leave("p1")
    assert playing.join("p0", 2) == Rejection.SEAT_TAKEN
    assert playing.join("p0", 1) == Rejection.HAND_SEEN
    assert playing.join("p1", 0) == Rejection.HAND_SEEN
    assert kinds(playing.join("p2x", 1))[0] == "SeatTaken", "a stranger to this round may"
    assert playing.join("p1") == Rejection.HAND_SEEN
    taken = playing.join("p0")
    assert (taken[0].seat, taken[0].person) == (0, "p0")
    playing.leave("p0")
    playing.wait(playing.rules.round_cap_s * 1_000 + 20_000)
    assert playing.table.round == 2
    playing.leave("p2x")
    assert playing.join("p0", 1)[0].seat == 1
