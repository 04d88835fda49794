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
from services.client.view import GapInEvents, SeatView, TableView
from services.gateway.convert.tables import snapshot_message
from support.bot_rounds import BotTable, Tally


def known(view: TableView) -> dict[str, object]:
    fields = {name: getattr(view, name) for name in TableView.__slots__ if name != "seats"}
    seats = [{name: getattr(seat, name) for name in SeatView.__slots__} for seat in view.seats]
    return {**fields, "seats": seats}


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
