"""The predecessor chain: how a reader knows that it is still on the history it was on.

After a lost tail a new owner may use the same ids for other content, and a demoted primary goes on
serving an old history without a word. So ids prove nothing: an entry is accepted only if the
predecessor it names, id and nonce, is what the reader holds. Used by gateway, archiver, `verify`.
"""

from collections.abc import Iterable
from enum import Enum

from engine.value import value
from services.log.entry import NO_ENTRY
from services.log.port import OutEntry


class Verdict(Enum):
    ACCEPT = 1
    """The entry follows: take it, it is what is held from now on."""
    RESET = 2
    """Another history, or a gap: forget what is held, start from a state of the new history."""


@value
class Held:
    """The newest entry a reader has taken, by what its successor must name."""

    id: str
    nonce: bytes


NOTHING = Held(NO_ENTRY, b"")
"""Held before the very first entry of a shard."""


def held(entry: OutEntry) -> Held:
    return Held(entry.id, entry.nonce)


def follows(before: Held, entry: OutEntry) -> bool:
    """Whether `entry` is the successor of what is held."""
    return entry.before_id == before.id and entry.before_nonce == before.nonce


def take(before: Held, entries: Iterable[OutEntry]) -> tuple[list[OutEntry], Held, Verdict]:
    """The entries that follow one another from what is held; what is held then; `RESET` where
    the next one did not follow."""
    taken: list[OutEntry] = []
    for entry in entries:
        if not follows(before, entry):
            return taken, before, Verdict.RESET
        taken.append(entry)
        before = held(entry)
    return taken, before, Verdict.ACCEPT
