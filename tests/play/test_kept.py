"""The sign-in that outlives the program."""

import stat
from pathlib import Path

import pytest

from services.client.exchange import SignIn
from services.play.kept import keeper, state_directory

TARGET = "127.0.0.1:7700"
ADA = SignIn("people/ada", "secret-1")


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_what_was_kept_is_there_the_next_time() -> None:
    with keeper(TARGET, "Ada") as kept:
        assert kept.load() is None
        kept.save(SignIn("people/ada", "secret-0"))
        kept.save(ADA)
    with keeper(TARGET, "Ada") as kept:
        assert kept.load() == ADA
        assert kept.why_not == ""


def test_nobody_else_may_read_it() -> None:
    with keeper(TARGET, "Ada") as kept:
        kept.save(ADA)
    found = list(state_directory().iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}
    assert stat.S_IMODE(state_directory().stat().st_mode) == 0o700
    assert sum("secret-1" in path.read_text() for path in found) == 1


def test_another_name_and_another_exchange_are_somebody_else() -> None:
    with keeper(TARGET, "Ada") as kept:
        kept.save(ADA)
    with keeper(TARGET, "Bo") as bo, keeper("elsewhere:7700", "Ada") as elsewhere:
        assert (bo.load(), elsewhere.load()) == (None, None)


def test_a_second_program_is_somebody_new_and_disturbs_nothing() -> None:
    with keeper(TARGET, "Ada") as first:
        first.save(ADA)
        with keeper(TARGET, "Ada") as second:
            assert second.load() is None
            assert second.why_not == "Ada plays in another terminal, so you are somebody new here"
            second.save(SignIn("people/other", "secret-2"))
        assert first.load() == ADA
    with keeper(TARGET, "Ada") as third:
        assert third.load() == ADA


@pytest.mark.parametrize("text", ["", "{", "[]", '{"person": "p"}', "\x00\x01"])
def test_a_file_that_cannot_be_understood_counts_as_none(text: str) -> None:
    with keeper(TARGET, "Ada") as kept:
        kept.save(ADA)
        next(state_directory().glob("*.json")).write_text(text)
        assert kept.load() is None


def test_a_state_directory_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with keeper(TARGET, "Ada") as kept:
        kept.save(ADA)
        assert kept.load() is None
        assert kept.why_not.startswith("the sign-in is not kept: ")


def test_the_usual_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_directory() == tmp_path / ".local" / "state" / "pit"
