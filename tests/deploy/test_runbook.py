"""What the runbook and the README tell a person to type is what `pit` understands."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from services.cli.main import app

DEPLOY = Path(__file__).parents[2] / "deploy"
TEXTS = (DEPLOY / "RUNBOOK.md", DEPLOY / "README.md")
TYPED = re.compile(r"\bpit (?=[a-z])[^`\n|]*")


def commands() -> list[str]:
    """Every line after `$`, and every `pit ...` in running text."""
    found = set()
    for path in TEXTS:
        text = path.read_text()
        for line in re.findall(r"^\$ (.*)$", text, re.M) + re.findall(
            r"`([^`\n]*\bpit [^`\n]*)`", text
        ):
            found |= {each.strip() for each in TYPED.findall(line)}
    return sorted(found)


def parts(text: str) -> list[str]:
    """The words up to what belongs to the shell."""
    words = shlex.split(text)
    ends = [
        place
        for place, word in enumerate(words)
        if word in {"<", "|", "..."} or word.startswith(">")
    ]
    return words[1 : min(ends, default=len(words))]


def test_there_is_something_to_type() -> None:
    assert len(commands()) > 20


@pytest.mark.parametrize("text", commands())
def test_what_is_to_be_typed_is_understood(text: str) -> None:
    words, command = parts(text), get_command(app)
    while words and (inner := getattr(command, "commands", None)):
        assert words[0] in inner, text
        command = inner[words.pop(0)]
    options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= options, text
    if words:
        command.make_context("pit", list(words), resilient_parsing=True)


def test_a_word_too_many_is_found() -> None:
    with pytest.raises(AssertionError):
        test_what_is_to_be_typed_is_understood("pit operate forgive PERSON")
    with pytest.raises(AssertionError):
        test_what_is_to_be_typed_is_understood("pit operate freeze TABLE --because rain")
