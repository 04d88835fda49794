"""`pit results`: every finished game once, in a stable order, with corrected scores."""

import csv
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from engine.shown import Phase
from services.cli.failures import Exit
from services.cli.results import COLUMNS
from services.log import keys
from services.log.connection import SyncConnection
from support.archived import archived, name_of
from support.pit import ROOT, Here
from support.whole_game import WholeGame

FIRST, SECOND, RUNNING, NEVER = map(name_of, range(4))
EVIL = "=HYPERLINK(1)"


def game(seed: int, later_ms: int, name: str = "a table", **opening: Any) -> WholeGame:
    """Dealt at a time and at a table of its own."""
    found = WholeGame("blitz", 4, seed=seed)
    found.now_ms += later_ms
    found.seated(display_name=name, **opening)
    for seat in range(4):
        found.ready(seat, 1, bytes([seat]) * 16)
    return found


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corrected game, an earlier one with an evil name, one that goes on, one that never began."""
    late = game(1, 900_000, "Cup 2026, table 1")
    finish(late)
    late.adjust(2, 350)
    late.adjust(2, -20, reason="=counted twice")
    late.leave("p0")
    early = game(2, 0, EVIL)
    finish(early)
    running = game(3, 500_000).opened()
    unstarted = WholeGame("blitz", 4)
    unstarted.seated()
    directory = tmp_path_factory.mktemp("archive")
    archived(directory, late, early, running, unstarted)
    return directory


def finish(played: WholeGame) -> None:
    played.opened()
    played.collect(1, played.table.suits[0])
    while played.table.phase != Phase.ENDED:
        played.next_round()
        played.collect(1, played.table.suits[0])


def lines(here: Here, root: Path, *arguments: str, **settings: str) -> list[dict[str, str]]:
    told = here("results", "--csv", *arguments, settings={"PIT_ARCHIVE": str(root), **settings})
    assert told.code == Exit.GOOD, told.err
    return list(csv.DictReader(io.StringIO(told.out)))


def test_one_line_a_seat_in_the_order_of_the_games(here: Here, root: Path) -> None:
    found = lines(here, root)
    assert tuple(found[0]) == COLUMNS
    assert [(line["game"], line["seat"]) for line in found] == [
        (name, str(seat)) for name in (SECOND, FIRST) for seat in range(4)
    ], "the earlier one first; without those that go on or never began"
    assert {line["preset"] for line in found} == {"blitz"}
    assert {line["end"] for line in found} == {"won"}
    assert {line["signed"] for line in found} == {"yes"}
    assert found[0]["started"] < found[0]["ended"]
    assert [line["person"] for line in found[:4]] == ["p0", "p1", "p2", "p3"]
    by_score = sorted(found[:4], key=lambda line: -int(line["score"]))
    assert [line["place"] for line in by_score] == sorted(line["place"] for line in found[:4])
    assert (by_score[0]["place"], by_score[0]["seat"]) == ("1", "1")


def test_a_corrected_score_stands_with_its_reasons(here: Here, root: Path) -> None:
    [corrected] = [line for line in lines(here, root, FIRST) if line["correction"] != "0"]
    assert corrected["seat"] == "2"
    assert corrected["correction"] == "330"
    assert corrected["reasons"] == "a dispute (+350); =counted twice (-20)"
    assert int(corrected["score"]) > 250
    assert corrected["place"] == "1"
    told = here("results", "--json", FIRST, settings={"PIT_ARCHIVE": str(root)})
    whole = json.loads(told.out)
    told_of_2 = {"seat": 2, "person": "p2", "name": "", "score": int(corrected["score"])}
    assert whole["results"][2] == told_of_2 | {"place": 1}
    assert [one["delta"] for one in whole["corrections"]] == [350, -20]
    assert {one["operator"] for one in whole["corrections"]} == {"ann"}
    assert whole["results"][0]["person"] == "p0", "who leaves when it is over has played it"


def test_a_spreadsheet_is_given_no_formulas(here: Here, root: Path) -> None:
    assert lines(here, root, SECOND)[0]["table"] == "'" + EVIL
    told = here("results", "--json", SECOND, settings={"PIT_ARCHIVE": str(root)})
    assert json.loads(told.out)["table"] == EVIL


@pytest.mark.parametrize(
    ("since", "games"),
    [("1970-01-01", 2), ("1970-01-01T00:20:00", 1), ("1970-01-01T00:20+01:00", 2)],
)
def test_games_that_ended_since_then(here: Here, root: Path, since: str, games: int) -> None:
    """These games were played soon after log time began."""
    assert len(lines(here, root, "--since", since)) == 4 * games


def test_files_of_earlier_days_are_not_even_read(here: Here, root: Path, tmp_path: Path) -> None:
    world = archived(tmp_path, WholeGame(seed=7).played())
    path = world.archive.root / "00" / f"{name_of(0)}.pit"
    path.write_bytes(b"damaged")
    os.utime(path, (1_000_000, 1_000_000))
    settings = {"PIT_ARCHIVE": str(tmp_path)}
    assert here("results", "--since", "2026-01-01", settings=settings).code == Exit.GOOD
    told = here("results", settings=settings)
    assert told.code == Exit.CHECK_FAILED
    assert f"pit verify {name_of(0)}" in told.err


def test_the_tables_of_an_event(here: Here, root: Path) -> None:
    assert {line["game"] for line in lines(here, root, "--named", "Cup 2026")} == {FIRST}
    assert lines(here, root, "--named", "Cup 2027") == []


def test_a_game_asked_for_by_name_may_go_on(here: Here, root: Path) -> None:
    [line, *_] = lines(here, root, RUNNING)
    assert (line["end"], line["ended"], line["place"], line["signed"]) == ("", "", "0", "no")


def test_for_people(here: Here, root: Path) -> None:
    told = here("results", settings={"PIT_ARCHIVE": str(root)})
    assert told.code == Exit.GOOD
    assert re.search(r"^ +1\. +\d+  seat 2  p2$", told.out, re.MULTILINE)
    assert "seat 2 +350: a dispute (ann)" in told.out
    assert told.out.endswith("2 games\n")


def test_names_come_from_the_store(here: Here, root: Path, valkey_url: str) -> None:
    server = SyncConnection(valkey_url)
    server.call("SET", keys.person_name("p1"), "Åsa")
    server.close()
    found = lines(here, root, SECOND, PIT_REDIS_URL=valkey_url)
    assert [line["name"] for line in found] == ["", "Åsa", "", ""]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--csv", "--json"), Exit.USAGE, "exclude"),
        (("--since", "yesterday"), Exit.USAGE, "2026-11-30"),
        (("00" + "z" * 20,), Exit.NOT_FOUND, "pit table list --all"),
        (("what?",), Exit.NOT_FOUND, "pit table list --all"),
    ],
)
def test_wrong_use_says_what_to_do(
    here: Here, root: Path, arguments: tuple[str, ...], code: Exit, says: str
) -> None:
    told = here("results", *arguments, settings={"PIT_ARCHIVE": str(root)})
    assert told.code == code
    assert says in told.err


def test_the_readme_tells_every_column() -> None:
    text = (ROOT / "services/cli/README.md").read_text()
    [_, section] = text.split("## `pit results`")
    for column in COLUMNS:
        assert f"`{column}`" in section.split("\n## ")[0]
