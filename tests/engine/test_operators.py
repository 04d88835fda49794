"""What operators and owners may do: frozen time, void rounds, corrected scores, removals, starts at
an hour, and who may watch (RULES.md "What an operator may do")."""

from dataclasses import replace
from typing import Any

import pytest

from engine import commands as c
from engine import events as e
from engine import limits
from engine.cards import ONE
from engine.commands import NOBODY, AbsentPolicy, Purpose, Visibility
from engine.decide import refuse
from engine.events import End
from engine.rejections import Rejection
from engine.rules import PRESETS
from engine.shown import Phase
from engine.state import digest, dump, load
from engine.table import Table
from engine.view import show, view
from support.playing import Playing, kinds

HOUR_MS = 3_600_000
INVITE, OTHER_INVITE = b"i" * 32, b"o" * 32


# ------------------------------------------------------------------ frozen time


def sorting() -> Playing:
    return Playing("blitz", 4).dealt()


def open_exchange() -> Playing:
    return Playing("blitz", 4).trading()


def with_a_limit() -> Playing:
    playing = open_exchange()
    playing.offer(0, playing.hand(0) & -playing.hand(0), limit_ms=3_000)
    return playing


def with_somebody_away() -> Playing:
    playing = open_exchange()
    playing.detach(1)
    return playing


def between() -> Playing:
    playing = open_exchange()
    playing.corner(0)
    return playing


def unstarted() -> Playing:
    return Playing("blitz", 4).seated()


def ended() -> Playing:
    playing = open_exchange()
    playing.rules = replace(playing.rules, target=10)
    playing.table.rules = playing.rules
    playing.corner(0)
    assert playing.table.phase == Phase.ENDED
    return playing


def deserted() -> Playing:
    playing = open_exchange()
    for seat in range(4):
        playing.detach(seat)
    return playing


STAGES = [
    sorting, open_exchange, with_a_limit, with_somebody_away, between, unstarted, ended, deserted,
]  # fmt: skip


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)
@pytest.mark.parametrize("before_ms", [0, 1, 700])
def test_every_deadline_keeps_what_remained_of_it(stage: Any, before_ms: int) -> None:
    """The same table with and without an hour of ice: all that time does comes an hour later,
    to the millisecond, in the same order."""
    frozen, other = stage(), stage()
    frozen.wait(before_ms)
    other.wait(before_ms)
    frozen.freeze()
    assert frozen.table.wake_at_ms == 0, "no timer runs"
    assert frozen.wait(HOUR_MS) == []
    frozen.unfreeze()
    for _ in range(12):
        wake_ms = other.table.wake_at_ms
        assert frozen.table.wake_at_ms - HOUR_MS == wake_ms or wake_ms <= 1
        if not wake_ms:
            break
        step_ms = max(wake_ms - other.now_ms, 0)
        assert kinds(frozen.wait(step_ms)) == kinds(other.wait(step_ms))


def test_while_frozen_every_act_of_a_player_is_refused() -> None:
    """ "Wrong now": remembered, its number consumed; and a repeat gets the same answer."""
    playing = open_exchange()
    playing.freeze()
    lot = playing.hand(0) & -playing.hand(0)
    assert playing.offer(0, lot) == Rejection.TABLE_FROZEN
    assert playing.answer.kept
    assert playing.withdraw(0) == Rejection.TABLE_FROZEN
    assert playing.ring(0, 0) == Rejection.TABLE_FROZEN
    assert playing.call(0, 1) == Rejection.TABLE_FROZEN
    assert playing.ready(0, Purpose.OPEN) == Rejection.TABLE_FROZEN
    assert playing.start() == Rejection.TABLE_FROZEN
    assert playing.offer(0, 5 * ONE[0]) == Rejection.LOT_SIZE, "wrong in any state comes first"
    playing.unfreeze()
    assert kinds(playing.offer(0, lot)) == ["OfferOpened"]


def test_coming_back_to_a_frozen_table_and_going() -> None:
    """A lost stream begins the grace, but it does not run; who comes back is back."""
    playing = open_exchange()
    playing.freeze()
    frozen_ms = playing.now_ms
    playing.wait(HOUR_MS)
    (away,) = playing.detach(2)
    grace_ms = playing.rules.away_grace_s * 1_000
    assert away.until_ms == frozen_ms + grace_ms
    playing.wait(HOUR_MS)
    playing.unfreeze()
    assert playing.table.seats[2].away_until_ms == playing.now_ms + grace_ms
    assert kinds(playing.attach(2)[0]) == ["SeatBack"]


