"""`pit results`: who won what, for tables of figures and for people."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from engine.events import End
from engine.rules import preset_name, rules_hash
from services.archive.directory import DirectoryArchive
from services.archive.source import Game, find, find_all
from services.archive.summary import Summary
from services.cli.common import (
    load_settings,
    names_of,
    opened_archive,
    opened_log,
    public_key,
)
from services.cli.failures import Exit, Failure
from services.cli.games import not_found, whole_name

COLUMNS: Final = (
    "game", "table", "preset", "rules", "seats", "started", "ended", "end", "rounds", "signed",
    "seat", "person", "name", "score", "place", "correction", "reasons",
)  # fmt: skip
"""Of the CSV: one line a seat. Columns are only ever added, at the end."""
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins like this for a formula; names are anybody's words."""


class Form(StrEnum):
    TEXT = "text"
    CSV = "csv"
    JSON = "json"


@dataclass(frozen=True)
class Wish:
    """Which games."""

    games: tuple[str, ...] = ()
    """By name, finished or not; empty: all finished ones."""
    since: datetime | None = None
    """That ended then or later."""
    named: str = ""
    """Whose table's name begins so."""


@dataclass(slots=True)
class Result:
    summary: Summary
    signed: bool
    """Whether the archive's seal covers everything that makes this result."""


def show_results(wish: Wish, form: Form) -> int:
    """Print the results; the exit code."""
    settings = load_settings()
    archive = opened_archive(settings)
    damaged: list[str] = []
    found: list[Result] = []
    with opened_log(settings.redis_url) as log:
        key = public_key(settings, None)
        if wish.games:
            games: Iterable[Game] = (
                find(whole_name(name, settings, archive, log), archive, key, log)
                for name in wish.games
            )
        else:
            games = find_all(_Since(archive, wish.since), key, log)
        for game in games:
            result = result_of(game)
            if any(finding.kind == "damage" for finding in game.findings):
                damaged.append(game.name)
            elif wish.games and not result.summary.opened:
                raise not_found(game.name, settings)
            elif wanted(result.summary, wish):
                found.append(result)
    found.sort(key=lambda one: (one.summary.start_ms, one.summary.game))
    persons = {p for one in found for p in one.summary.persons if p}
    operators = {each.operator for one in found for each in one.summary.corrections}
    names = names_of(settings.redis_url, persons | operators)
    _PRINTERS[form](found, names)
    for name in damaged:
        print(
            f"pit: {name} is damaged and left out; `pit verify {name}` says more", file=sys.stderr
        )
    return Exit.CHECK_FAILED if damaged else Exit.GOOD


class _Since(DirectoryArchive):
    """An archive without the files that were last written to before a time."""

    def __init__(self, archive: DirectoryArchive, since: datetime | None) -> None:
        super().__init__(archive.root)
        self._since_s = since.timestamp() if since is not None else 0.0

    def games(self, shard: int | None = None) -> Iterator[str]:
        for game in super().games(shard):
            if self.modified_s(game) >= self._since_s:
                yield game


def result_of(game: Game) -> Result:
    """What a game's records come to."""
    summary, result, last = Summary(game.name), None, 0
    for number, kept in enumerate(game.records, 1):
        summary.take_packed(kept.record)
        if result != (now := (summary.end, summary.totals, summary.places)):
            result, last = now, number
    return Result(summary, signed=bool(summary.end) and game.sealed >= last)


def wanted(summary: Summary, wish: Wish) -> bool:
    """Whether the wish is for this game. A table at which no hand was dealt has no result."""
    if not summary.opened or not summary.display_name.startswith(wish.named):
        return False
    if wish.games:
        return True
    since_ms = wish.since.timestamp() * 1_000 if wish.since is not None else 0
    return bool(summary.start_ms) and bool(summary.end) and summary.end_ms >= since_ms


