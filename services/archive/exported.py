"""One game as a file of its own: what the archive has, and what the log has beyond it."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from services.archive import frames
from services.archive.frames import FORMAT, Head, Torn
from services.archive.source import Game, from_content
from services.log.port import Damaged


def file_of(game: Game, store_id: str) -> bytes:
    """The file `pit verify --file` proves. What is damaged stays as it is, to be looked at."""
    content = game.content or frames.pack(Head(FORMAT, game.name, store_id))
    try:
        for part in frames.unpack(game.name, content):
            if isinstance(part, Torn):
                content = content[: part.length]
    except Damaged:
        return content
    return content + b"".join(map(frames.pack, game.records[game.archived :]))


def game_of(content: bytes, key: Ed25519PublicKey | None) -> Game:
    """The game of such a file. Raises `Damaged` where it is none."""
    for part in frames.unpack("the file", content):
        if isinstance(part, tuple) and isinstance(part[0], Head):
            return from_content(part[0].game, content, key)
        break
    raise Damaged("the file does not begin as a game's file does")
