"""What each viewer may know (design.md "view", front-door.md threats 5 and 7)."""

from dataclasses import fields
from typing import get_type_hints

import pytest

from engine import events as e
from engine.cards import NO_CARDS, ONE
from engine.commands import NOBODY
from engine.view import NARROWED, show, view
from support.playing import Playing

VIEWERS = [NOBODY, 0, 1, 2, 3]


def a_game() -> Playing:
    playing = Playing("blitz", 4).trading({0: "4 wheat", 1: "4 barley"})
    playing.offer(0, 2 * ONE[0], directed_at=2)
    playing.offer(0, 2 * ONE[0])
    playing.offer(1, 2 * ONE[1])
    playing.offer(0, ONE[0])
    playing.offer(2, playing.hand(2) & -playing.hand(2))
    playing.corner(3)
    playing.wait(30_000)
    return playing


def test_every_event_with_a_private_field_is_narrowed() -> None:
    """A field that may be `None` is private; and the invite's hash, which may not."""
    private = {
        kind
        for kind in e.Event.__args__  # type: ignore[attr-defined]
        if any("None" in str(hint) for hint in get_type_hints(kind).values())
    }
    assert set(NARROWED) == private | {e.TableOpened, e.InviteRotated}


@pytest.mark.parametrize("viewer", VIEWERS)
def test_nothing_but_private_fields_is_changed(viewer: int) -> None:
    for event in a_game().items:
        if not isinstance(event, e.Event):
            continue
        seen = view(event, viewer)
        assert type(seen) is type(event)
        for field in fields(event):
            shown, held = getattr(seen, field.name), getattr(event, field.name)
            if shown != held:
                assert field.name in ("invite_hash", "seed", "hands", "lot", "given", "received")


@pytest.mark.parametrize("viewer", VIEWERS)
def test_a_hand_is_dealt_for_its_seat_alone(viewer: int) -> None:
    dealt = next(item for item in a_game().items if isinstance(item, e.Dealt))
    seen = view(dealt, viewer)
    assert isinstance(seen, e.Dealt)
    assert [hand is not None for hand in seen.hands] == [seat == viewer for seat in range(4)]


def test_that_a_seat_does_not_play_is_for_all_to_see() -> None:
    dealt = e.Dealt(1, 0, (0,), (5, NO_CARDS, 7), 0, 0)
    assert view(dealt, 0) == e.Dealt(1, 0, (0,), (5, NO_CARDS, None), 0, 0)


@pytest.mark.parametrize("viewer", VIEWERS)
def test_of_an_offer_others_see_seat_size_and_direction(viewer: int) -> None:
    opened = e.OfferOpened(1, 2, 2 * ONE[1], 3, 99, 7)
    lot = 2 * ONE[1] if viewer == 1 else None
    assert view(opened, viewer) == e.OfferOpened(1, 2, lot, 3, 99, 7)


@pytest.mark.parametrize("viewer", VIEWERS)
def test_a_trades_cards_are_known_to_the_two(viewer: int) -> None:
    traded = e.Traded(1, 0, 2, 2 * ONE[1], 2 * ONE[0], 7)
    known = viewer in (0, 1)
    assert view(traded, viewer) == (traded if known else e.Traded(1, 0, 2, None, None, 7))


@pytest.mark.parametrize("viewer", VIEWERS)
def test_the_seed_is_nobodys_until_the_round_is_over(viewer: int) -> None:
    playing = Playing("blitz", 4).trading()
    seed = playing.table.seed
    seen = [view(item, viewer) for item in playing.items if isinstance(item, e.Event)]
    assert repr(seed) not in repr(seen)
    assert repr(seed) not in repr(show(playing.table, viewer))
    scored = next(event for event in playing.corner(0) if isinstance(event, e.RoundScored))
    assert view(scored, viewer) == scored
    assert scored.seed == seed


@pytest.mark.parametrize("viewer", VIEWERS)
def test_a_snapshot_holds_the_own_cards_and_no_others(viewer: int) -> None:
    """Equal in all but what is the viewer's own."""
    playing = Playing("blitz", 4).trading({0: "4 wheat", 1: "4 barley"})
    playing.offer(0, 3 * ONE[0])
    shown = show(playing.table, viewer)
    assert shown.hand == (playing.hand(viewer) if viewer >= 0 else NO_CARDS)
    assert shown.offer_lot == (3 * ONE[0] if viewer == 0 else NO_CARDS)
    others = show(playing.table, 3)
    assert shown.seats == others.seats
    assert shown.seats[0].offer_size == 3
    assert [seat.cards for seat in shown.seats] == [10, 10, 9, 9]


def test_an_invites_hash_is_shown_to_nobody() -> None:
    playing = Playing("blitz", 4)
    playing.open_table(visibility=3, invite_hash=b"i" * 32)
    opened = next(item for item in playing.items if isinstance(item, e.TableOpened))
    assert opened.invite_hash == b"i" * 32
    assert all(view(opened, viewer).invite_hash == b"" for viewer in VIEWERS)  # type: ignore[union-attr]
