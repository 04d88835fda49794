"""An archiver's parts on a store in memory and a directory."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from services.archive import frames
from services.archive.audit import Verdict, audit
from services.archive.copier import ShardCopier, step
from services.archive.directory import DirectoryArchive
from services.archive.frames import Digest, Frame, Head, Kept, Seal
from services.archive.index import GameIndex
from services.archive.source import find
from services.log.memory import MemoryOwnerLog, MemoryReaderLog, MemoryStore
from support.whole_game import GAME, ShardWriter, WholeGame

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
COUNT = 500


class Archiving:
    """A store with one shard, its archive, and copiers that may be dropped and made anew."""

    def __init__(self, root: Path) -> None:
        self.store = MemoryStore(shards=1)
        self.writer = ShardWriter(MemoryOwnerLog(self.store))
        self.archive = DirectoryArchive(root, writing=True)
        self.index = GameIndex(root, writing=True)
        self.source = MemoryReaderLog(self.store)
        self.copier = self.new_copier()

    def new_copier(self) -> ShardCopier:
        store_id = self.store.meta().store_id
        return ShardCopier(0, store_id, self.archive, self.source, KEY, self.index)

    def write(self, game: WholeGame, first: int = 0, last: int | None = None) -> list[str]:
        return [self.writer.write(now_ms, record) for now_ms, record in game.records[first:last]]

    def read(self) -> None:
        """Take all there is, without bringing it to disk."""
        while step([self.copier], self.source, COUNT):
            pass

    def copy(self) -> None:
        self.read()
        self.copier.flush()

    def trim(self) -> None:
        """Drop from the store all it may drop: what the archive holds, but the newest entry."""
        del self.store.shard(0).out[:-1]

    def verdict(self, *, live: bool = True) -> Verdict:
        log = MemoryReaderLog(self.store) if live else None
        return audit(find(GAME, self.archive, KEY.public_key(), log))

    def kept(self) -> list[Frame]:
        content = self.archive.read(GAME)
        assert content is not None
        return [part[0] for part in frames.unpack(GAME, content)]  # type: ignore[index]


def written(head: Head, records: list[Kept], *, seal: Seal | None = None) -> bytes:
    """The file a forger would write: every checksum fresh, and a seal they cannot make."""
    digest = Digest()
    content = digest.append(head) + b"".join(map(digest.append, records))
    forged = digest.seal(OTHER_KEY)
    return content + frames.pack(
        forged if seal is None else Seal(forged.frames, forged.digest, seal.signature)
    )
