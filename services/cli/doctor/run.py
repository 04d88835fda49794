"""The examinations in order, and how they are told."""

import json
import shutil
from pathlib import Path
from typing import Final

from services.cli.common import NO_STORE, explained_store, load_settings
from services.cli.doctor import shards
from services.cli.doctor.findings import Finding, Verdict, graded, ok
from services.cli.doctor.server import clock, fitness_findings, info_findings
from services.cli.failures import Exit
from services.log import codec
from services.log.connection import SyncConnection
from services.log.port import Meta, StoreChanged
from services.log.store import fitness, read_meta, server_info

DISK_WARN: Final = 0.8
DISK_FAIL: Final = 0.95


def examine(as_json: bool) -> int:
    """Examine the store of the settings; the exit code."""
    settings = load_settings()
    if not settings.redis_url:
        raise NO_STORE
    with explained_store():
        found = _examine(settings.redis_url, settings.archive_directory)
    _say(found, as_json)
    failed = any(finding.verdict is Verdict.FAIL for finding in found)
    return Exit.CHECK_FAILED if failed else Exit.GOOD


def _examine(url: str, archive_root: Path) -> list[Finding]:
    found = fitness_findings(fitness(url))
    server = SyncConnection(url)
    try:
        found += info_findings(server_info(server))
        clock_finding, server_ms = clock(server)
        found.append(clock_finding)
        meta_finding, meta = _meta(server)
        found.append(meta_finding)
        if meta is not None:
            found += _examine_shards(server, meta.shards, server_ms)
    finally:
        server.close()
    found.append(_archive_disk(archive_root))
    return found


def _examine_shards(server: SyncConnection, count: int, server_ms: int) -> list[Finding]:
    looks, found = shards.look(server, count)
    quiet = shards.no_gateway_lives(looks, server_ms)
    found += shards.at_work(server, count, quiet)
    found += shards.epochs(looks, server_ms)
    found.append(shards.lag(looks, server_ms, quiet))
    found.append(shards.dead_letters(looks))
    found.append(shards.archive_position(looks))
    return found


def _meta(server: SyncConnection) -> tuple[Finding, Meta | None]:
    try:
        meta = read_meta(server)
    except StoreChanged as error:
        fix = "for a new store run `pit store init`; if games were there, `pit restore` a backup"
        return Finding("meta", Verdict.FAIL, str(error), fix), None
    text = f"store {meta.store_id}, {meta.shards} shards, record version {meta.record_version}"
    if meta.record_version > codec.VERSION:
        fix = f"this is an older version, which reads up to {codec.VERSION}: install the newer one"
        return Finding("meta", Verdict.FAIL, text, fix), None
    return ok("meta", text), meta


def _archive_disk(root: Path) -> Finding:
    try:
        disk = shutil.disk_usage(root)
    except OSError:
        return Finding(
            "archive disk",
            Verdict.WARNING,
            f"{root} is not on this machine: its free space was not looked at",
            "run it where the archiver runs, or set PIT_ARCHIVE (or PIT_DATA)",
        )
    used = disk.used / (disk.used + disk.free)
    return graded(
        "archive disk",
        used,
        DISK_WARN,
        DISK_FAIL,
        f"{disk.free / 2**30:,.1f} GiB free, {used:.0%} used, at {root}",
        "make room, or keep games for fewer days (PIT_ARCHIVE_DAYS)",
    )


def _say(found: list[Finding], as_json: bool) -> None:
    verdicts = [finding.verdict for finding in found]
    fails, warnings = verdicts.count(Verdict.FAIL), verdicts.count(Verdict.WARNING)
    if as_json:
        lines = [
            {
                "check": finding.check,
                "verdict": finding.verdict.value,
                "text": finding.text,
                "fix": finding.fix,
            }
            for finding in found
        ]
        print(json.dumps({"fit": not fails, "warnings": warnings, "findings": lines}))
        return
    for finding in found:
        fix = f"; {finding.fix}" if finding.fix else ""
        print(f"{finding.verdict.value:<8} {finding.check:<13} {finding.text}{fix}")
    verdict = "not fit" if fails else "fit"
    print(f"{verdict}: {fails} failed, {warnings} warnings")