def test_ice_is_not_idleness() -> None:
    """The penalty of a void round counts idle time without the hour in which nobody could act."""
    rules = replace(PRESETS["blitz"], round_cap_s=60, idle_s=3_600)
    playing = Playing(rules, 4).trading()
    playing.wait(40_000)
    playing.detach(3)
    playing.freeze()
    playing.wait(HOUR_MS)
    playing.unfreeze()
    events = []
    while not any(isinstance(event, e.RoundVoid) for event in events):
        events += playing.wait(1_000)
    (void,) = [event for event in events if isinstance(event, e.RoundVoid)]
    assert void.deltas == (0, 0, 0, 0)


def test_freezing_twice_and_thawing_nothing() -> None:
    playing = open_exchange()
    assert playing.unfreeze() == Rejection.NOT_FROZEN
    (frozen,) = playing.freeze()
    assert frozen == e.Frozen("a dispute", "ann", playing.now_ms)
    assert playing.freeze() == Rejection.TABLE_FROZEN
    playing.wait(1_234)
    (thawed,) = playing.unfreeze()
    assert thawed == e.Thawed("ann", 1_234, playing.now_ms)


@pytest.mark.parametrize("viewer", [NOBODY, 0])
def test_a_frozen_table_says_since_when_and_why(viewer: int) -> None:
    playing = open_exchange()
    assert show(playing.table, viewer).frozen_at_ms == 0
    playing.freeze()
    shown = show(playing.table, viewer)
    assert (shown.frozen_at_ms, shown.frozen_reason) == (playing.now_ms, "a dispute")


def test_a_frozen_table_survives_storage() -> None:
    playing = with_a_limit()
    playing.freeze()
    loaded = load(dump(playing.table))
    assert loaded.trading_round is None
    assert loaded.wake_at_ms == 0
    playing.unfreeze()
    assert load(dump(playing.table)).wake_at_ms == playing.table.wake_at_ms
    assert load(dump(playing.table)).trading_round == playing.table.trading_round == 1
    assert digest(loaded) != digest(playing.table)


# ------------------------------------------------------------------ void rounds


def test_a_round_voided_by_an_operator_says_who_and_why() -> None:
    playing = open_exchange()
    void, committed = playing.operate(c.VoidRound, round=1)
    assert (void.reason, void.operator, void.deltas) == ("a dispute", "ann", (0, 0, 0, 0))
    assert committed.round == 2
    assert committed.next_deal_at_ms == playing.now_ms + limits.NEXT_DEAL_MS
    dealer = playing.table.dealer
    playing.wait(limits.NEXT_DEAL_MS)
    assert playing.table.dealer == dealer, "the same dealer deals again"


def test_only_the_round_being_played_can_be_voided() -> None:
    playing = unstarted()
    assert playing.operate(c.VoidRound, round=0) == Rejection.NOT_STARTED
    playing = open_exchange()
    assert playing.operate(c.VoidRound, round=2) == Rejection.STALE_ROUND
    playing.corner(0)
    assert playing.operate(c.VoidRound, round=1) == Rejection.ROUND_OVER


def test_operators_voids_are_none_of_three_running() -> None:
    playing = open_exchange()
    for number in range(1, 6):
        playing.operate(c.VoidRound, round=number)
        assert playing.table.voids == 0
        playing.wait(limits.NEXT_DEAL_MS)
    assert playing.table.phase == Phase.SORTING


def test_a_voided_round_of_sudden_death_is_played_again() -> None:
    rules = replace(PRESETS["tournament"], rounds_max=1, sorting_pause_s=0)
    playing = Playing(rules, 4).trading()
    playing.wait(rules.round_cap_s * 1_000)
    while not playing.table.tied:
        playing.wait(1_000)
    playing.wait(limits.NEXT_DEAL_MS)
    for _ in range(3):
        tied = playing.table.tied
        playing.operate(c.VoidRound, round=playing.table.round)
        assert playing.table.tied == tied
        playing.wait(limits.NEXT_DEAL_MS)
    assert playing.table.sudden == 1
    assert playing.table.phase != Phase.ENDED


# ------------------------------------------------------------------ corrected scores


def test_a_correction_is_an_event_with_reason_and_name() -> None:
    playing = open_exchange()
    (adjusted,) = playing.adjust(2, -35)
    assert adjusted == e.ScoreAdjusted(
        2, -35, (0, 0, -35, 0), (), "a dispute", "ann", playing.now_ms
    )
    assert playing.scores() == [0, 0, -35, 0]
    assert playing.table.seats[2].penalties == 0, "a correction is no penalty"


