"""What a test needs beyond Python: there, or skipped, or (where it is required) failed.

`PIT_REQUIRE=redis,faketime` says which tools must be there; CI names all of them.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

INSTALL = {
    "redis": "apt-get install redis-server",
    "faketime": "apt-get install faketime",
    "prometheus": "apt-get install prometheus",
    "chromium": "apt-get install chromium",
    "node": "apt-get install nodejs npm",
    "strace": "apt-get install strace",
    "tmux": "apt-get install tmux",
    "nghttp2": "apt-get install nghttp2-client",
    "curl": "apt-get install curl",
    "gcc": "apt-get install gcc libc6-dev python3-dev",
    "buf": "pip install buf-bin",
    "systemd": "apt-get install systemd",
    "mount": "run as root, where disks may be mounted (in a container: --cap-add SYS_ADMIN)",
}

NOT_EVERYWHERE = {"chromium", "systemd", "mount"}
"""What a system may not have, or a container not be allowed: CI does without where it must."""

PROGRAM = {
    "redis": "redis-server",
    "prometheus": "promtool",
    "nghttp2": "h2load",
    "systemd": "systemd-analyze",
}
"""The program of a tool where it has another name."""


def need(tool: str) -> Path:
    """The program of a tool; skips the test, or fails it, where there is none."""
    beside_python = str(Path(sys.executable).parent)
    places = os.pathsep.join((beside_python, os.environ.get("PATH", os.defpath)))
    found = shutil.which(PROGRAM.get(tool, tool), path=places)
    if found is None:
        missing(tool)
    return Path(found)


def missing(tool: str) -> NoReturn:
    """Skips the test, or fails it: this cannot be done here."""
    message = f"{tool} is missing: {INSTALL[tool]}"
    if tool in os.environ.get("PIT_REQUIRE", "").split(","):
        pytest.fail(message)
    pytest.skip(message)
