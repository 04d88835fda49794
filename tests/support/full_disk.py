"""Disks that are full: for this process, or a small one for all."""

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.require import missing


@contextmanager
def no_room(after_bytes: int = 0) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes: writing raises `OSError`."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (after_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(directory: Path, megabytes: int) -> Iterator[Path]:
    """A disk of its own, mounted there; skips where that may not be done."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(directory)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        missing("mount")
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)