@pytest.mark.parametrize("stage", [unstarted, sorting, open_exchange, between, ended])
def test_a_score_can_be_corrected_until_the_table_closes(stage: Any) -> None:
    playing = stage()
    phase = playing.table.phase
    assert kinds(playing.adjust(1, 5)) == ["ScoreAdjusted"]
    assert playing.table.phase == phase
    playing.operate(c.CloseTable)
    assert playing.adjust(1, 5) == Rejection.TABLE_CLOSED


def test_where_scores_stop_at_zero_a_correction_does_too() -> None:
    playing = Playing(replace(PRESETS["blitz"], below_zero=False), 4).trading()
    playing.adjust(1, 30)
    (adjusted,) = playing.adjust(1, -50)
    assert (adjusted.delta, adjusted.totals) == (-30, (0, 0, 0, 0))


@pytest.mark.parametrize("delta", [0, limits.ADJUSTMENT_MAX + 1, -limits.ADJUSTMENT_MAX - 1])
def test_bounds_of_a_correction(delta: int) -> None:
    playing = open_exchange()
    assert playing.adjust(0, delta) == Rejection.DELTA_RANGE
    assert playing.adjust(4, 1) == playing.adjust(-1, 1) == Rejection.SEAT_RANGE


def test_only_a_corner_wins_not_a_correction() -> None:
    playing = open_exchange()
    assert kinds(playing.adjust(0, playing.rules.target)) == ["ScoreAdjusted"]
    assert playing.table.phase == Phase.OPEN
    ended = playing.corner(0)[-1]
    assert (ended.end, ended.places[0]) == (End.WON, 1)


def test_places_of_a_finished_game_follow_the_scores_and_it_stays_finished() -> None:
    playing = ended()
    (adjusted,) = playing.adjust(1, 5_000)
    assert adjusted.places[1] == 1
    assert adjusted.places[0] == 2
    assert playing.table.phase == Phase.ENDED


def test_a_finished_tournament_is_ranked_by_the_whole_key_again() -> None:
    rules = replace(PRESETS["tournament"], scored_rounds_max=2, sorting_pause_s=0)
    playing = Playing(rules, 4).trading()
    playing.corner(0)
    playing.next_round()
    playing.corner(0)
    assert playing.table.phase == Phase.ENDED
    behind = playing.scores()[1] - playing.scores()[0]
    (adjusted,) = playing.adjust(1, -behind)
    assert adjusted.totals[0] == adjusted.totals[1]
    assert (adjusted.places[0], adjusted.places[1]) == (1, 2), "corners won break the tie"


# ------------------------------------------------------------------ announcing, closing


def test_an_announcement_is_for_all_and_changes_nothing() -> None:
    playing = open_exchange()
    before = dump(playing.table)
    said = {"key": "pause", "parameters": ("minutes", "5"), "text": "a pause"}
    (announced,) = playing.operate(c.Announce, **said)
    assert announced == e.Announced("pause", ("minutes", "5"), "a pause", "ann", playing.now_ms)
    after = dump(playing.table)
    assert before[6] == after[6], "no seat changes"
    assert all(view(announced, viewer) == announced for viewer in (NOBODY, 0))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"text": ""}, Rejection.REASON_LENGTH),
        ({"text": "é" * 121}, Rejection.REASON_LENGTH),
        ({"parameters": ("odd",)}, Rejection.ANNOUNCEMENT_INVALID),
        ({"parameters": ("a", "b") * 9}, Rejection.ANNOUNCEMENT_INVALID),
        ({"parameters": ("a", "b" * 65)}, Rejection.ANNOUNCEMENT_INVALID),
        ({"key": "k" * 65}, Rejection.ANNOUNCEMENT_INVALID),
    ],
)
def test_bounds_of_an_announcement(changed: dict[str, Any], why: Rejection) -> None:
    said = {"key": "pause", "parameters": (), "text": "a pause"}
    assert open_exchange().operate(c.Announce, **{**said, **changed}) == why


@pytest.mark.parametrize("kind", [c.Freeze, c.VoidRound, c.AdjustScore, c.CloseTable, c.RemoveSeat])
@pytest.mark.parametrize("reason", ["", "é" * 121])
def test_an_operators_reason_is_there_and_not_long(kind: Any, reason: str) -> None:
    more: dict[Any, dict[str, int]] = {
        c.VoidRound: {"round": 1}, c.AdjustScore: {"seat": 0, "delta": 1}, c.RemoveSeat: {"seat": 0}
    }  # fmt: skip
    playing = open_exchange()
    assert playing.operate(kind, reason=reason, **more.get(kind, {})) == Rejection.REASON_LENGTH
    assert playing.answer.parameters == (1, limits.REASON_BYTES_MAX)


