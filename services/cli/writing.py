"""Files that commands write: looked at before the work is done, explained where it was in vain."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from services.cli.failures import Exit, Failure

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says of a disk that is full, of a share of it that is used up, of a file that may
grow no further."""


def check_new(path: Path, why: str) -> None:
    """For what is never to overwrite anything. Raises `Failure`."""
    if os.path.lexists(path):
        raise Failure(Exit.USAGE, f"{path} exists", why, "give another name")
    check_writable(path)


@contextmanager
def new_file(path: Path, why: str) -> Iterator[Path]:
    """A file beside `path`, for its owner alone, to be written: it gets that name when it is whole
    and on disk, and goes away where it is not. Raises `Failure`."""
    check_new(path, why)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
        unfinished = Path(name)
        try:
            yield unfinished
            os.fsync(descriptor)
            unfinished.rename(path)
        finally:
            os.close(descriptor)
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise not_written(path, error) from None


def check_writable(path: Path) -> None:
    """Before the work, not after it. Raises `Failure`."""
    folder = path.absolute().parent
    if path.is_dir():
        why, remedy = "it is a directory", "name a file in it"
    elif not folder.is_dir():
        why, remedy = "its directory is not there", "make it first, or name another file"
    elif not os.access(path if path.exists() else folder, os.W_OK):
        why, remedy = "you may not write there", "name another file"
    else:
        return
    raise Failure(Exit.USAGE, f"{path} cannot be written", why, remedy)


def not_written(file: Path | str, error: OSError) -> Failure:
    """Of a file, or the output, that could not be written to its end."""
    return Failure(
        Exit.NOT_WRITTEN,
        f"{file} could not be written",
        error.strerror or str(error),
        "make room there, or name a file on another disk"
        if error.errno in NO_ROOM
        else "name a file in a directory that is there and may be written to",
    )
