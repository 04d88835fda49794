"""The client's view is kept by events alone, and yet is always what a new snapshot would show."""

import random

import pytest
from pit.v1 import table_pb2

from engine.events import Event
from engine.rules import PRESETS
from engine.view import show
from services.bots.careful import CAREFUL
from services.bots.pace import HUMAN
from services.bots.player import Player
from services.bots.wild import WILD
from services.client.view import GapInEvents, TableView
from services.gateway.convert.tables import snapshot_message
from support.bot_rounds import BotTable, Tally
from support.views import known


@pytest.mark.parametrize("preset", ["blitz", "tournament", "deluxe"])
def test_the_view_kept_by_events_equals_a_snapshot(preset: str) -> None:
    compared = 0

    def compare(game: BotTable, event: Event) -> None:
        nonlocal compared
        for seat, view in game.views.items():
            snapshot = snapshot_message(show(game.table, seat), {})
            assert known(view) == known(TableView(snapshot)), type(event).__name__
            compared += 1

    players = [
        Player(WILD if seat % 2 else CAREFUL, HUMAN, random.Random(seat)) for seat in range(4)
    ]
    tally = Tally()
    game = BotTable(PRESETS[preset], players, random.Random(1), tally, compare)
    while tally.rounds < 5 and not game.over:
        game.step()
    assert compared > 500


def test_a_missing_event_is_noticed() -> None:
    view = TableView(table_pb2.Snapshot(table="tables/t", seq=4))
    view.apply(table_pb2.Event(seq=5, table_closed=table_pb2.TableClosed()))
    with pytest.raises(GapInEvents):
        view.apply(table_pb2.Event(seq=7, table_closed=table_pb2.TableClosed()))


def test_an_event_of_a_later_version_counts_and_changes_nothing() -> None:
    view = TableView(table_pb2.Snapshot(table="tables/t", seq=4))
    unknown_field = b"\xfa\x07\x00"  # field 127, an empty message
    event = table_pb2.Event.FromString(b"\x08\x05" + unknown_field)
    view.apply(event)
    assert view.seq == 5


# ---------------------------------------------------------------------- what operators do


def seated_view(**fields: object) -> TableView:
    seats = [table_pb2.SeatState(seat=seat, person=f"people/{seat}") for seat in range(3)]
    return TableView(table_pb2.Snapshot(table="tables/t", seq=4, seats=seats, **fields))  # type: ignore[arg-type]


def test_a_frozen_table_keeps_what_remains_of_its_deadlines() -> None:
    view = seated_view(round_ends_at_us=90)
    view.apply(table_pb2.Event(seq=5, frozen=table_pb2.Frozen(reason="a dispute", at_us=50)))
    assert view.frozen_reason == "a dispute"
    assert view.remaining_us(view.round_ends_at_us, log_us=80) == 40
    view.apply(table_pb2.Event(seq=6, resumed=table_pb2.Resumed(frozen_us=35)))
    assert not view.frozen_reason
    assert view.remaining_us(view.round_ends_at_us, log_us=85) == 40
    assert view.opens_at_us == 0


def test_a_correction_after_the_end_changes_scores_and_places() -> None:
    view = seated_view()
    ended = table_pb2.GameEnded(places=[1, 2, 3], totals=[200, 100, 50])
    view.apply(table_pb2.Event(seq=5, game_ended=ended))
    adjusted = table_pb2.ScoreAdjusted(seat=1, delta=150, totals=[200, 250, 50], places=[2, 1, 3])
    view.apply(table_pb2.Event(seq=6, score_adjusted=adjusted))
    assert [seat.score for seat in view.seats] == [200, 250, 50]
    assert [seat.place for seat in view.seats] == [2, 1, 3]


def test_a_correction_in_mid_game_gives_nobody_a_place() -> None:
    view = seated_view()
    adjusted = table_pb2.ScoreAdjusted(seat=1, delta=5, totals=[0, 5, 0])
    view.apply(table_pb2.Event(seq=5, score_adjusted=adjusted))
    assert [seat.place for seat in view.seats] == [0, 0, 0]


def test_the_reason_of_a_voided_round_is_known_until_the_next_deal() -> None:
    view = seated_view()
    void = table_pb2.RoundVoid(
        round=1, totals=[0, 0, 0], reason="a lost connection", operator="Ann"
    )
    view.apply(table_pb2.Event(seq=5, round_void=void))
    assert view.told.void_reason == "a lost connection"
    view.apply(table_pb2.Event(seq=6, dealt=table_pb2.Dealt(round=2)))
    assert view.told.void_reason == ""


def test_the_newest_announcement_is_kept() -> None:
    view = seated_view()
    for seq, text in ((5, "Soup is served"), (6, "Soup is cold")):
        view.apply(table_pb2.Event(seq=seq, announcement=table_pb2.Announcement(text=text)))
    assert view.told.announcement is not None
    assert view.told.announcement.text == "Soup is cold"