def test_a_closed_table_publishes_the_seed_of_its_round() -> None:
    playing = open_exchange()
    void, over, closed = playing.operate(c.CloseTable)
    assert (void.operator, void.seed) == ("ann", playing.table.seed)
    assert over.end == End.CLOSED
    assert closed == e.TableClosed(playing.now_ms, "a dispute", "ann")
    assert playing.freeze() == playing.unfreeze() == Rejection.TABLE_CLOSED
    assert playing.operate(c.CloseTable) == Rejection.TABLE_CLOSED


def test_a_frozen_table_can_be_closed() -> None:
    playing = ended()
    playing.freeze()
    assert kinds(playing.operate(c.CloseTable)) == ["TableClosed"]
    assert show(playing.table, NOBODY).frozen_at_ms == 0


def test_the_same_request_again_gets_the_same_answer() -> None:
    playing = open_exchange()
    playing.freeze()
    command = c.Unfreeze(b"u" * 16, 7, "", "ann")
    _, first = playing.give(command)
    events, again = playing.give(command)
    assert events == ()
    assert again == replace(first, kept=False)
    _, other = playing.give(replace(command, content=8))
    assert other.rejection == Rejection.REQUEST_REUSED


# ------------------------------------------------------------------ removing, inviting


def test_the_owner_or_an_operator_removes_who_then_stays_away() -> None:
    playing = Playing("blitz", 4).trading()
    by_stranger = playing.request(c.RemoveSeat, "p1", seat=2, reason="", operator="")
    assert by_stranger == Rejection.NOT_OWNER
    left, wanted = playing.request(c.RemoveSeat, "p0", seat=2, reason="", operator="")
    assert (left.removed, left.operator) == (True, "")
    assert wanted == e.BotWanted(2)
    assert playing.join("p2") == Rejection.REMOVED
    assert kinds(playing.join("p7")) == ["SeatTaken", "SeatAway"]
    left, *_ = playing.operate(c.RemoveSeat, seat=0)
    assert (left.operator, left.reason) == ("ann", "a dispute")
    assert playing.table.owner == "p1", "seated longest of those who stay"


def test_nobody_is_removed_in_the_place_of_who_has_left() -> None:
    """ "Where a person is named and another sits there by now, nobody is removed." """
    playing = Playing("blitz", 4).trading()
    playing.leave("p2")
    playing.join("p7")
    assert playing.operate(c.RemoveSeat, seat=2, meant="p2") == Rejection.NOT_SEATED
    assert playing.table.seats[2].person == "p7"
    left, *_ = playing.operate(c.RemoveSeat, seat=2, meant="p7")
    assert left.removed


def test_whom_nobody_can_remove() -> None:
    playing = Playing("blitz", 4)
    playing.open_table(absent_policy=AbsentPolicy.FORFEIT)
    assert playing.operate(c.RemoveSeat, seat=0) == Rejection.NOT_SEATED
    assert playing.operate(c.RemoveSeat, seat=4) == Rejection.SEAT_RANGE


def test_a_new_invite_code_makes_the_old_one_worthless() -> None:
    playing = Playing("blitz", 4)
    playing.open_table(visibility=Visibility.PRIVATE, invite_hash=INVITE)
    playing.join("p0", invite_hash=INVITE)
    playing.join("guest", invite_hash=INVITE)
    by_guest = playing.request(c.RotateInvite, "guest", invite_hash=OTHER_INVITE)
    assert by_guest == Rejection.NOT_OWNER
    (rotated,) = playing.request(c.RotateInvite, "p0", invite_hash=OTHER_INVITE)
    assert view(rotated, 0) == e.InviteRotated(b"", playing.now_ms)
    assert playing.join("p1", invite_hash=INVITE) == Rejection.TABLE_NOT_FOUND
    assert kinds(playing.join("p1", invite_hash=OTHER_INVITE)) == ["SeatTaken"]
    assert playing.join("p0") == [], "who sits keeps the seat"


