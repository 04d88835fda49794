"""What `view` may show of an event to whom: private fields to their owners, all else to all."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from engine import events
from engine.commands import NOBODY
from engine.events import Event
from engine.view import view

Owners = Callable[[Any], tuple[int, ...]]

# What is private, and which seats may know it. Hands have a rule of their own.
PRIVATE: dict[tuple[type, str], Owners] = {
    (events.TableOpened, "invite_hash"): lambda event: (),
    (events.InviteRotated, "invite_hash"): lambda event: (),
    (events.Committed, "seed"): lambda event: (),
    (events.OfferOpened, "lot"): lambda event: (event.seat,),
    (events.Traded, "given"): lambda event: (event.seat, event.partner),
    (events.Traded, "received"): lambda event: (event.seat, event.partner),
}


def check_secrecy(event: Event, seats: int) -> None:
    """Raise an `AssertionError` if a seat or a spectator is shown too much, or too little."""
    for viewer in (NOBODY, *range(seats)):
        seen = view(event, viewer)
        assert type(seen) is type(event)
        for each in fields(event):
            told, true = getattr(seen, each.name), getattr(event, each.name)
            if isinstance(event, events.Dealt) and each.name == "hands":
                _check_hands(told, true, viewer)
                continue
            owners = PRIVATE.get((type(event), each.name))
            if owners is None or viewer in owners(event):
                assert told == true, f"{each.name} of {event} is kept from {viewer}"
            else:
                assert not told, f"I10: {each.name} of {event} is shown to {viewer}"


def _check_hands(told: tuple[int | None, ...], true: tuple[int | None, ...], viewer: int) -> None:
    """Everybody sees who plays, and the cards of their own hand."""
    for seat, (shown, hand) in enumerate(zip(told, true, strict=True)):
        if seat == viewer or hand == 0:
            assert shown == hand, f"the hand of {seat} is kept from {viewer}"
        else:
            assert shown is None, f"I10: the hand of {seat} is shown to {viewer}"
