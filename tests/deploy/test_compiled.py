"""The compiled package: built as `make compiled` builds it, then played with."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.pit import ROOT, pit
from support.require import need

PARTS = ("engine", "loadtest", "proto", "services")
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")


def built(directory: Path) -> Path:
    """The package, compiled quickly rather than well, as a directory to import from."""
    source, packages = directory / "source", directory / "packages"
    for part in PARTS:
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, source)
    subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--no-deps", "--no-build-isolation", "--target", str(packages), str(source),
        ],
        env=os.environ | {"COMPILE_HOT": "1", "COMPILE_LEVEL": "0"},
        check=True,
    )  # fmt: skip
    return packages


@pytest.mark.all
@pytest.mark.timeout(600)
def test_a_compiled_exchange_plays_as_it_must(tmp_path: Path) -> None:
    need("gcc")
    out = tmp_path / "run.json"
    played = pit(
        "load", "--local", "--tables", "10", "--rate", "60", "--duration", "5", "--warmup", "3",
        "--no-ceiling", "--out", str(out), settings={"PYTHONPATH": str(built(tmp_path))},
        timeout_s=120, directory=tmp_path,
    )  # fmt: skip
    assert played.code in (0, 4), played.out + played.err  # 4: too slow a machine, no fault here
    result = json.loads(out.read_text())
    assert result["run"]["versions"]["code"] == "compiled"
    assert result["latency_ms"]["trade"]["count"] > 0
    assert all(result["checks"].values()), result["run"]["failures"]
    assert result["errors"] == 0, result["run"]["errors"]
