"""Names of games however they are typed: bare, as the API has them, or by their beginning."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from services.cli.failures import Exit, Failure
from services.cli.names import begun_by, is_beginning, is_whole, person_name
from support.backed_up import PlayedStore
from support.pit import Here
from support.whole_game import GAME

COMMANDS = [("verify",), ("table", "show"), ("table", "replay"), ("table", "replay", "--facts")]


def settings(played: PlayedStore) -> dict[str, str]:
    return {"PIT_REDIS_URL": played.url, "PIT_ARCHIVE": str(played.root)}


@pytest.mark.parametrize("typed", [GAME, f"tables/{GAME}", GAME[:6], f"tables/{GAME[:9]}"])
@pytest.mark.parametrize("command", [*COMMANDS, ("results",)], ids=str)
def test_a_game_is_found_by_every_form_of_its_name(
    here: Here, played: PlayedStore, command: tuple[str, ...], typed: str
) -> None:
    found = here(*command, typed, settings=settings(played))
    assert found.code == Exit.GOOD, found.err
    assert found.out == here(*command, GAME, settings=settings(played)).out


@pytest.mark.parametrize(
    "typed", [GAME[:5], GAME[:8] + "zz", "tables/", GAME + "a", "tables/x", ""]
)
@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_what_is_no_name_and_no_beginning_is_told_what_one_is(
    here: Here, played: PlayedStore, command: tuple[str, ...], typed: str
) -> None:
    refused = here(*command, typed, settings=settings(played))
    assert refused.code in (Exit.NOT_FOUND, Exit.USAGE)
    assert "6 of its beginning" in refused.err or "no record of it" in refused.err or not typed


NAMES = ["00abcdefghijklmnopqrst", "00abcdefzzzzzzzzzzzzzz", "01abcdefghijklmnopqrst"]


def test_a_beginning_of_several_lists_them() -> None:
    with pytest.raises(Failure) as told:
        begun_by("00abcdef", [f"tables/{name}" for name in NAMES])
    assert told.value.why == ", ".join(NAMES[:2])
    many = [f"00abcdef{number:014d}" for number in range(12)]
    with pytest.raises(Failure) as told:
        begun_by("tables/00abcd", many)
    assert told.value.why.endswith("and 2 more")


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("00abcdefg", NAMES[0]),
        ("tables/00abcdefz", NAMES[1]),
        ("01abcd", NAMES[2]),
        ("02abcd", None),
        (NAMES[1], NAMES[1]),
    ],
)
def test_a_beginning_of_one_is_its_name(typed: str, found: str | None) -> None:
    assert begun_by(typed, NAMES) == found


def test_what_may_be_looked_up() -> None:
    assert is_whole(NAMES[0])
    assert not is_whole(NAMES[0][:-1])
    wrong: Iterable[str] = ("00abc", "0abcdef", "00ABCDEF", "00abcde1", "00abc/", NAMES[0] + "a")
    for text in wrong:
        assert not is_beginning(text)
        assert not is_whole(text)


def test_a_person_is_named_in_full(tmp_path: Path) -> None:
    person = "p" + "a" * 20
    assert person_name(person) == person_name(f"people/{person}") == f"people/{person}"
    for wrong in ("Ada", "people/Ada", person[:8], f"tables/{person}", "o" + "a" * 20):
        with pytest.raises(Failure, match="is no person's id"):
            person_name(wrong)
