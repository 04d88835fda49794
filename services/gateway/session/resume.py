"""Where a client that comes back stands on the table's history."""

from enum import Enum
from typing import Final

from engine.shown import Mark
from services.gateway.session.limits import EPOCH_BYTES

_NONCE_BYTES: Final = EPOCH_BYTES - 8


class Standing(Enum):
    ON_IT = 1
    """What it holds is a beginning of our history."""
    LEFT_IT = 2
    """It holds events that are not, or no longer, on our history."""
    AHEAD = 3
    """It claims events of the present stretch that have never happened."""


def epoch_bytes(epoch: int, nonce: bytes) -> bytes:
    """A stretch of history as clients are given it; opaque to them."""
    return epoch.to_bytes(8, "big") + nonce[-_NONCE_BYTES:].rjust(_NONCE_BYTES, b"\0")


def standing(epoch: bytes, seq: int, marks: tuple[Mark, ...], head_seq: int) -> Standing:
    """Decided from the table's marks alone.

    A client at (mark, seq) is on our history if the mark is listed and `seq` lies before the
    first event of the next one.
    """
    for place, mark in enumerate(marks):
        if epoch_bytes(mark.epoch, mark.nonce) != epoch:
            continue
        if place + 1 == len(marks):
            return Standing.ON_IT if seq <= head_seq else Standing.AHEAD
        return Standing.ON_IT if seq < marks[place + 1].first_seq else Standing.LEFT_IT
    return Standing.LEFT_IT
