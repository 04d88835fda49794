"""A game as the person saw it, as text: for keeping, and for the README."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from services.client.view import TableView
from services.play import story
from services.play.cells import filled
from services.play.model import Line, Model


class Unwritten(Exception):
    """The file could not be written; `error` says why."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path}: {error}")
        self.path = path
        self.error = error


class Transcript:
    """A file that has each line as soon as it is told, behind what is there already."""

    def __init__(self, path: Path, *, back_at: str = "") -> None:
        """`back_at`: the table whose game goes on, in the file that names it. Any other game gets
        a file of its own, `game-2.txt` beside `game.txt`: `path` says which. Raises `Unwritten`."""
        self.path = path
        self._begin_us: int | None = None
        self._error: OSError | None = None
        try:
            self.path = _place(path, back_at)
            # A name is whatever somebody wished for, whatever this machine's locale can write.
            self._file = self.path.open(
                "a", buffering=1, encoding="utf-8", errors="backslashreplace"
            )
        except OSError as error:
            raise Unwritten(self.path, error) from None

    def tell(self, line: Line) -> None:
        """One line more. A file that takes no more does not end a game; `close` says so."""
        if self._begin_us is None:
            self._begin_us = line.at_us
        if self._error is not None:
            return
        try:
            self._file.write(_timed(line, self._begin_us))
        except OSError as error:
            self._error = error

    def close(self) -> None:
        """Raises `Unwritten` where it is not whole."""
        try:
            self._file.close()
        except OSError as error:
            self._error = self._error or error
        if self._error is not None:
            raise Unwritten(self.path, self._error)


def _place(path: Path, back_at: str) -> Path:
    """The file of this name that tells of the table, else the first with nothing in it yet."""
    for each in _places(path):
        if not (each.is_file() and each.stat().st_size) or (back_at and _tells(each, back_at)):
            return each
    raise AssertionError("places have no end")


def _tells(path: Path, table: str) -> bool:
    with path.open(encoding="utf-8", errors="replace") as lines:
        return any(table in line for line in lines)


def _places(path: Path) -> Iterator[Path]:
    yield path
    yield from (path.with_stem(f"{path.stem}-{number}") for number in count(2))


def whole(model: Model) -> str:
    """Every line that was told, with minutes and seconds since the first."""
    if not model.told:
        return ""
    return "".join(_timed(line, model.told[0].at_us) for line in model.told)


def ending(model: Model, view: TableView) -> str:
    """The final scores, first place first."""
    ranked = sorted((place, index) for index, place in enumerate(model.result.places) if place)
    return "\n".join(
        f"{place}. {filled(_name(view, index), 24)}{view.seats[index].score:>5}"
        for place, index in ranked
    )


def _name(view: TableView, index: int) -> str:
    return story.player(view, index) + (" (you)" if index == view.seat else "")


def _timed(line: Line, begin_us: int) -> str:
    seconds = max(0, line.at_us - begin_us) / 1_000_000
    return f"{int(seconds) // 60}:{seconds % 60:04.1f}  {line.text}\n"
