"""`pit table replay`, `list` and `show`: a game told again, from any seat's view, with its facts."""

import json
import re
import shutil
import typing
from pathlib import Path

import pytest

from engine import commands
from engine.events import Absence, Corner, End, Event, Why
from services.archive.index import FILE
from services.cli import story
from services.cli.failures import Exit
from services.log import keys
from services.log.connection import SyncConnection
from support.archived import archived, name_of
from support.pit import Here, Outcome
from support.whole_game import WholeGame

GAME = name_of(0)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game with everything an operator may do in it."""
    game = WholeGame("blitz", 4, seed=5).trading()
    game.operate(commands.Announce, key="soon", parameters=(), text="five minutes")
    game.freeze()
    game.wait(60_000)
    game.unfreeze()
    game.operate(commands.VoidRound, round=1)
    game.next_round()
    game.collect(1, game.table.suits[0])
    game.adjust(3, 50)
    game.operate(commands.CloseTable, reason="the hall closes")
    directory = tmp_path_factory.mktemp("archive")
    archived(directory, game)
    return directory


def replay(here: Here, root: Path, *arguments: str) -> Outcome:
    return here("table", "replay", *arguments, settings={"PIT_ARCHIVE": str(root)})


def test_every_event_has_its_words() -> None:
    assert set(story._TELLERS) == set(typing.get_args(Event))
    for words, kinds in (
        (story.ENDED, Why), (story.AWAY, Absence), (story.CORNERS, Corner), (story.GAME_ENDS, End),
    ):  # fmt: skip
        assert set(words) == set(kinds)


def test_a_spectator_sees_no_hand_and_no_facts(here: Here, root: Path) -> None:
    told = replay(here, root, GAME)
    assert told.code == Exit.GOOD, told.err
    assert "hindsight" not in told.out
    before_the_bell = told.out.split("rings:")[0]
    assert " x" not in before_the_bell
    assert "seat 1 rings: CORNER ON WHEAT" in told.out


def test_what_operators_did_is_told_with_name_and_reason(here: Here, root: Path) -> None:
    told = replay(here, root, GAME).out
    for words in (
        "announcement by operator ann: five minutes",
        "TIME STANDS STILL by operator ann: a dispute",
        "time goes on after 60.0 s by operator ann",
        "round 1 is void by operator ann: a dispute",
        "CORRECTION: seat 3 +50 by operator ann: a dispute",
        "GAME OVER: an operator has closed the table",
        "the table closes by operator ann: the hall closes",
    ):
        assert words in told


def test_people_and_operators_are_called_by_their_names(
    here: Here, root: Path, valkey_url: str
) -> None:
    server = SyncConnection(valkey_url)
    for person, name in (("p1", "Åsa"), ("ann", "Ann Operator")):
        server.call("SET", keys.person_name(person), name)
    server.close()
    settings = {"PIT_ARCHIVE": str(root), "PIT_REDIS_URL": valkey_url}
    told = here("table", "replay", GAME, settings=settings).out
    assert "seat 1 is taken by Åsa" in told
    assert "seat 2 is taken by p2" in told
    assert "CORRECTION: seat 3 +50 by operator Ann Operator: a dispute" in told


def test_a_seat_sees_its_own_hand(here: Here, root: Path) -> None:
    told = replay(here, root, GAME, "--seat", "2").out
    [deal, *_] = re.findall(r"deals .*\n((?: {16,}.*\n)+)", told)
    assert [line.split()[1] for line in deal.splitlines()] == ["2"]


def test_with_all_hands_the_facts_stand_under_each_round(here: Here, root: Path) -> None:
    told = replay(here, root, GAME, "--all-hands").out
    assert "round 1 in hindsight: 0 trades, void after" in told
    assert re.search(r"corner +seat 1, wheat, .*: one trade away at .* \(event \d+\)", told)


def test_facts_alone(here: Here, root: Path) -> None:
    told = replay(here, root, GAME, "--facts")
    assert told.out.count("in hindsight") == 2
    as_json = [
        json.loads(line) for line in replay(here, root, GAME, "--facts", "--json").out.splitlines()
    ]
    assert [(one["round"], one["void"]) for one in as_json] == [(1, True), (2, False)]
    assert as_json[1]["corner"]["seat"] == 1
    assert sum(one["held_ms"] for one in as_json[1]["bear"]) == as_json[1]["ended_ms"]


def test_json_tells_cards_by_name(here: Here, root: Path) -> None:
    lines = [
        json.loads(line)
        for line in replay(here, root, GAME, "--json", "--seat", "1").out.splitlines()
    ]
    dealt = next(line for line in lines if line["event"] == "Dealt")
    assert dealt["hands"][0] is None
    assert sum(dealt["hands"][1].values()) in (9, 10)
    traded = next(
        line for line in lines if line["event"] == "Traded" and 1 in (line["seat"], line["partner"])
    )
    assert sum(traded["given"].values()) == traded["size"]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((GAME, "--seat", "7"), Exit.USAGE, "its seats are 0 to 3"),
        ((GAME, "--seat", "1", "--all-hands"), Exit.USAGE, "give one of them"),
        ((GAME, "--facts", "--seat", "1"), Exit.USAGE, "give --facts alone"),
        (("00" + "z" * 20,), Exit.NOT_FOUND, "pit table list --all"),
    ],
)
def test_wrong_use_says_why_and_what_to_do(
    here: Here, root: Path, arguments: tuple[str, ...], code: Exit, says: str
) -> None:
    told = replay(here, root, *arguments)
    assert told.code == code
    assert says in told.err


def test_list_and_show_agree_with_the_records(here: Here, root: Path) -> None:
    settings = {"PIT_ARCHIVE": str(root)}
    listed = here("table", "list", "--all", "--json", settings=settings)
    [line] = [json.loads(line) for line in listed.out.splitlines()]
    assert line["table"] == GAME
    assert (line["rules"], line["phase"], line["round"], line["people"]) == (
        "blitz",
        "closed",
        2,
        4,
    )
    shown = json.loads(here("table", "show", GAME, "--json", settings=settings).out)
    assert shown["phase"] == "closed"
    assert shown["good"]
    [*_, corrected] = [
        json.loads(line)
        for line in replay(here, root, GAME, "--json").out.splitlines()
        if "ScoreAdjusted" in line
    ]
    assert shown["scores"] == corrected["totals"]


def test_a_frozen_table_is_shown_as_one(here: Here, tmp_path: Path) -> None:
    game = WholeGame("blitz", 4, seed=5).trading()
    game.freeze()
    archived(tmp_path, game)
    settings = {"PIT_ARCHIVE": str(tmp_path)}
    shown = here("table", "show", GAME, settings=settings)
    assert shown.code == Exit.GOOD, shown.err
    assert shown.out.splitlines()[0].endswith("open, round 1, time stands still: a dispute")
    told = json.loads(here("table", "show", GAME, "--json", settings=settings).out)
    assert told["frozen"] == "a dispute"


def test_a_game_in_play_is_listed_as_unfinished(here: Here, tmp_path: Path) -> None:
    archived(tmp_path, WholeGame("blitz", 4, seed=5).trading())
    listed = here("table", "list", "--all", settings={"PIT_ARCHIVE": str(tmp_path)})
    assert re.search(rf"^{GAME} +blitz +unfinished +1 ", listed.out, re.MULTILINE)


def test_a_list_without_an_index_still_names_the_games(
    here: Here, root: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "copy"
    shutil.copytree(root, directory)
    (directory / FILE).unlink()
    listed = here("table", "list", "--all", settings={"PIT_ARCHIVE": str(directory)})
    assert re.search(rf"^{GAME} +archived$", listed.out, re.MULTILINE)
    (directory / FILE).write_bytes(b"no database at all, but long enough to be one" * 40)
    refused = here("table", "list", "--all", settings={"PIT_ARCHIVE": str(directory)})
    assert refused.code == Exit.CHECK_FAILED
    assert "made anew" in refused.err