@pytest.mark.parametrize("private", [True, False])
def test_codes_are_hashes_and_only_private_tables_have_them(private: bool) -> None:
    playing = Playing("blitz", 4)
    visibility = Visibility.PRIVATE if private else Visibility.PUBLIC
    playing.open_table(visibility=visibility, invite_hash=INVITE if private else b"")
    code = b"short" if private else INVITE
    rotated = playing.request(c.RotateInvite, "p0", invite_hash=code)
    assert rotated == Rejection.SETTINGS_INVALID


# ------------------------------------------------------------------ starting at an hour


def at_an_hour(people: int = 4, **opening: Any) -> Playing:
    playing = Playing("blitz", 4)
    playing.open_table(start_at_s=1_700_000_000, **opening)
    for seat in range(people):
        playing.join(f"p{seat}")
        playing.attach(seat)
    return playing


def test_a_table_that_starts_at_an_hour_waits_for_it() -> None:
    playing = at_an_hour()
    for seat in range(4):
        assert kinds(playing.ready(seat, Purpose.START)) == ["ReadyGiven"]
    assert playing.start() == Rejection.NOT_NOW
    assert playing.wait(24 * HOUR_MS) == [], "it is not closed for not starting"
    events, answer = playing.give(c.StartDue())
    assert (kinds(events), answer) == (["StartCalled", "Dealt"], None)
    assert playing.give(c.StartDue()) == ((), None)


def test_an_operator_starts_any_table() -> None:
    playing = at_an_hour(2)
    assert kinds(playing.start("", operator="ann")) == ["BotWanted", "BotWanted", "Dealt"]


def test_where_too_few_have_come_the_owner_starts_later_or_it_closes() -> None:
    playing = at_an_hour(2, bots=False)
    assert playing.start("", operator="ann") == Rejection.TOO_FEW_PLAYERS
    events, _ = playing.give(c.StartDue())
    assert kinds(events) == ["StartCalled"]
    playing.join("p2")
    assert kinds(playing.start())[:2] == ["SeatsDropped", "Dealt"]
    playing = at_an_hour(0)
    playing.give(c.StartDue())
    assert kinds(playing.wait(limits.UNSTARTED_MS)) == ["GameEnded", "TableClosed"]


def test_a_frozen_table_does_not_start_at_its_hour() -> None:
    playing = at_an_hour()
    playing.freeze()
    assert kinds(playing.give(c.StartDue())[0]) == ["StartCalled"]
    playing.unfreeze()
    assert kinds(playing.start()) == ["Dealt"]


# ------------------------------------------------------------------ watching


def watch(playing: Playing, person: str = "stranger", invite_hash: bytes = b"") -> Any:
    before = digest(playing.table)
    events, note = playing.give(c.Watch(person, invite_hash, "gateway", b"s" * 16))
    assert events == ()
    assert digest(playing.table) == before, "watching changes nothing"
    return note


@pytest.mark.parametrize("visibility", [Visibility.PUBLIC, Visibility.UNLISTED])
def test_a_spectator_is_shown_the_table_without_any_cards(visibility: Visibility) -> None:
    playing = Playing("blitz", 4).trading(visibility=visibility)
    note = watch(playing)
    assert note == e.Shown("gateway", b"s" * 16, show(playing.table, NOBODY, playing.now_ms))
    assert (note.shown.viewer, note.shown.hand, note.shown.offer_lot) == (NOBODY, 0, 0)


def test_a_private_table_exists_for_the_invited_the_seated_and_its_owner() -> None:
    playing = Playing("blitz", 4)
    playing.open_table(visibility=Visibility.PRIVATE, invite_hash=INVITE)
    assert isinstance(watch(playing, playing.table.owner), e.Shown)
    playing.join("p0", invite_hash=INVITE)
    for stranger in ("stranger", ""):
        assert watch(playing, stranger).rejection == Rejection.TABLE_NOT_FOUND
    assert isinstance(watch(playing, "stranger", INVITE), e.Shown)
    assert isinstance(watch(playing, "p0"), e.Shown)


def test_no_table_and_a_closed_one_cannot_be_watched() -> None:
    nowhere = Playing("blitz", 4)
    assert watch(nowhere).rejection == Rejection.TABLE_NOT_FOUND
    playing = ended()
    playing.operate(c.CloseTable)
    assert watch(playing).rejection == Rejection.TABLE_CLOSED


def test_a_watch_refused_by_the_tables_owner() -> None:
    command = c.Watch("p", b"", "gateway", b"s" * 16)
    refused = refuse(Table("00aaaaaaaaaaaaaaaaaaaa"), command, Rejection.TABLE_STOPPED)
    assert refused == e.WatchRefused("gateway", b"s" * 16, int(Rejection.TABLE_STOPPED))
