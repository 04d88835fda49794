"""`pit table list` and `pit table show`."""

import json
import sys
from pathlib import Path
from typing import Any

from engine.commands import NOBODY
from engine.rules import preset_name, rules_hash
from engine.shown import Phase, SeatShown, TableView
from engine.view import show
from services.archive.audit import audit
from services.archive.index import FILE, GameIndex
from services.archive.summary import Summary
from services.cli.common import load_settings, opened_archive
from services.cli.failures import Exit, Failure
from services.cli.games import lobby, recorded
from services.log.codec import LobbyLine


def list_tables(everything: bool, as_json: bool) -> None:
    """Tables in the lobby, and with `everything` also games in the archive only."""
    settings = load_settings()
    lines = [_live(line) for line in lobby(settings.redis_url)]
    if everything:
        known = {line["table"] for line in lines}
        archive = opened_archive(settings)
        summaries = _summaries(settings.archive_directory)
        lines += [
            _archived(game, summaries.get(game)) for game in archive.games() if game not in known
        ]
    elif not settings.redis_url:
        raise Failure(
            Exit.USAGE,
            "no store is named, so there are no tables in play to list",
            "PIT_REDIS_URL is not set",
            "set it (`pit demo` shows its own), or give --all for the games in the archive",
        )
    _print(lines, as_json)
    if not everything and not as_json:
        print("These are in play; --all shows the games in the archive, too.", file=sys.stderr)


def show_table(name: str, as_json: bool) -> None:
    """One table as a spectator may see it."""
    game = recorded(name)
    verdict = audit(game)
    view = show(verdict.table, NOBODY)
    shown = _shown(view) | {"good": not verdict.findings}
    if as_json:
        print(json.dumps(shown))
        return
    frozen = f", time stands still: {view.frozen_reason}" if view.frozen_at_ms else ""
    where = f"{shown['rules']}, {shown['phase']}, round {view.round}{frozen}"
    print(f'{game.name}  "{view.display_name}"  {where}')
    print(f"{'seat':>4}  {'player':<24} {'score':>6} {'cards':>5} {'offer':>5}")
    for seat, state in enumerate(view.seats):
        if not state.dropped:
            player = state.person or _stand_in(state)
            offer = state.offer_size or "-"
            print(f"{seat:>4}  {player:<24} {state.score:>6} {state.cards:>5} {offer:>5}")
    if verdict.findings:
        raise Failure(
            Exit.CHECK_FAILED,
            "the records do not hold",
            verdict.findings[0].text,
            f"`pit verify {game.name}` says more",
        )


def _stand_in(seat: SeatShown) -> str:
    if seat.bot:
        return "a bot"
    return "a bot is wanted" if seat.bot_wanted else "free"


def _live(line: LobbyLine) -> dict[str, Any]:
    people = sum(1 for person in line.persons if person)
    return {
        "table": line.table,
        "name": line.display_name,
        "rules": line.preset or line.rules_hash,
        "phase": Phase(line.phase).name.lower(),
        "round": line.round,
        "seats": line.seats,
        "people": people,
        "bots": len(line.bots),
    }


def _summaries(root: Path) -> dict[str, Summary]:
    """What the archive's index says of its games; a game it does not know yet is only named."""
    try:
        return GameIndex(root).summaries()
    except OSError as error:
        raise Failure(
            Exit.CHECK_FAILED,
            "the archive's index cannot be read",
            str(error),
            f"remove {root / FILE} while no archiver runs; it is made anew when one starts",
        ) from None


def _archived(game: str, summary: Summary | None) -> dict[str, Any]:
    if summary is None or not summary.opened:
        unknown = dict.fromkeys(("name", "rules", "round", "seats", "people", "bots"), "")
        return {"table": game, "phase": "archived", **unknown}
    people = sum(1 for person in summary.persons if person)
    seats = len(summary.persons) - len(summary.dropped)
    phase = "closed" if summary.closed_ms else "ended" if summary.end_ms else "unfinished"
    return {
        "table": game,
        "name": summary.display_name,
        "rules": preset_name(summary.rules) or rules_hash(summary.rules),
        "phase": phase,
        "round": summary.rounds,
        "seats": seats,
        "people": people,
        "bots": seats - people,
    }


def _shown(view: TableView) -> dict[str, Any]:
    return {
        "table": view.table,
        "name": view.display_name,
        "rules": preset_name(view.rules) or rules_hash(view.rules),
        "phase": Phase(view.phase).name.lower(),
        "round": view.round,
        "frozen": view.frozen_reason if view.frozen_at_ms else None,
        "seq": view.seq,
        "scores": [seat.score for seat in view.seats],
        "people": [seat.person for seat in view.seats],
        "bots": [number for number, seat in enumerate(view.seats) if seat.bot],
    }


def _print(lines: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        for line in lines:
            print(json.dumps(line))
        return
    columns = ("table", "rules", "phase", "round", "seats", "people", "bots", "name")
    rows = [columns, *(tuple(str(line[column]) for column in columns) for line in lines)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(columns))]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
