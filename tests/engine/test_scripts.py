"""Every table script in `scripts/` happens as it says. See `support.scripts` for the notation."""

import difflib
from pathlib import Path

import pytest

from support.scripts import play, read

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path: Path) -> None:
    told = path.read_text().splitlines(keepends=True)
    happened = play(read(path)).text().splitlines(keepends=True)
    difference = "".join(difflib.unified_diff(told, happened, "as told", "as it happened"))
    if difference:
        pytest.fail(f"{path.name}\n{difference}", pytrace=False)


def test_there_are_scripts_for_the_main_rulings() -> None:
    assert len(SCRIPTS) >= 12
