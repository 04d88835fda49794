"""Whatever number is typed, the command line refuses it with words, or it is one that works."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer.core
from typer.main import get_command

from services.cli.failures import Exit
from services.cli.main import app

PIT = get_command(app)
HUGE = (
    "99999999999999999999",
    "9" * 5_000,
    "-" + "9" * 20,
    "1e400",
    "-1e400",
    "nan",
    "inf",
    "-inf",
)
ODD = ("", " ", "ü", "0x10", "1,5", "1e1e1", "\x00", "two", "--")


def commands(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(group, "commands", None)
    if inner is None:
        yield path, group
        return
    for name, command in inner.items():
        yield from commands(command, *path, name)


def kind(parameter: Any) -> object:
    return parameter.type_descriptor.annotation


def numbers() -> list[tuple[tuple[str, ...], str]]:
    """Every option and argument that is a number, with the command it belongs to."""
    return [
        (path, parameter.name or "")
        for path, command in commands(PIT)
        for parameter in command.params
        if kind(parameter) in (int, float)
    ]


def typed(path: tuple[str, ...], wanted: str, text: str) -> list[str]:
    """A whole command in which this parameter is that text, and every other one is right."""
    command = dict(commands(PIT))[path]
    options: list[str] = []
    arguments: list[str] = []
    for parameter in command.params:
        value = text if parameter.name == wanted else right(parameter)
        if parameter.param_type_name == "argument":
            arguments += [value] if parameter.required or parameter.name == wanted else []
        elif parameter.required or parameter.name == wanted:
            options.append(f"{parameter.opts[0]}={value}")
    return [*path, *options, "--", *arguments]


def right(parameter: Any) -> str:
    return "1" if kind(parameter) is int else "x"


@pytest.fixture(autouse=True)
def not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer.core.TyperCommand, "invoke", lambda *_: None)


def test_there_are_numbers_to_type() -> None:
    names = {name for _, name in numbers()}
    assert {"shard", "seat", "points", "round_", "duration", "speed", "with_parent"} <= names
    assert len(numbers()) > 25


@pytest.mark.parametrize(("path", "name"), numbers(), ids=str)
def test_a_number_out_of_every_range_is_refused(
    path: tuple[str, ...], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in (*HUGE, *ODD):
        code, said = parsed(capsys, typed(path, name, text))
        assert (code, "Invalid value" in said) == (Exit.USAGE, True), (text, said)
    some = [parsed(capsys, typed(path, name, text)) for text in ("1", "4")]
    assert Exit.GOOD in {code for code, _ in some}, some


def parsed(capsys: pytest.CaptureFixture[str], words: list[str]) -> tuple[object, str]:
    with pytest.raises(SystemExit) as ended:
        PIT.main(words, prog_name="pit")
    return ended.value.code, capsys.readouterr().err
