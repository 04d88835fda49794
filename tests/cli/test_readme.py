"""Every command of the READMEs works as it stands, or is mapped here to what proves it."""

import re
import shlex
import socket
import subprocess
from collections.abc import Callable

import pytest

from services.archive.keys import publish
from services.cli.failures import Exit
from support.archiving import KEY, Archiving
from support.deploy_lines import in_containers, without_containers
from support.pit import ROOT, Here, free_port_base
from support.whole_game import WholeGame

PAGES = ("README.md", "deploy/README.md")
GAME_NAME = re.compile(r"[0-9]{2}[a-z2-7]{20}")


def commands() -> list[str]:
    """Lines after `$ ` in the console blocks of all pages."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text()
        for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
            lines = block.splitlines()
            assert all(line.startswith("$ ") for line in lines), block
            found += [line.removeprefix("$ ") for line in lines]
    return found


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An archive with one finished game, as a demo leaves it."""
    data = tmp_path_factory.mktemp("readme")
    world = Archiving(data / "archive")
    world.write(WholeGame(seed=3).played())
    world.copy()
    publish(KEY, data / "archive")
    world.archive.close()
    return {"PIT_DATA": str(data)}


def made(line: str, _settings: dict[str, str], _here: Here) -> None:
    """`make` would run what the page says; the tiers themselves are run by whoever reads this."""
    shown = subprocess.run(
        ["make", "-n", *shlex.split(line)[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = {"make demo": "/pit demo", "make test": "/pytest "}
    assert expected[line] in shown.stdout


def run(line: str, settings: dict[str, str], here: Here) -> None:
    """On the game at hand instead of the one named."""
    line = GAME_NAME.sub("00" + "a" * 20, line).replace("--speed 2", "--speed 10000")
    done = here(*shlex.split(line)[1:], settings=settings)
    assert done.code == Exit.GOOD, done.err
    assert done.out


def accepted(line: str, _settings: dict[str, str], here: Here) -> None:
    """All flags are understood, up to a port in use; `test_demo.py` plays the rest."""
    base = free_port_base()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", base))
        taken.listen()
        refused = here(*shlex.split(line)[1:], "--port-base", str(base))
    assert refused.code == Exit.IN_USE, refused.err


def at_a_terminal(line: str, _settings: dict[str, str], here: Here) -> None:
    """All flags are understood, up to the terminal; `tests/play` plays the rest."""
    refused = here(*shlex.split(line)[1:])
    assert refused.code == Exit.USAGE
    assert "needs a terminal" in refused.err


def shell(line: str, _settings: dict[str, str], _here: Here) -> None:
    subprocess.run(["/bin/sh", "-c", line], check=True, capture_output=True)


def deployed(line: str, _settings: dict[str, str], _here: Here) -> None:
    """`tests/deploy/test_manifests.py` runs these, or checks them where there are no containers."""
    assert line in [*in_containers(), *without_containers()]


def installed(line: str, _settings: dict[str, str], _here: Here) -> None:
    """As the image does it; `tests/deploy/test_lock.py` looks at the lock itself."""
    image = (ROOT / "deploy/Dockerfile").read_text()
    options = [word for word in shlex.split(line) if word.startswith(("--", "/opt"))]
    assert all(option in image for option in options), line


HOW: dict[str, Callable[[str, dict[str, str], Here], None]] = {
    r"make (demo|test)": made,
    r"pit (table|verify|results|operate --help|audit --help).*": run,
    r"pit demo .*": accepted,
    r"pit play.*": at_a_terminal,
    r"python3 -c .*": shell,
    r"python3 -m venv /opt/pit|/opt/pit/bin/pip install .*": installed,
    r"(docker compose|sh deploy/keys.sh|set -a|mkdir -p|STORE_USERS=|PIT_REDIS_URL=|export PIT_OPERATOR_TOKEN|honcho).*": deployed,
}


def test_the_executable_has_one_name() -> None:
    """Whoever has read how `pit` comes to be found need not look at each command again."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("[!.]*/**/*.md")]:
        assert ".venv/bin/pit" not in page.read_text(), page


@pytest.mark.parametrize("line", commands())
def test_command(line: str, settings: dict[str, str], here: Here) -> None:
    how = [proof for pattern, proof in HOW.items() if re.fullmatch(pattern, line)]
    assert how, f"nothing proves the command {line!r}"
    how[0](line, settings, here)


def test_links_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("[!.]*/**/*.md")]
    assert len(pages) > 5
    for page in pages:
        if "node_modules" in page.parts:  # of others
            continue
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


def test_the_licence_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
