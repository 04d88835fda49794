"""The end of a demo: everything is read back from the records, proven, and summed up."""

from collections.abc import Mapping
from typing import Any

from engine.value import value
from services.archive.account import Finding
from services.archive.audit import audit
from services.archive.frames import id_order
from services.archive.port import Archive
from services.archive.source import Game, find_all
from services.cli.demo.follow import Takeovers
from services.cli.demo.plan import Plan
from services.cli.demo.report import BotsReport
from services.cli.demo.tally import STALL_MS, TableTally, totals
from services.log.codec import Undecodable, unpack_record
from services.log.port import ReaderLog

PROBLEMS_SHOWN = 10


@value
class Played:
    """When the run began and ended."""

    started_s: float
    ended_s: float
    """Both by the monotonic clock."""
    begin_ids: Mapping[int, str]
    """By shard, the newest entry before the run."""
    end_ms: Mapping[int, int]
    """By shard, log time at the end."""
    games: set[str]


@value
class Reading:
    """All games of this run, read back."""

    tables: list[TableTally]
    findings: list[tuple[str, Finding]]


def read_back(archive: Archive, log: ReaderLog, key: Any, played: Played) -> Reading:
    """Replay and prove every game of this run, from its first record on."""
    names = played.games
    tables: list[TableTally] = []
    findings: list[tuple[str, Finding]] = []
    missing = set(names)
    for game in find_all(archive, key, log):
        if game.name in names:
            missing.discard(game.name)
            tables.append(_tally(game, played))
            findings.extend((game.name, finding) for finding in audit(game).findings)
    findings.extend(
        (name, Finding("order", 0, "played, but neither archive nor log has it"))
        for name in sorted(missing)
    )
    return Reading(tables, findings)


def _tally(game: Game, played: Played) -> TableTally:
    """The game's figures; what came before this run is not counted."""
    tally = TableTally(game.name)
    begun = id_order(played.begin_ids[int(game.name[:2])])
    for kept in game.records:
        try:
            tally.take(unpack_record(game.name, kept.record), kept.now_ms)
        except Undecodable:
            break  # the audit says so
        if id_order(kept.out_id) <= begun:
            tally.counts.clear()
    return tally


def summary(
    plan: Plan,
    played: Played,
    reading: Reading,
    report: BotsReport,
    takeovers: Takeovers,
) -> dict[str, Any]:
    """The figures of the run, with the keys that are promised."""
    sums = totals(reading.tables)
    return {
        "tables": plan.tables,
        "seats": plan.seats,
        "seconds": round(played.ended_s - played.started_s, 1),
        "commands": sums.commands,
        "offers": sums.offers,
        "trades": sums.trades,
        "corners": sums.corners,
        "rounds": sums.rounds,
        "voids": sums.voids,
        "games_finished": sums.games_finished,
        "rejections": sums.rejections,
        "errors": report.errors,
        "retries": report.retries,
        "unknown": report.unknown,
        "resets": report.resets,
        "invariant_breaks": len(reading.findings),
        "trade_ms": report.trade_ms,
        "kills": takeovers.kills,
        "takeovers": len(takeovers.waits_ms),
        "unavailable_ms": takeovers.summary(played.ended_s),
    }


def problems(plan: Plan, played: Played, reading: Reading, figures: Mapping[str, Any]) -> list[str]:
    """Why this run does not count as good; empty if it does."""
    found = [
        f"{name}, event {finding.seq}: {finding.kind}: {finding.text}"
        for name, finding in reading.findings
    ]
    if plan.duration_s and not figures["trades"]:
        found.append("no game was played")
    for table in reading.tables:
        stalled_ms = table.stalled_ms(played.end_ms.get(int(table.name[:2]), 0))
        if plan.bots and not table.over and stalled_ms > STALL_MS:
            found.append(
                f"{table.name}: no trade in the last {stalled_ms / 1_000:.0f} s of trading"
            )
    return found
