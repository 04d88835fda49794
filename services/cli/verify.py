"""`pit verify`: proves games from their records, or says loudly what is wrong."""

import json
from pathlib import Path

from engine.shown import Phase
from services.archive.audit import Verdict, audit
from services.archive.exported import game_of
from services.archive.source import find_all
from services.cli.common import load_settings, opened_archive, opened_log, public_key
from services.cli.failures import Exit, Failure
from services.cli.games import load_game, not_found
from services.log.port import Damaged

PROVEN = "deal, order, conservation and score proven"


def verify_one(name: str, key_path: Path | None, as_json: bool) -> int:
    """Verify one game; the exit code."""
    settings = load_settings()
    verdict = audit(load_game(name, settings, key_path))
    if not verdict.events and not verdict.findings:  # somebody asked for a table that never was
        raise not_found(name, settings)
    _show(verdict, as_json)
    return Exit.CHECK_FAILED if verdict.findings else Exit.GOOD


def verify_file(path: Path, key_path: Path | None, as_json: bool) -> int:
    """Verify an exported game; the exit code."""
    key = public_key(load_settings(), key_path)
    try:
        game = game_of(path.read_bytes(), key)
    except OSError as error:
        raise Failure(
            Exit.NOT_FOUND, f"{path} cannot be read", error.strerror or "", "name another file"
        ) from None
    except Damaged as damaged:
        raise Failure(
            Exit.CHECK_FAILED, f"{path} is no game's file", str(damaged), "`pit operate export`"
        ) from None
    verdict = audit(game)
    _show(verdict, as_json)
    return Exit.CHECK_FAILED if verdict.findings else Exit.GOOD


def verify_all(key_path: Path | None, as_json: bool) -> int:
    """Verify every game there is; the exit code."""
    settings = load_settings()
    key = public_key(settings, key_path)
    games = broken = 0
    with opened_log(settings.redis_url) as log:
        for game in find_all(opened_archive(settings), key, log):
            verdict = audit(game)
            if not verdict.events and not verdict.findings:
                continue  # somebody asked for a table that never was
            games += 1
            broken += bool(verdict.findings)
            if as_json or verdict.findings:
                _show(verdict, as_json)
    if not as_json:
        print(f"{games} games: {games - broken} good, {broken} FAILED")
    return Exit.CHECK_FAILED if broken else Exit.GOOD


def _show(verdict: Verdict, as_json: bool) -> None:
    if as_json:
        findings = [[finding.kind, finding.seq, finding.text] for finding in verdict.findings]
        fields = {
            "game": verdict.game,
            "good": not verdict.findings,
            "events": verdict.events,
            "finished": verdict.finished,
            "sealed": verdict.sealed,
            "closed": verdict.table.phase == Phase.CLOSED,
            "findings": findings,
        }
        print(json.dumps(fields))
        return
    if not verdict.findings:
        print(f"{verdict.game}: good. {verdict.events} events, {PROVEN}; {_seal(verdict)}")
        return
    print(f"{verdict.game}: FAILED, {len(verdict.findings)} finding(s)")
    for finding in verdict.findings:
        print(f"  event {finding.seq:>5}  {finding.kind:<12}  {finding.text}")


def _seal(verdict: Verdict) -> str:
    if verdict.sealed and verdict.table.phase != Phase.CLOSED:
        return "signed by the archive; the table is not closed, so more may follow."
    if verdict.sealed:
        return "signed by the archive."
    if verdict.finished:
        return "over, not signed yet."
    return "still in play, so not signed."
