"""Where two values differ, in a few lines: for values too large to be read side by side."""

from dataclasses import fields, is_dataclass
from typing import Any

LINES_MAX = 20


def difference(expected: Any, found: Any) -> str:
    """The places that differ, each with both contents."""
    lines = list(_places("", expected, found))
    more = [f"... and {len(lines) - LINES_MAX} more"] if len(lines) > LINES_MAX else []
    return "\n".join(lines[:LINES_MAX] + more)


def _places(path: str, expected: Any, found: Any) -> list[str]:
    if expected == found and type(expected) is type(found):
        return []
    if type(expected) is type(found):
        if is_dataclass(expected):
            return _of_fields(path, expected, found)
        if isinstance(expected, dict) and expected.keys() == found.keys():
            return [
                line
                for key in expected
                for line in _places(f"{path}.{key}", expected[key], found[key])
            ]
        if isinstance(expected, list | tuple) and len(expected) == len(found):
            return [
                line
                for index, (one, other) in enumerate(zip(expected, found, strict=True))
                for line in _places(f"{path}[{index}]", one, other)
            ]
    return [f"{path or '.'}: expected {expected!r}", f"{' ' * len(path)}     found {found!r}"]


def _of_fields(path: str, expected: Any, found: Any) -> list[str]:
    return [
        line
        for each in fields(expected)
        for line in _places(
            f"{path}.{each.name}", getattr(expected, each.name), getattr(found, each.name)
        )
    ]
