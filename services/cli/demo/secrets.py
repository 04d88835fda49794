"""The demo's keys: made once a data directory, readable by its owner only."""

import json
import os
import secrets
from pathlib import Path

from services.cli.failures import Exit, Failure
from services.settings import Settings

FILE = "secrets.json"


def environment(data: Path, settings: Settings) -> dict[str, str]:
    """`PIT_*` variables with the keys: those that are set, others made on first use."""
    given = {
        "PIT_TOKEN_KEYS": settings.token_keys.get_secret_value(),
        "PIT_ARCHIVE_KEY": settings.archive_key.get_secret_value(),
    }
    return _made(data) | {name: key for name, key in given.items() if key}


def _made(data: Path) -> dict[str, str]:
    """Those of the directory. Raises `Failure` where its file cannot be read."""
    path = data / FILE
    if not path.exists():
        _make(path)
    try:
        found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failure(
            Exit.USAGE,
            f"{path} cannot be read",
            str(error),
            "bring it back from a copy, or give another --data",
        ) from None
    return found


def _make(path: Path) -> None:
    """Whole or not at all: what is there is never made anew."""
    keys = {
        "PIT_TOKEN_KEYS": f"demo:{secrets.token_hex(32)}",
        "PIT_ARCHIVE_KEY": secrets.token_hex(32),
    }
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(keys, file)
    unfinished.replace(path)
