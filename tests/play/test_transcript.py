"""A transcript is told of before a game where it cannot be, and is not lost after one."""

from pathlib import Path

import pytest
from pit.v1 import table_pb2

from services.cli.failures import Exit, Failure
from services.cli.play import _sit_down
from services.play.main import _keep, _written
from services.play.transcript import Transcript, Unwritten, whole
from services.play.wish import Wish
from support.own_table import happen
from support.play_screens import trading


def test_a_transcript_with_nowhere_to_go_is_told_before_anything(tmp_path: Path) -> None:
    wish = Wish("127.0.0.1:1", transcript=tmp_path / "no" / "game.txt")
    with pytest.raises(Failure, match=r"no/game\.txt cannot be written") as failed:
        _sit_down(wish)
    assert failed.value.code == Exit.USAGE


def written(path: Path, *, more: bool = False) -> Path:
    """A game's transcript, line by line; where it is."""
    told, _ = trading()
    transcript = Transcript(path, more=more)
    for line in told.told:
        transcript.tell(line)
        assert transcript.path.read_text().endswith(f"  {line.text}\n"), "only at the end"
    _keep(transcript, told)
    return transcript.path


def test_a_transcript_has_each_line_as_soon_as_it_is_told(tmp_path: Path) -> None:
    model, _ = trading()
    assert written(tmp_path / "game.txt").read_text() == whole(model) != ""


def test_what_is_told_is_written_and_said_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "game.txt").write_text("an older game\n")
    model, view = trading()
    wish = Wish("127.0.0.1:1", transcript=tmp_path / "game.txt")
    transcript = _written(wish, model, 0, more=False)
    happen(model, view, called=table_pb2.Called(seat=1, phrase=table_pb2.PHRASE_HURRY))
    _keep(transcript, model)
    assert (tmp_path / "game-2.txt").read_text() == (
        "0:00.0  game.txt has an older game: this one is written in game-2.txt\n"
        "0:10.0  Bo says: Hurry!\n"
    )
    assert capsys.readouterr().out == f"The transcript is in {tmp_path / 'game-2.txt'}.\n"


def test_a_transcript_that_finds_no_room_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = trading()
    transcript = Transcript(Path("/dev/full"), more=False)
    for line in model.told:
        transcript.tell(line)
    with pytest.raises(Unwritten, match=r"/dev/full: .*No space left"):
        _keep(transcript, model)
    assert capsys.readouterr().out == whole(model) != ""


def test_a_transcript_that_cannot_be_opened_ends_no_game(tmp_path: Path) -> None:
    with pytest.raises(Unwritten, match=r"game\.txt: .*No such file"):
        Transcript(tmp_path / "gone" / "game.txt", more=False)


def test_an_older_game_is_never_lost_and_more_of_a_game_follows_it(tmp_path: Path) -> None:
    model, _ = trading()
    path = tmp_path / "game.txt"
    assert written(path, more=True) == path
    assert written(path, more=True) == path
    assert written(path) == tmp_path / "game-2.txt"
    assert written(path, more=True) == tmp_path / "game-2.txt"
    assert written(path) == tmp_path / "game-3.txt"
    assert path.read_text() == (tmp_path / "game-2.txt").read_text() == 2 * whole(model)
