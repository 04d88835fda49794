"""The compiled package: built as `make compiled` builds it, then tested and played with."""

import ast
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine
import loadtest
import services
from support.pit import ROOT, pit
from support.require import need

PARTS = ("engine", "loadtest", "proto", "services")
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
WHOLE = ("tests/gateway/test_processes.py", "tests/client/test_watch_and_act.py")
"""Tests of whole processes, which must hold for compiled ones as well."""


def hot_modules() -> set[str]:
    """By their dotted names."""
    for node in ast.parse((ROOT / "setup.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "HOT":
            patterns = ast.literal_eval(node.value)
            paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
            return {
                ".".join(path.relative_to(ROOT).with_suffix("").parts)
                for path in paths
                if path.name != "__init__.py"
            }
    raise AssertionError("setup.py names no modules")


def classes() -> Iterator[type]:
    for package in (engine, loadtest, services):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if ".bench" not in module.name and not module.name.endswith("__main__"):
                for found in vars(importlib.import_module(module.name)).values():
                    if isinstance(found, type) and found.__module__ == module.name:
                        yield found


def test_no_class_left_as_source_inherits_from_a_compiled_one() -> None:
    hot = hot_modules()
    assert "services.gateway.hub" in hot
    wrong = [
        f"{each.__module__}.{each.__name__} is a {base.__module__}.{base.__name__}"
        for each in classes()
        if each.__module__ not in hot
        for base in each.__mro__[1:]
        if base.__module__ in hot
    ]
    assert not wrong, "add their modules to HOT in setup.py"


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
    packages = built(tmp_path)
    shutil.copytree(ROOT / "tests", packages / "tests")
    shutil.copy(ROOT / "pyproject.toml", packages)
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "not all and not soak", *WHOLE],
        cwd=packages,
        env=os.environ | {"PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
    out = tmp_path / "run.json"
    played = pit(
        "load", "--local", "--tables", "10", "--rate", "60", "--duration", "5", "--warmup", "3",
        "--no-ceiling", "--out", str(out), settings={"PYTHONPATH": str(packages)},
        timeout_s=120, directory=tmp_path,
    )  # fmt: skip
    assert played.code in (0, 4), played.out + played.err  # 4: too slow a machine, no fault here
    result = json.loads(out.read_text())
    assert result["run"]["versions"]["code"] == "compiled"
    assert result["latency_ms"]["trade"]["count"] > 0
    assert all(result["checks"].values()), result["run"]["failures"]
    assert result["errors"] == 0, result["run"]["errors"]
