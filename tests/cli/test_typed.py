"""Whatever a text tells a person to type is what `pit`, `make` and Python understand."""

import ast
import importlib.util
import re
import shlex
from pathlib import Path

import pytest
import typer.core
from typer.main import get_command

from services.cli.main import app
from support.pit import ROOT

TYPED = re.compile(r"\bpit (?=[a-z-])[^`\n|)]*")
FOLDERS = ("deploy", "engine", "loadtest", "proto", "services", "tests")
STARTED = re.compile(r"\bpit (?:serve|store) [a-z]+$", re.M)
STARTS = ("deploy/Procfile", "deploy/Dockerfile", "deploy/compose*.yaml", "deploy/systemd/*")


def pages() -> list[Path]:
    """Every text in Markdown that is ours: at the top, and below the folders of the architecture."""
    below = [page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md")]
    ours = [page for page in below if "node_modules" not in page.parts]
    assert len(ours) > len(FOLDERS)
    return [*ROOT.glob("*.md"), *ours]


def lines_to_type(text: str) -> list[str]:
    """What stands after `$` in a block, a line that goes on in the next one with it."""
    return re.findall(r"^\$ (.*)$", text.replace("\\\n", " "), re.M)


def whole() -> list[str]:
    """Commands that are to be typed, or are started, as they stand."""
    found = [line for page in pages() for line in lines_to_type(page.read_text())]
    for pattern in STARTS:
        for path in ROOT.glob(pattern):
            found += STARTED.findall(path.read_text())
    return sorted({each.strip() for line in found for each in TYPED.findall(line)})


def mentioned() -> list[str]:
    """Commands within sentences: of a page, of a message, of a comment. They may lack arguments."""
    found: list[str] = []
    for path in pages():
        found += re.findall(r"`([^`\n]*\bpit [^`\n]*)`", path.read_text())
    for package in ("engine", "services", "loadtest", "deploy"):
        for path in (ROOT / package).rglob("*.py"):
            found += told(path)
    return sorted({each.strip() for text in found for each in TYPED.findall(text)} - set(whole()))


def told(path: Path) -> list[str]:
    """By strings of a program, also those of several pieces."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            text = "".join(map(str, parts))
        else:
            continue
        found += re.findall(r"`([^`\n]*\bpit [^`\n]*)`", text) + re.findall(r"\$\(([^)]*)\)", text)
    return found


def parts(text: str) -> list[str]:
    """The words up to what belongs to the shell, or to the reader."""
    words = shlex.split(text.replace("...", " ... ").replace("{}", "X"))
    ends = [
        place
        for place, word in enumerate(words)
        if word in {"<", "|", "...", "&"} or word.startswith((">", "{"))
    ]
    return words[1 : min(ends, default=len(words))]


class Parsed:
    """Runs `pit` up to where the command itself would begin."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(typer.core.TyperCommand, "invoke", lambda *_: None)
        self._capsys = capsys

    def __call__(self, text: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            get_command(app).main(parts(text), prog_name="pit")
        return int(ended.value.code or 0), self._capsys.readouterr().err


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Parsed:
    return Parsed(monkeypatch, capsys)


def test_there_is_something_to_type() -> None:
    assert len(whole()) > 40
    assert len(mentioned()) > 50
    assert "pit serve archiver" in whole()


@pytest.mark.parametrize("text", whole())
def test_a_whole_command_is_understood(parsed: Parsed, text: str) -> None:
    code, said = parsed(text)
    assert code == 0, f"{text}: {said}"


@pytest.mark.parametrize("text", mentioned())
def test_a_command_that_is_mentioned_is_understood(parsed: Parsed, text: str) -> None:
    code, said = parsed(text)
    lacking = re.search("Missing (argument|option)|requires an argument", said)
    group = "Usage: pit" in said and "Error" not in said  # of commands: its help, and code 2
    assert code == 0 or lacking or group, f"{text}: {said}"
    assert options_of(text) <= known_options(text), text


def options_of(text: str) -> set[str]:
    return {word for word in parts(text) if word.startswith("--")} - {"--help"}


def known_options(text: str) -> set[str]:
    command = get_command(app)
    for word in parts(text):
        inner = getattr(command, "commands", {})
        if word not in inner:
            break
        command = inner[word]
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)}


@pytest.mark.parametrize(
    "text",
    [
        "pit operate forgive PERSON",
        "pit operate freeze TABLE --reason rain --because rain",
        "pit operate freeze TABLE",
        "pit demo --tables many",
        "pit load --workers 0",
        "pit table replay",
    ],
)
def test_a_wrong_command_is_found(parsed: Parsed, text: str) -> None:
    assert parsed(text)[0] == 2


def test_every_make_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in pages():
        text = page.read_text()
        typed = " \n".join(lines_to_type(text) + re.findall(r"`(make [^`\n]*)`", text))
        for target in re.findall(r"\bmake (?:[A-Z]\S+ )*([a-z-]+)", typed):
            assert target in targets, f"{page.relative_to(ROOT)}: make {target}"


def test_every_module_to_run_is_one() -> None:
    for page in pages():
        for name in re.findall(
            r"python3? -m ((?:loadtest|services|deploy)[\w.]*)", page.read_text()
        ):
            assert importlib.util.find_spec(name), f"{page.relative_to(ROOT)}: {name}"
