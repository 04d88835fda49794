"""A game unrolled: every event decoded, so that a page of it costs no more than its page."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final
from zlib import crc32

from engine import events
from engine.events import Event
from services.archive import frames
from services.archive.frames import Kept, Spoiled, Torn, Undone, id_order
from services.archive.source import from_content, numbered
from services.archive.summary import Summary
from services.log.codec import Undecodable, unpack_record
from services.log.port import Damaged

NOTHING: Final = "0-0"
KEPT_EVENTS_MAX: Final = 40_000
"""Events of games looked at lately that stay decoded: some ten megabytes. A longer game than this
is decoded anew for every page."""

_MOVES: Final = (events.SeatTaken, events.SeatLeft, events.SeatForfeited)


@dataclass(slots=True)
class Scroll:
    """What happened in a game, as far as its records were taken. Shared once it is complete."""

    summary: Summary
    events: list[tuple[int, Event]] = field(default_factory=list)
    """Log time and event; event number n stands at n - 1."""
    moves: list[tuple[int, Event]] = field(default_factory=list)
    """The numbered events by which somebody gets or loses a seat."""
    owners: frozenset[str] = frozenset()
    """Everybody who ever owned the table."""
    last_id: str = NOTHING
    damaged: bool = False
    """A record cannot be read: nobody knows how the game went on."""
    missing: bool = False
    """Records do not follow one another: some are not there, or are another history's."""

    def take(self, kept: Iterable[Kept]) -> None:
        """Take over records, oldest first; those that it has are passed over."""
        for one in kept:
            if not (self.damaged or self.missing) and _is_later(one.out_id, self.last_id):
                self._take(one)
                self.last_id = one.out_id

    def _take(self, kept: Kept) -> None:
        try:
            record = unpack_record(self.summary.game, kept.record)
        except Undecodable:
            self.damaged = True
            return
        for seq, event in numbered(record):
            if seq != len(self.events) + 1:
                self.missing = True
                return
            self.events.append((kept.now_ms, event))
            self.summary.take(seq, event)
            if isinstance(event, _MOVES):
                self.moves.append((seq, event))
            self.owners |= {self.summary.owner}

    def copy(self) -> "Scroll":
        """One that may be written on."""
        return replace(
            self,
            summary=replace(self.summary),
            events=self.events.copy(),
            moves=self.moves.copy(),
        )


def _is_later(out_id: str, than: str) -> bool:
    return id_order(out_id) > id_order(than)


@dataclass(slots=True)
class _Unrolled:
    length: int
    """Bytes of the file that are in `scroll`."""
    checksum: int
    scroll: Scroll


class Scrolls:
    """Unrolls files, and keeps what was looked at lately. Not shared between threads."""

    def __init__(self, kept_max: int = KEPT_EVENTS_MAX) -> None:
        self._kept_max = kept_max
        self._kept: OrderedDict[str, _Unrolled] = OrderedDict()

    def unroll(self, game: str, content: bytes) -> Scroll:
        """The scroll of a game's file. A torn end is left out: its writer is at it, or was."""
        known = self._kept.pop(game, None)
        if known is not None and not _begins(content, known):
            known = None
        unrolled = _read_on(game, content, known)
        self._keep(game, unrolled)
        return unrolled.scroll

    @property
    def kept_events(self) -> int:
        return sum(len(one.scroll.events) for one in self._kept.values())

    def _keep(self, game: str, unrolled: _Unrolled) -> None:
        if len(unrolled.scroll.events) <= self._kept_max:
            self._kept[game] = unrolled
        while self.kept_events > self._kept_max:
            self._kept.popitem(last=False)


def _begins(content: bytes, known: _Unrolled) -> bool:
    """Whether the file is the one that was unrolled, grown perhaps."""
    return crc32(memoryview(content)[: known.length]) == known.checksum


def _read_on(game: str, content: bytes, known: _Unrolled | None) -> _Unrolled:
    scroll = Scroll(Summary(game)) if known is None else known.scroll
    length = start = 0 if known is None else known.length
    kept: list[Kept] = []
    undone = damaged = False
    try:
        for part in frames.unpack(game, content[start:] if start else content):
            if isinstance(part, Torn):
                break
            frame, body = part
            length += frames.packed_length(body)
            undone |= isinstance(frame, Undone)
            damaged |= isinstance(frame, Spoiled)
            if isinstance(frame, Kept):
                kept.append(frame)
    except Damaged:
        damaged = True
    if length > start or damaged:
        scroll = scroll.copy()
        if undone:
            scroll = Scroll(Summary(game))
            kept = from_content(game, content[:length], None).records
        scroll.take(kept)
        scroll.damaged |= damaged
    return _Unrolled(length, crc32(memoryview(content)[:length]), scroll)
