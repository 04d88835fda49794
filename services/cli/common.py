"""What several commands need: settings, store and archive, opened or explained."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from services.cli.failures import Exit, Failure

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from services.archive.directory import DirectoryArchive
    from services.log.port import ReaderLog
    from services.settings import Settings

NAMES_AT_ONCE = 1_000
"""Asked for in one round trip."""
NO_STORE = Failure(
    Exit.USAGE,
    "no store is named",
    "PIT_REDIS_URL is not set",
    "set it, for example PIT_REDIS_URL=redis://127.0.0.1:6379/0; `pit demo` needs none",
)


def load_settings() -> "Settings":
    from services.settings import SettingsProblem, load

    try:
        return load()
    except SettingsProblem as problem:
        raise settings_failure(str(problem)) from None


def settings_failure(problem: str) -> Failure:
    return Failure(
        Exit.USAGE, "the environment is not right", problem.replace("\n", "\n          ")
    )


def check_rules(rules: str, seats: int) -> None:
    """Whether so many can play by this preset. Raises `Failure`."""
    from engine.rules import PRESETS

    preset = PRESETS.get(rules)
    if preset is None:
        raise Failure(
            Exit.USAGE, f"there is no rule set {rules!r}", "", f"one of: {', '.join(PRESETS)}"
        )
    if not preset.seats_min <= seats <= preset.seats_max:
        raise Failure(
            Exit.USAGE,
            f"{seats} seats are not possible with {rules}",
            f"it is played by {preset.seats_min} to {preset.seats_max}",
            f"give --seats {preset.seats_min} to {preset.seats_max}, or other --rules",
        )


@contextmanager
def explained_store() -> Iterator[None]:
    """Turn what the log raises into failures that say what to do."""
    from services.log.port import (
        Damaged,
        LogError,
        NotAllowed,
        StoreChanged,
        StoreFull,
        Unavailable,
    )
    from services.log.store import NotEmpty, Unfit

    try:
        yield
    except Damaged as error:
        raise Failure(
            Exit.CHECK_FAILED,
            "what the store holds is damaged",
            f"a checksum does not hold: {error}",
            "keep it as it is, examine the machine, and see PitTableStopped in deploy/RUNBOOK.md",
        ) from None
    except StoreChanged as error:
        raise Failure(
            Exit.UNREACHABLE,
            "this is not a store of the exchange, or no longer the one it was",
            str(error) or "`pit:meta` is missing or changed",
            "for a new store run `pit store init`; if games were there, restore a backup instead",
        ) from None
    except Unfit as error:
        raise Failure(
            Exit.UNREACHABLE, "this server cannot hold the log", str(error), "see `pit doctor`"
        ) from None
    except NotEmpty as error:
        raise not_empty(
            str(error),
            "it has no `pit:meta`, but a new store would begin upon what an old one has left",
            "if games were there, restore a backup into an empty server",
        ) from None
    except StoreFull as error:
        raise Failure(
            Exit.UNREACHABLE,
            "the store is full: its memory, or its disk",
            str(error),
            "make room on its disk, or raise maxmemory; nothing that was acknowledged is lost",
        ) from None
    except NotAllowed as error:
        raise Failure(
            Exit.UNREACHABLE,
            "the store's access rules forbid this",
            str(error),
            "name the user for this work in PIT_REDIS_URL; see *Rights* in services/log/README.md",
        ) from None
    except Unavailable as error:
        raise Failure(
            Exit.UNREACHABLE,
            "the store cannot be reached",
            str(error),
            "see that the server runs and that PIT_REDIS_URL names it",
        ) from None
    except LogError as error:
        raise Failure(
            Exit.UNREACHABLE,
            "the store would not do it",
            str(error) or type(error).__name__,
            "see `pit doctor`, and the server's log",
        ) from None


def not_empty(key: str, why: str, instead: str) -> Failure:
    """Of a store that was to be a new one, and has this key."""
    return Failure(
        Exit.IN_USE,
        "the store is not empty",
        f"it has {key}; {why}",
        f"{instead}; name a new server in PIT_REDIS_URL; or end every process of the exchange and "
        "empty this one, for ever: redis-cli -u $PIT_REDIS_URL FLUSHDB",
    )


@contextmanager
def opened_log(url: str) -> Iterator["ReaderLog | None"]:
    """A reader of the live log, `None` where no store is named."""
    if not url:
        yield None
        return
    from services.log.redis import RedisReaderLog

    with explained_store():
        log = RedisReaderLog(url)
        try:
            yield log
        finally:
            log.close()


def opened_archive(settings: "Settings") -> "DirectoryArchive":
    """The records on disk. Raises `Failure` where there is no such directory and no store either:
    nothing found there would look like nothing to find."""
    from services.archive.directory import DirectoryArchive

    root = settings.archive_directory
    if not settings.redis_url and not root.is_dir():
        raise Failure(
            Exit.NOT_FOUND,
            f"there is no archive at {root.absolute()}",
            "PIT_ARCHIVE, or PIT_DATA, names its directory; PIT_REDIS_URL names no store either",
            "run it where the archiver runs, or set PIT_ARCHIVE to its directory",
        )
    return DirectoryArchive(root)


def public_key(settings: "Settings", path: Path | None) -> "Ed25519PublicKey | None":
    """The key that seals are checked with: a pinned one, else the one beside the archive."""
    from services.archive import keys

    if path is None:
        return keys.public_key(settings.archive_directory)
    key = keys.parse_public_key(path)
    if key is None:
        raise Failure(
            Exit.USAGE,
            f"{path} holds no public key",
            "64 hex digits are expected",
            "name a copy of the archive's public-key.hex",
        )
    return key


def names_of(url: str, persons: set[str]) -> dict[str, str]:
    """Names by person, as far as the store still knows them."""
    if not url or not persons:
        return {}
    from services.log import keys
    from services.log.connection import SyncConnection

    with explained_store():
        server = SyncConnection(url)
        try:
            known: dict[str, str] = {}
            order = sorted(persons)
            for first in range(0, len(order), NAMES_AT_ONCE):
                page = order[first : first + NAMES_AT_ONCE]
                found = server.ask_all([("GET", keys.person_name(person)) for person in page])
                known |= {
                    person: name.decode()
                    for person, name in zip(page, found, strict=True)
                    if name is not None
                }
            return known
        finally:
            server.close()
