"""A transcript is told of before a game where it cannot be, and is not lost after one."""

from pathlib import Path

import pytest

from services.cli.failures import Exit, Failure
from services.cli.play import _sit_down
from services.play.main import _keep_transcript
from services.play.transcript import Unwritten, whole
from services.play.wish import Wish
from support.play_screens import trading


def test_a_transcript_with_nowhere_to_go_is_told_before_anything(tmp_path: Path) -> None:
    wish = Wish("127.0.0.1:1", transcript=tmp_path / "no" / "game.txt")
    with pytest.raises(Failure, match=r"no/game\.txt cannot be written") as failed:
        _sit_down(wish)
    assert failed.value.code == Exit.USAGE


def test_a_transcript_that_finds_no_room_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = trading()
    with pytest.raises(Unwritten, match=r"/dev/full: .*No space left"):
        _keep_transcript(Path("/dev/full"), model, more=False)
    assert capsys.readouterr().out == whole(model) != ""


def test_more_of_a_game_follows_what_is_there(tmp_path: Path) -> None:
    model, _ = trading()
    path = tmp_path / "game.txt"
    for more in (False, False, True):
        _keep_transcript(path, model, more=more)
    assert path.read_text() == 2 * whole(model)
