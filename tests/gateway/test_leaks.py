"""No viewer is sent, or could compute, a card it has not held or been shown (I10)."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from pit.v1 import play_pb2, table_pb2

from engine import events
from engine.commands import NOBODY
from engine.table import Table
from services.gateway import feed
from services.gateway.convert import tables as convert_tables
from services.gateway.session import greeting
from support.front import Front
from support.leaks import Eavesdropper, Found, Leak, Truth
from support.played import PlayedTable, Recorder, play

RULES = ("blitz", "household", "deluxe", "basic")
"""With and without Bull and Bear, with mixed lots, with both decks."""


async def listen_to(games: int, at_once: int, seed: int) -> Found:
    """Play, and read what every seat and a spectator were sent."""
    chance = random.Random(f"players {seed}")  # not the stream that the seeds come from
    found = Found()
    for first in range(0, games, at_once):
        async with Front(seed=seed + first) as front:
            rules = [RULES[(first + number) % len(RULES)] for number in range(at_once)]
            recorder = Recorder(front)
            tables = [await PlayedTable.opened(front, chance, each) for each in rules]
            await play(front, tables, recorder)
            for table in tables:
                read_all(table, recorder.entries, found)
    return found


def read_all(table: PlayedTable, entries: Any, found: Found) -> None:
    truth = Truth(Table(table.name))
    for entry in entries:
        truth.hear(entry)
    viewers = [(seat.seated.session.seat, seat.seated.raw) for seat in table.seats]
    assert table.spectator.raw
    for seat, messages in (*viewers, (NOBODY, table.spectator.raw)):
        eavesdropper = Eavesdropper(truth, seat, found)
        for message in messages:
            eavesdropper.read(message)


async def test_ten_games_show_nobody_what_is_not_theirs() -> None:
    found = await listen_to(10, at_once=10, seed=1)
    assert found.items > 5_000
    assert found.cards > 2_000
    assert found.deals > 100


@pytest.mark.all
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [100, 200, 300, 400])
async def test_two_hundred_games_show_nobody_what_is_not_theirs(seed: int) -> None:
    found = await listen_to(50, at_once=50, seed=seed)
    assert found.items > 25_000
    assert found.cards > 10_000
    assert found.deals > 500


# -------------------------------------------------------------------- planted leaks


def everything(event: events.Event, viewer: int) -> events.Event:
    """A view that hides nothing."""
    return event


def seed_in_commitment(convert: Callable[..., bytes]) -> Callable[..., bytes]:
    def leaking(event: events.Event, *rest: Any) -> bytes:
        message = table_pb2.Event.FromString(convert(event, *rest))
        if type(event) is events.Committed and event.seed:
            message.committed.commitment += event.seed[:PIECE]
        return message.SerializeToString()

    return leaking


PIECE = 8


def lot_for_all(own_bytes: Callable[..., bytes | None]) -> Callable[..., Any]:
    """The lot of an offer told to everybody."""

    def leaking(event: events.Event, seat: int, deck: Any) -> bytes | None:
        if type(event) is events.OfferOpened and event.lot is not None:
            return play_pb2.Own(received=deck.cards(event.lot)).SerializeToString()
        return own_bytes(event, seat, deck)

    return leaking


def everybody(event: events.Event) -> range:
    """Nobody is left out."""
    return range(8)


def trade_for_all(own_bytes: Callable[..., bytes | None]) -> Callable[..., Any]:
    """The cards of a trade told to everybody."""

    def leaking(event: events.Event, seat: int, deck: Any) -> bytes | None:
        if type(event) is events.Traded and seat not in (event.seat, event.partner):
            return play_pb2.Own(received=deck.cards(event.received or 0)).SerializeToString()
        return own_bytes(event, seat, deck)

    return leaking


def neighbours_hand(view: Any, names: Any) -> table_pb2.Snapshot:
    """A snapshot that forgets whose hand it shows."""
    snapshot = convert_tables.snapshot_message(view, names)
    deck = convert_tables.deck_of(view.rules)
    snapshot.hand.CopyFrom(deck.cards(view.hand | 1))
    return snapshot


@pytest.mark.parametrize("leak", ["seed", "lot", "snapshot", "trade"])
async def test_a_planted_leak_is_found(leak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "concerned", everybody)
    if leak == "seed":
        monkeypatch.setattr(feed, "public_bytes", seed_in_commitment(feed.public_bytes))
        monkeypatch.setattr(feed, "view", everything)
    elif leak == "lot":
        monkeypatch.setattr(feed, "own_bytes", lot_for_all(feed.own_bytes))
        monkeypatch.setattr(feed, "view", everything)
    elif leak == "snapshot":
        monkeypatch.setattr(greeting, "snapshot_message", neighbours_hand)
    else:
        monkeypatch.setattr(feed, "own_bytes", trade_for_all(feed.own_bytes))
        monkeypatch.setattr(feed, "view", everything)
    with pytest.raises(Leak):
        await listen_to(1, at_once=1, seed=3)