def parse_since(text: str) -> datetime:
    """A date or a time, UTC unless it says otherwise. Raises `Failure`."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Failure(
            Exit.USAGE,
            f"--since {text} is no date",
            "a date or a time is expected, as ISO 8601 writes it",
            "for example --since 2026-11-30 or --since 2026-11-30T18:00+01:00; UTC where no "
            "offset is given",
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


# ------------------------------------------------------------------ how they look


def _time(log_ms: int) -> str:
    """ISO 8601, UTC; empty for none."""
    if not log_ms:
        return ""
    return datetime.fromtimestamp(log_ms / 1_000, UTC).isoformat(timespec="milliseconds")


def _game_fields(result: Result) -> dict[str, Any]:
    summary = result.summary
    return {
        "game": summary.game,
        "table": summary.display_name,
        "preset": preset_name(summary.rules),
        "rules": rules_hash(summary.rules),
        "seats": len(summary.persons) - len(summary.dropped),
        "started": _time(summary.start_ms),
        "ended": _time(summary.end_ms),
        "end": End(summary.end).name.lower() if summary.end else "",
        "rounds": summary.rounds,
        "signed": result.signed,
    }


def _seat_fields(summary: Summary, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    for seat, person in enumerate(summary.persons):
        if seat not in summary.dropped:
            yield {
                "seat": seat,
                "person": person,
                "name": names.get(person, ""),
                "score": summary.totals[seat],
                "place": summary.places[seat] if summary.places else 0,
            }


def _print_csv(found: Sequence[Result], names: dict[str, str]) -> None:
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for result in found:
        game = _game_fields(result) | {"signed": "yes" if result.signed else "no"}
        for seat in _seat_fields(result.summary, names):
            mine = [one for one in result.summary.corrections if one.seat == seat["seat"]]
            corrected = {
                "correction": sum(one.delta for one in mine),
                "reasons": "; ".join(f"{one.reason} ({one.delta:+})" for one in mine),
            }
            writer.writerow(
                {column: _cell(content) for column, content in (game | seat | corrected).items()}
            )


def _cell(content: Any) -> Any:
    if isinstance(content, str) and content.startswith(FORMULA):
        return "'" + content
    return content


def _print_json(found: Sequence[Result], names: dict[str, str]) -> None:
    for result in found:
        corrections = [
            {
                "seat": one.seat,
                "delta": one.delta,
                "reason": one.reason,
                "operator": names.get(one.operator, one.operator),
                "at": _time(one.at_ms),
            }
            for one in result.summary.corrections
        ]
        seats = list(_seat_fields(result.summary, names))
        print(
            json.dumps(
                _game_fields(result) | {"results": seats, "corrections": corrections},
                ensure_ascii=False,
            )
        )


def _print_text(found: Sequence[Result], names: dict[str, str]) -> None:
    for result in found:
        game = _game_fields(result)
        rules = game["preset"] or f"own rules {game['rules']}"
        ended = f"{game['ended']}, {game['end'].replace('_', ' ')}" if game["end"] else "in play"
        print(f'{game["game"]}  "{game["table"]}"  {rules}, {game["rounds"]} rounds, {ended}')
        seats = list(_seat_fields(result.summary, names))
        for seat in sorted(seats, key=lambda seat: (seat["place"] or len(seats) + 1, seat["seat"])):
            who = seat["name"] or seat["person"] or "a bot"
            place = f"{seat['place']}." if seat["place"] else "-"
            print(f"  {place:>3} {seat['score']:>6}  seat {seat['seat']}  {who}")
        for one in result.summary.corrections:
            operator = names.get(one.operator, one.operator)
            print(f"      seat {one.seat} {one.delta:+}: {one.reason} ({operator})")
    print(f"{len(found)} games")


_PRINTERS: Final = {Form.TEXT: _print_text, Form.CSV: _print_csv, Form.JSON: _print_json}


def results(games: list[str], since: str, named: str, *, as_csv: bool, as_json: bool) -> int:
    """`pit results`; the exit code."""
    if as_csv and as_json:
        raise Failure(
            Exit.USAGE, "--csv and --json exclude each other", "", "give one of them, or neither"
        )
    form = Form.CSV if as_csv else Form.JSON if as_json else Form.TEXT
    when = parse_since(since) if since else None
    return show_results(Wish(tuple(games), when, named), form)
