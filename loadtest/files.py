"""What a run leaves on disk. A file that cannot be written keeps no other one from being written,
and what was there under its name stays as it was."""

import json
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from loadtest import report
from loadtest.histograms import Histograms
from loadtest.options import Options

ERRORS: Final = "backslashreplace"
"""The command that repeats a run may hold a byte that is no text: it keeps nothing from being
written."""


def save(
    options: Options, result: dict[str, Any], histograms: Histograms
) -> list[tuple[Path, OSError]]:
    """Write all files that were asked for; those that could not be written, and why."""
    began_s = datetime.fromisoformat(result["run"]["began"]).timestamp()
    lasted_s = options.warmup_s + options.seconds
    wanted: list[tuple[Path | None, Callable[[], str]]] = [
        (options.out, lambda: json.dumps(result, indent=1) + "\n"),
        (options.html, lambda: report.page(result)),
        (options.hdr, lambda: histograms.log(began_s, began_s + lasted_s)),
    ]
    failed = []
    for path, content in wanted:
        if path is not None:
            try:
                _write(path, content())
            except OSError as error:
                failed.append((path, error))
    return failed


def _write(path: Path, text: str) -> None:
    """Whole or not at all, where it is a file in a directory of ours; a pipe or a device is
    written to as it is."""
    target = path.resolve()  # a link goes on leading there
    plain = target.is_file() or not target.exists()
    if not (plain and os.access(target.parent, os.W_OK)):
        path.write_text(text, encoding="utf-8", errors=ERRORS)
        return
    unfinished = target.with_name(target.name + ".part")
    try:
        unfinished.write_text(text, encoding="utf-8", errors=ERRORS)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
