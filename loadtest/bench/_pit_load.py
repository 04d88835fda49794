"""The load that whole exchanges are compared under, and `pit load --local` run with it."""

import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from loadtest.run import GOOD, LATE

SEATS: Final = 4
COUNTED: Final = ("gateway", "matcher", "store")
"""Roles that play; the archiver keeps what was played."""


@dataclass(frozen=True, slots=True)
class Load:
    """Tables of four seats, actions a second over all of them, and for how long."""

    tables: int = 2_000
    rate: int = 4_000
    warmup_s: int = 15
    seconds: int = 30
    pit: str = ""
    """The program that plays; empty: this source tree."""


def asked(doc: str | None, arguments: Sequence[str]) -> Load:
    """A load from the command line; without options the one that goals are set for."""
    main = Load()
    parser = ArgumentParser(description=doc)
    parser.add_argument("--tables", type=int, default=main.tables)
    parser.add_argument("--rate", type=int, default=main.rate, help="actions a second")
    parser.add_argument("--warmup", type=int, default=main.warmup_s, help="seconds")
    parser.add_argument("--duration", type=int, default=main.seconds, help="seconds")
    parser.add_argument("--pit", default="", help="another pit, .venv-compiled/bin/pit say")
    found = parser.parse_args(arguments)
    return Load(found.tables, found.rate, found.warmup, found.duration, found.pit)


def pit_load(load: Load) -> dict[str, Any]:
    """The result of one run; a late generator is told in it. Raises `RuntimeError`."""
    program = [load.pit] if load.pit else [sys.executable, "-m", "services.cli.main"]
    # Another program brings its own packages: this tree must not stand before them.
    hidden = {"PYTHONPATH"} if load.pit else set()
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "run.json"
        done = subprocess.run(  # noqa: S603 (our own words)
            [
                *program, "load", "--local", "--rules", "blitz",
                "--no-ceiling", "--tables", str(load.tables), "--seats", str(SEATS),
                "--rate", str(load.rate), "--warmup", str(load.warmup_s),
                "--duration", str(load.seconds), "--out", str(out),
            ],
            env={name: text for name, text in os.environ.items() if name not in hidden},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode not in (GOOD, LATE):
            raise RuntimeError(
                f"pit load ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        result: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return result


def server_us(result: dict[str, Any]) -> float:
    """Processor microseconds an action of the roles that play."""
    spent = result["run"]["server_cpu_us_per_action"]
    return float(sum(spent[role] for role in COUNTED))


def lateness(late_share: float, lag_p99_ms: float, *, valid: bool) -> str:
    """How the generator did, in words."""
    return (
        f"{late_share:.1%} of sends late, loop lag p99 {lag_p99_ms:.1f} ms: "
        f"{'valid' if valid else 'NOT VALID, the generator measured itself'}"
    )
