"""An archive with several scripted games in it, as an archiver would leave it."""

from pathlib import Path

from engine.events import Record
from services.archive.keys import publish
from support.archiving import KEY, Archiving
from support.whole_game import WholeGame


def name_of(number: int) -> str:
    """The name of one of several games."""
    return "00" + "abcdefghijklmnopqrstuvwxyz234567"[number] * 20


def archived(root: Path, *games: WholeGame) -> Archiving:
    """The games, one after the other; the archive is closed, so that commands may read it."""
    world = Archiving(root)
    publish(KEY, root)
    for number, game in enumerate(games):
        for now_ms, record in game.records:
            world.writer.write(now_ms, Record(name_of(number), record.first_seq, record.items))
    world.copy()
    world.archive.close()
    return world
