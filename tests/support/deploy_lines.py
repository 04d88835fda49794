"""Lines of `deploy/README.md` that start an exchange; `tests/deploy` runs or checks each of them."""

import re
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[2] / "deploy" / "README.md"


def _block(heading: str) -> list[str]:
    part = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    [block] = re.findall(r"```console\n(.*?)```", part, re.DOTALL)
    return [line.removeprefix("$ ") for line in block.splitlines()]


def in_containers() -> list[str]:
    return _block("In containers")


def without_containers() -> list[str]:
    return _block("Without containers")
