"""A backup's file: a tar of parts, then a manifest that names each part with its SHA-256.

    meta.keys                    `pit:meta`
    shards/07.keys               every key of a shard but its lease and its streams ...
    shards/07.in, 07.out         ... and these, entry by entry: all as they were at one moment
    others/000001.keys ...       every other key but `pit:matchers`
    archive/07/<game>.pit        records of games, up to where the shard's part ends
    archive/public-key.hex
    manifest.json                what it is a backup of, and the sum of each part
    manifest.sha256              the sum of the manifest

A `.keys` part is a sequence of msgpack arrays (key, expiry in ms since 1970 or -1, DUMP of its
value); how entries lie in theirs stands in `streams.py`. A file that breaks off has no manifest, so
it is never taken for a whole one.
"""

import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from services.log import keys

FORMAT: Final = 2
"""1 had the streams among the keys."""
MANIFEST: Final = "manifest.json"
MANIFEST_SUM: Final = "manifest.sha256"
META_PART: Final = "meta.keys"
SHARDS: Final = "shards/"
OTHERS: Final = "others/"
ARCHIVE: Final = "archive/"
MODE: Final = 0o600
READ_BYTES: Final = 1 << 20


class BackupDamaged(Exception):
    """The file is not what was written; says where."""


class Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    bytes: int
    sha256: str


class Manifest(BaseModel):
    """What a backup says of itself."""

    model_config = ConfigDict(strict=True)

    format: int
    made_at: str
    """UTC, ISO 8601."""
    server: str
    store_id: str
    shards: int
    record_version: int
    newest: dict[str, str]
    """By shard, the newest entry of `out`."""
    keys: int
    games: int
    parts: dict[str, Part]


def shard_part(shard: int) -> str:
    return f"{SHARDS}{shard:02d}.keys"


def stream_part(key: str) -> str:
    """`shards/07.out` for `pit:{07}:out`."""
    return f"{SHARDS}{keys.shard_of(key.encode()):02d}.{key.rpartition(':')[2]}"


class BackupWriter:
    """Writes a backup into a file."""

    def __init__(self, path: Path) -> None:
        self.parts: dict[str, Part] = {}
        self._path = path
        self._file = path.open("wb")
        self._tar = tarfile.TarFile(fileobj=self._file, mode="w", format=tarfile.GNU_FORMAT)

    def add(self, name: str, content: bytes, modified_s: float = 0.0) -> None:
        """Append a part."""
        self.parts[name] = Part(bytes=len(content), sha256=sha256(content).hexdigest())
        self._put(name, BytesIO(content), len(content), modified_s)

    def add_file(self, name: str, file: BinaryIO) -> None:
        """Append what a file holds as a part."""
        total = sha256()
        file.seek(0)
        while piece := file.read(READ_BYTES):
            total.update(piece)
        length = file.tell()
        self.parts[name] = Part(bytes=length, sha256=total.hexdigest())
        file.seek(0)
        self._put(name, file, length, 0.0)

    def scratch(self) -> BinaryIO:
        """A file without a name beside the backup, for what is not known to be whole yet."""
        return tempfile.TemporaryFile(dir=self._path.parent)

    def finish(self, manifest: Manifest) -> int:
        """Append the manifest; the file's size in bytes."""
        text = manifest.model_dump_json(indent=1).encode()
        for name, content in (
            (MANIFEST, text),
            (MANIFEST_SUM, _sum_line(sha256(text).hexdigest())),
        ):
            self._put(name, BytesIO(content), len(content), 0.0)
        self._tar.close()
        size = self._file.tell()
        self._file.close()
        return size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._file.closed:
            # Nothing that is still in a buffer matters; a full disk must not hide the reason.
            with suppress(OSError):
                self._file.close()

    def _put(self, name: str, content: BinaryIO, length: int, modified_s: float) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode, entry.mtime = length, MODE, int(modified_s)
        self._tar.addfile(entry, content)


def check(path: Path) -> Manifest:
    """The manifest, after everything it names was read and compared. Raises `BackupDamaged`."""
    found: dict[str, Part] = {}
    texts: dict[str, bytes] = {}
    with _opened(path) as tar:
        for entry in _entries(tar):
            if entry.name in found or not entry.isreg():
                raise BackupDamaged(f"{entry.name} is there twice, or is no plain file")
            found[entry.name] = _summed(tar, entry, texts)
    manifest = _manifest(found, texts)
    if missing := manifest.parts.keys() - found.keys():
        raise BackupDamaged(f"{min(missing)} is missing")
    if unknown := found.keys() - manifest.parts.keys() - {MANIFEST, MANIFEST_SUM}:
        raise BackupDamaged(f"{min(unknown)} is not named in the manifest")
    for name, part in manifest.parts.items():
        if found[name] != part:
            raise BackupDamaged(f"{name} is not what was written: its SHA-256 differs")
    for name in (META_PART, *map(shard_part, range(manifest.shards))):
        if name not in manifest.parts:
            raise BackupDamaged(f"the manifest names no {name}")
    return manifest


def parts(path: Path, prefix: str) -> Iterator[tuple[str, bytes, float]]:
    """Name, content and time of the parts whose name begins with `prefix`, in order."""
    with _opened(path) as tar:
        for entry in _entries(tar):
            if entry.name.startswith(prefix):
                file = tar.extractfile(entry)
                assert file is not None, "checked to be a plain file"
                yield entry.name, file.read(), float(entry.mtime)


def _opened(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path, "r:")
    except tarfile.TarError:
        raise BackupDamaged("it is no backup: not even a tar file") from None


def _entries(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    try:
        yield from tar
    except tarfile.TarError as error:
        raise BackupDamaged(f"it breaks off, or a header in it is damaged ({error})") from None


def _summed(tar: tarfile.TarFile, entry: tarfile.TarInfo, texts: dict[str, bytes]) -> Part:
    file = tar.extractfile(entry)
    assert file is not None, "a plain file"
    total, length = sha256(), 0
    try:
        while piece := file.read(READ_BYTES):
            total.update(piece)
            length += len(piece)
            if entry.name in (MANIFEST, MANIFEST_SUM):
                texts[entry.name] = texts.get(entry.name, b"") + piece
    except tarfile.TarError:
        raise BackupDamaged(f"it breaks off within {entry.name}") from None
    return Part(bytes=length, sha256=total.hexdigest())


def _manifest(found: dict[str, Part], texts: dict[str, bytes]) -> Manifest:
    if MANIFEST_SUM not in texts or MANIFEST not in texts:
        raise BackupDamaged("it breaks off before its manifest, or a header in it is damaged")
    if texts[MANIFEST_SUM] != _sum_line(found[MANIFEST].sha256):
        raise BackupDamaged("the manifest is not what was written: its SHA-256 differs")
    try:
        return Manifest.model_validate_json(texts[MANIFEST])
    except ValidationError:
        raise BackupDamaged("the manifest does not say what a manifest says") from None


def _sum_line(hex_digest: str) -> bytes:
    """As `sha256sum -c` reads it."""
    return f"{hex_digest}  {MANIFEST}\n".encode()
