"""What runs in production is locked whole, by hashes, and looked through for what is known."""

import re
import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.pit import ROOT

DEPLOY = ROOT / "deploy"
LOCK = DEPLOY / "requirements.txt"


def entries() -> list[str]:
    """One for each package, its hashes with it."""
    lines = [line for line in LOCK.read_text().splitlines() if not line.startswith("#")]
    return "\n".join(lines).replace("\\\n", " ").split("\n")


def locked() -> dict[str, str]:
    """Versions by package."""
    found = {}
    for entry in entries():
        requirement = Requirement(entry.partition(" --hash")[0].strip())
        [pinned] = requirement.specifier
        assert pinned.operator == "==", entry
        found[canonicalize_name(requirement.name)] = pinned.version
    return found


def test_every_package_is_locked_at_one_version_by_its_hashes() -> None:
    for entry in entries():
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry
    assert len(locked()) == len(entries())


def test_the_lock_is_what_the_project_asks_for() -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    found = locked()
    for requirement in map(Requirement, asked):
        pinned = found[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(pinned), f"{requirement}: {pinned}; run `make lock`"


def test_nothing_that_a_locked_package_needs_is_missing() -> None:
    """As far as those very versions are installed here."""
    found, looked_at = locked(), 0
    for name, pinned in found.items():
        try:
            if version(name) != pinned:
                continue
        except PackageNotFoundError:
            continue
        looked_at += 1
        for needed in map(Requirement, requires(name) or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in found, f"{name} needs {needed.name}"
    assert looked_at


def test_the_image_installs_nothing_but_what_is_locked() -> None:
    """Into what it runs from; the compiler's environment is not part of it."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", "")
    installs = re.findall(r"/opt/pit/bin/pip install ([^&\n]*)", text)
    assert len(installs) == 2
    assert all("--require-hashes -r " in one or "--no-deps " in one for one in installs), installs


@pytest.mark.parametrize(
    ("says", "code", "ends", "audited"),
    [
        ("No known vulnerabilities found", 0, 0, True),
        ("No known vulnerabilities found, 1 skipped\nName Skip Reason\nx not found", 0, 0, True),
        ("Found 1 known vulnerability in 1 package", 1, 1, True),
        ("Found 1 known vulnerability in 1 package\nrich could not be audited: rich", 1, 1, True),
        ("redis: Dependency not found and could not be audited: redis (1)", 0, 0, False),
        ("ConnectionError: Max retries exceeded with url: /redis", 1, 0, False),
        ("Traceback (most recent call last):\n  ...\nServiceError: 403 Forbidden", 1, 0, False),
    ],
)
def test_the_audit_fails_where_something_is_known_and_only_there(
    tmp_path: Path, says: str, code: int, ends: int, audited: bool
) -> None:
    program = tmp_path / "pip-audit"
    program.write_text(f'#!/bin/sh\n[ -f "$6" ] || exit 9\ncat <<END\n{says}\nEND\nexit {code}\n')
    program.chmod(0o700)
    done = subprocess.run(
        ["sh", DEPLOY / "audit.sh", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == ends, done
    assert ("NOT audited" in done.stdout) == (not audited)
    assert says.splitlines()[-1] in done.stdout
