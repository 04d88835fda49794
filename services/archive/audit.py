"""Proves a game from its records alone, or says what in them cannot be.

Every record is replayed twice: by the engine's `evolve`, with its invariants checked after each
event, and by the plain `Ledger`. Nothing of a counter, a snapshot or a running process is used.
"""

from collections.abc import Iterator

from engine.check import check
from engine.events import (
    Answered,
    Event,
    GameEnded,
    Note,
    Record,
    RequestAnswered,
    ScoreAdjusted,
)
from engine.evolve import evolve
from engine.state import Table
from engine.value import value
from services.archive.account import Finding
from services.archive.ledger import Ledger
from services.archive.passing import changes_nothing
from services.archive.source import Game
from services.log.codec import Undecodable, unpack_record

FINDINGS_MAX = 20
"""One wrong card makes every later event of its round wrong; the first lines are what matters."""


@value
class Verdict:
    """The outcome of an audit. `findings` is empty where everything holds."""

    game: str
    findings: tuple[Finding, ...]
    events: int
    finished: bool
    sealed: bool
    """Whether a valid seal covers the game to its end."""
    table: Table
    """As the last record left it."""


def audit(game: Game) -> Verdict:
    """Replay and check everything. Stops where the records cannot be followed any further."""
    replay = _Replay(game.name)
    findings = list(game.findings)
    finished_at: int | None = None
    for number, kept in enumerate(game.records):
        findings.extend(replay.take(kept.out_id, kept.now_ms, kept.record))
        if replay.results_changed:
            finished_at = number
        if replay.stuck or len(findings) >= FINDINGS_MAX:
            break
    sealed = finished_at is not None and game.sealed > finished_at
    if finished_at is not None and finished_at < game.archived and not sealed:
        findings.append(Finding("seal", replay.ledger.seq, "a finished game without a valid seal"))
    return Verdict(
        game.name,
        tuple(findings[:FINDINGS_MAX]),
        replay.ledger.seq,
        replay.finished,
        sealed,
        replay.table,
    )


class _Replay:
    def __init__(self, name: str) -> None:
        self.table = Table(name)
        self.ledger = Ledger()
        self.finished = False
        self.results_changed = False
        """Whether the record taken last brought the game's results, or corrected them."""
        self.stuck = False
        self._now_ms = 0
        self._numbers: dict[tuple[int, bool, int], int] = {}
        """By seat, whether it is the stand-in's, and generation: the last number answered."""

    def take(self, out_id: str, now_ms: int, packed: bytes) -> Iterator[Finding]:
        """Findings in one record; `stuck` is set where no later one could be understood."""
        self.results_changed = False
        try:
            record = unpack_record(self.table.table, packed)
        except Undecodable as error:
            self.stuck = True
            yield self._finding("damage", f"entry {out_id} cannot be decoded: {error.reason}")
            return
        if changes_nothing(record):
            return
        if now_ms < self._now_ms:
            yield self._finding("order", f"log time goes back in entry {out_id}")
        self._now_ms = now_ms
        if record.first_seq != self.ledger.seq + 1:
            self.stuck = True
            yield self._finding(
                "order", f"entry {out_id} begins at {record.first_seq}, not {self.ledger.seq + 1}"
            )
            return
        yield from self._answers_point_elsewhere(record)
        for item in record.items:
            yield from self._take_item(item)
            if self.stuck:
                return

    def _take_item(self, item: Event | Note) -> Iterator[Finding]:
        try:
            if isinstance(item, Note):
                yield from self._number_is_wrong(item)
                evolve(self.table, item)
            else:
                yield from self.ledger.check(item, self._now_ms)
                self.finished |= isinstance(item, GameEnded)
                if self.finished and isinstance(item, GameEnded | ScoreAdjusted):
                    self.results_changed = True
                evolve(self.table, item)
                check(self.table)
        except Exception as error:
            # Whatever a forged record makes of the engine or the ledger is a finding.
            self.stuck = True
            yield self._finding("conservation", f"{type(error).__name__}: {error}")

    def _number_is_wrong(self, note: Note) -> Iterator[Finding]:
        """Every numbered command has one answer: the numbers of a generation are 1, 2, 3, ..."""
        if not isinstance(note, Answered) or not note.kept:
            return
        generation = (note.seat, note.bot, note.generation)
        expected = self._numbers.get(generation, 0) + 1
        if note.number != expected:
            yield self._finding("order", f"answers number {note.number}, should be {expected}")
        self._numbers[generation] = note.number

    def _answers_point_elsewhere(self, record: Record) -> Iterator[Finding]:
        """An accepted command's answer names the first event it caused, the next one here; that of
        a request which found everything done already names the newest, like a refusal."""
        seq = self.ledger.seq
        for item in record.items:
            if not isinstance(item, Note):
                seq += 1
            elif isinstance(item, Answered | RequestAnswered) and item.kept:
                caused = isinstance(item, Answered) or item.seq != seq
                if item.seq != seq + (caused and not item.rejection):
                    yield self._finding("order", f"an answer names event {item.seq} at {seq + 1}")

    def _finding(self, kind: str, text: str) -> Finding:
        return Finding(kind, self.ledger.seq, text)
