"""The sign-in that outlives the program: quitting and `pit play` again is the same person.

One small file for each exchange and name in the person's state directory
(`$XDG_STATE_HOME/pit`, else `~/.local/state/pit`), which nobody else may read: whoever has it is
that person. While a program uses it, it is locked; a second program signs in anew.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from services.client.exchange import SignIn

OWNER_ONLY = 0o600


class Keeper:
    """Keeps one person's sign-in at one exchange."""

    def __init__(self, path: Path | None, why_not: str = "") -> None:
        self._path = path
        self.why_not = why_not
        """Why nothing is kept; empty where it is."""

    def load(self) -> SignIn | None:
        """What was kept. A file that cannot be understood counts as none."""
        if self._path is None:
            return None
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            return SignIn(str(kept["person"]), str(kept["refresh_token"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, sign_in: SignIn) -> None:
        """Keep this one from now on; the file is the old one or the new one, never half of it."""
        if self._path is None:
            return
        text = json.dumps({"person": sign_in.person, "refresh_token": sign_in.refresh_token})
        fresh = self._path.with_suffix(".new")
        try:
            fresh.unlink(missing_ok=True)
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            fresh.replace(self._path)
        except OSError as error:
            self.why_not = f"the sign-in could not be written: {error}"


@contextlib.contextmanager
def keeper(target: str, name: str) -> Iterator[Keeper]:
    """The keeper of this name at this exchange; one that keeps nothing where that cannot be."""
    try:
        directory = state_directory()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        whose = sha256(f"{target} {name}".encode()).hexdigest()[:16]
        path = directory / f"{whose}.json"
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, OWNER_ONLY)
    except OSError as error:
        yield Keeper(None, f"the sign-in is not kept: {error}")
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        yield Keeper(None, f"{name} plays in another terminal, so you are somebody new here")
        return
    try:
        yield Keeper(path)
    finally:
        os.close(lock)  # which unlocks it


def state_directory() -> Path:
    """Where programs keep what they will want again."""
    named = os.environ.get("XDG_STATE_HOME", "")
    return (Path(named) if named else Path.home() / ".local" / "state") / "pit"
