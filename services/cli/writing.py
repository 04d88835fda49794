"""Files that commands write: looked at before the work is done, explained where it was in vain."""

import errno
import os
from pathlib import Path
from typing import Final

from services.cli.failures import Exit, Failure

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says of a disk that is full, of a share of it that is used up, of a file that may
grow no further."""


def check_writable(path: Path, *, plain: bool = False) -> None:
    """Before the work, not after it. Raises `Failure`. `plain`: what is there is put aside for the
    new file, so it must not be a device."""
    folder = path.absolute().parent
    if path.is_dir():
        why, remedy = "it is a directory", "name a file in it"
    elif plain and path.exists() and not path.is_file():
        why, remedy = "it is no plain file", "name another file"
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
