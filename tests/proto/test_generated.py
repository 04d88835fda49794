"""The committed code is what the schema gives, and the schema keeps its own rules."""

import subprocess
import sys
from pathlib import Path

from support.require import need

PROTO = Path(__file__).parents[2] / "proto"
OUTPUTS = ("--python_out", "--mypy_out", "--grpc_python_out", "--mypy_grpc_out")
GENERATED = sorted(path.name for path in (PROTO / "pit/v1").glob("*_pb2*"))


def test_the_committed_code_is_what_the_schema_gives(tmp_path: Path) -> None:
    sources = sorted(f"pit/v1/{path.name}" for path in (PROTO / "pit/v1").glob("*.proto"))
    subprocess.run(
        [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            "-I.",
            *(f"{output}={tmp_path}" for output in OUTPUTS),
            *sources,
        ],
        cwd=PROTO,
        env={"PATH": str(Path(sys.executable).parent)},
        check=True,
        capture_output=True,
    )
    made = {path.name: path.read_text() for path in (tmp_path / "pit/v1").iterdir()}
    committed = {name: (PROTO / "pit/v1" / name).read_text() for name in GENERATED}
    assert sorted(made) == sorted(committed)
    different = [name for name in made if made[name] != committed[name]]
    assert not different, f"run `make proto`: {different}"


def test_the_schema_is_clean() -> None:
    done = subprocess.run(
        [need("buf"), "lint"], cwd=PROTO, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
