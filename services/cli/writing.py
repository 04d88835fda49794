"""Files that commands write: looked at before the work is done, explained where it was in vain."""

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from services.cli.failures import Exit, Failure

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says of a disk that is full, of a share of it that is used up, of a file that may
grow no further."""
NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
"""What the system says where a file cannot have a second name."""


def check_new(path: Path, why: str) -> None:
    """For what is never to overwrite anything. Raises `Failure`."""
    if os.path.lexists(path):
        raise _exists(path, why)
    check_writable(path)


@contextmanager
def new_file(path: Path, why: str) -> Iterator[Path]:
    """A file beside `path`, for its owner alone, to be written: it gets that name when it is whole
    and on disk, and goes away where it is not, or where that name was taken meanwhile. Raises
    `Failure`."""
    check_new(path, why)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
        unfinished = Path(name)
        try:
            yield unfinished
            os.fsync(descriptor)
            _name(unfinished, path, why)
        finally:
            os.close(descriptor)
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise not_written(path, error) from None


def _name(unfinished: Path, path: Path, why: str) -> None:
    """A link is made where nothing is, or not at all: a rename would go over what came meanwhile.
    Raises `Failure`, `OSError`."""
    try:
        path.hardlink_to(unfinished)
    except FileExistsError:
        raise _exists(path, why) from None
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if os.path.lexists(path):
            raise _exists(path, why) from None
        unfinished.rename(path)
    directory = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _exists(path: Path, why: str) -> Failure:
    return Failure(Exit.USAGE, f"{path} exists", why, "give another name")


def check_writable(path: Path) -> None:
    """Before the work, not after it. Raises `Failure`."""
    try:
        problem = _problem(path)
    except OSError as error:  # a name that is too long, a directory that may not be looked into
        problem = error.strerror or str(error), "name another file"
    if problem is not None:
        raise Failure(Exit.USAGE, f"{path} cannot be written", *problem)


def _problem(path: Path) -> tuple[str, str] | None:
    """Why a file cannot be written, and what to do. Raises `OSError` where it cannot be seen."""
    folder = path.absolute().parent
    if path.is_dir():
        return "it is a directory", "name a file in it"
    if not folder.is_dir():
        return "its directory is not there", "make it first, or name another file"
    if not os.access(path if path.exists() else folder, os.W_OK):
        return "you may not write there", "name another file"
    return None


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


def forget_output() -> None:
    """What is still in the buffer of standard output, which nobody takes: Python would try again
    at its end, and complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
