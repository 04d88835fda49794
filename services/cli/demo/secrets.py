"""The demo's keys: made once a data directory, readable by its owner only."""

import json
import os
import secrets
from pathlib import Path

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
    path = data / FILE
    if not path.exists():
        keys = {
            "PIT_TOKEN_KEYS": f"demo:{secrets.token_hex(32)}",
            "PIT_ARCHIVE_KEY": secrets.token_hex(32),
        }
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(keys, file)
    found: dict[str, str] = json.loads(path.read_text())
    return found
