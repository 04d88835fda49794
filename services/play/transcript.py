"""A game as the person saw it, as text: for keeping, and for the README."""

from pathlib import Path

from services.client.view import TableView
from services.play import story
from services.play.cells import filled
from services.play.model import Model


class Unwritten(Exception):
    """The file could not be written; `error` says why."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path}: {error}")
        self.path = path
        self.error = error


def write(path: Path, model: Model, *, more: bool) -> None:
    """Write it, behind what is there where there is `more` of one game. Raises `Unwritten`."""
    try:
        with path.open("a" if more else "w") as file:
            file.write(whole(model))
    except OSError as error:
        raise Unwritten(path, error) from None


def whole(model: Model) -> str:
    """Every line that was told, with minutes and seconds since the first."""
    if not model.told:
        return ""
    begin_us = model.told[0].at_us
    lines = [f"{_since(line.at_us - begin_us)}  {line.text}" for line in model.told]
    return "\n".join([*lines, ""])


def ending(model: Model, view: TableView) -> str:
    """The final scores, first place first."""
    ranked = sorted((place, index) for index, place in enumerate(model.result.places) if place)
    return "\n".join(
        f"{place}. {filled(_name(view, index), 24)}{view.seats[index].score:>5}"
        for place, index in ranked
    )


def _name(view: TableView, index: int) -> str:
    return story.player(view, index) + (" (you)" if index == view.seat else "")


def _since(elapsed_us: int) -> str:
    seconds = max(0, elapsed_us) / 1_000_000
    return f"{int(seconds) // 60}:{seconds % 60:04.1f}"
