"""A transcript is told of before a game where it cannot be, and is not lost after one."""

import subprocess
import sys
from pathlib import Path

import pytest
from pit.v1 import table_pb2

from services.cli.failures import Exit, Failure
from services.cli.play import _sit_down
from services.play.main import _keep, _written
from services.play.transcript import Transcript, Unwritten, whole
from services.play.wish import Wish
from support.own_table import happen
from support.pit import environment
from support.play_screens import trading


def test_a_transcript_with_nowhere_to_go_is_told_before_anything(tmp_path: Path) -> None:
    wish = Wish("127.0.0.1:1", transcript=tmp_path / "no" / "game.txt")
    with pytest.raises(Failure, match=r"no/game\.txt cannot be written") as failed:
        _sit_down(wish)
    assert failed.value.code == Exit.USAGE


def written(path: Path, back_at: str = "") -> Path:
    """A game's transcript, line by line; where it is."""
    told, _ = trading()
    transcript = Transcript(path, back_at=back_at)
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
    transcript = _written(wish, model, 0)
    happen(model, view, called=table_pb2.Called(seat=1, phrase=table_pb2.PHRASE_HURRY))
    _keep(transcript, model)
    assert (tmp_path / "game-2.txt").read_text() == (
        "0:00.0  game.txt has an older game: this one is written in game-2.txt\n"
        "0:10.0  Bo says: Hurry!\n"
    )
    assert capsys.readouterr().out == f"The transcript is in {tmp_path / 'game-2.txt'}.\n"


def test_a_transcript_that_finds_no_room_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = trading()
    transcript = Transcript(Path("/dev/full"))
    for line in model.told:
        transcript.tell(line)
    with pytest.raises(Unwritten, match=r"/dev/full: .*No space left"):
        _keep(transcript, model)
    assert capsys.readouterr().out == whole(model) != ""


def test_a_transcript_that_cannot_be_opened_ends_no_game(tmp_path: Path) -> None:
    with pytest.raises(Unwritten, match=r"game\.txt: .*No such file"):
        Transcript(tmp_path / "gone" / "game.txt")


def test_a_game_goes_on_in_the_file_that_names_its_table(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("game.txt", "game-2.txt", "game-3.txt"))
    first.write_text("0:00.0  You sit at 01aaaa, seat 2\n")
    second.write_text("0:00.0  You sit at 01bbbb, seat 0\n")
    assert written(first, back_at="01aaaa") == first
    assert written(first, back_at="01bbbb") == second
    assert written(first, back_at="01cccc") == third, "no other game's file"
    assert written(first) == tmp_path / "game-4.txt"
    model, _ = trading()
    assert first.read_text() == f"0:00.0  You sit at 01aaaa, seat 2\n{whole(model)}"
    assert third.read_text() == whole(model)


IN_ASCII = """
import sys
from pathlib import Path
from services.play.model import Line, Weight
from services.play.transcript import Transcript
transcript = Transcript(Path(sys.argv[1]))
for text in ("Zo\\u00eb says: Hurry!", "it is written in \\udcff.txt"):
    transcript.tell(Line(0, text, next(iter(Weight))))
transcript.close()
"""


def test_a_name_that_the_locale_has_no_letters_for_ends_no_game(tmp_path: Path) -> None:
    path = tmp_path / "game.txt"
    words = [sys.executable, "-X", "utf8=0", "-c", IN_ASCII, str(path)]
    around = environment(LC_ALL="C", PYTHONCOERCECLOCALE="0")
    subprocess.run(words, env=around, check=True)
    assert path.read_bytes() == (
        "0:00.0  Zoë says: Hurry!\n0:00.0  it is written in \\udcff.txt\n".encode()
    )
