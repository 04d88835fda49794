"""`pit backup` and `pit restore`: damage, and what does not belong together, is refused."""

import errno
import random
import tarfile
from pathlib import Path

import pytest

from services.archive.directory import DirectoryArchive
from services.cli.backup import restore as restoring
from services.cli.backup.container import BackupDamaged, BackupWriter, check, parts
from services.cli.backup.make import back_up
from services.cli.backup.restore import restore
from services.cli.failures import Exit
from services.log import keys
from services.log.connection import SyncConnection
from services.log.port import StoreChanged
from services.log.redis import RedisReaderLog
from support.backed_up import PlayedStore, refused
from support.full_disk import no_room
from support.whole_game import GAME


def test_a_damaged_backup_is_refused_and_nothing_is_written(
    played: PlayedStore, backup: Path
) -> None:
    played.empty()
    content = bytearray(backup.read_bytes())
    with tarfile.open(backup) as tar:
        places = [entry.offset_data + entry.size // 2 for entry in tar if entry.size]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 4
        backup.write_bytes(damaged)
        failure = refused(Exit.CHECK_FAILED, restore, backup)
        assert "older backup" in failure.remedy
        assert played.contents() == {}
    assert len(places) == 9, "meta, two shards, a stream, others, a game, the key, manifest, sum"


def test_no_flip_and_no_cut_goes_unnoticed(backup: Path, tmp_path: Path) -> None:
    """Anywhere in the file: it is refused, or (in the tar's padding) makes no difference."""
    content, whole = backup.read_bytes(), list(parts(backup, ""))
    chance = random.Random(7)
    damaged = tmp_path / "damaged.tar"
    outcomes = {"refused": 0, "same": 0}
    for number in range(300):
        place = chance.randrange(len(content))
        changed = bytearray(content)
        if number % 3:
            changed[place] ^= 1 << chance.randrange(8)
        else:
            del changed[place:]
        damaged.write_bytes(changed)
        try:
            check(damaged)
        except BackupDamaged:
            outcomes["refused"] += 1
        else:
            outcomes["same"] += 1
            assert list(parts(damaged, "")) == whole
    assert min(outcomes.values()) > 10, outcomes


def test_what_is_no_backup_is_refused(store: PlayedStore, file: Path) -> None:
    store.empty()
    for content in (b"", b"hello", b"\0" * 20_480):
        file.write_bytes(content)
        refused(Exit.CHECK_FAILED, restore, file)
    file.unlink()
    refused(Exit.NOT_FOUND, restore, file)


def test_a_part_nobody_named_is_refused(backup: Path, played: PlayedStore) -> None:
    played.empty()
    with tarfile.open(backup, "a") as tar:
        tar.add(__file__, "archive/../../intruder")
    assert "intruder" in refused(Exit.CHECK_FAILED, restore, backup).why


@pytest.mark.parametrize("name", ["archive/../../x.pit", "archive/00/x.pit", "others/1.keys"])
def test_a_part_without_a_place_is_refused(backup: Path, played: PlayedStore, name: str) -> None:
    """Even where somebody made the sums anew."""
    manifest = check(backup)
    forged = backup.with_name("forged.tar")
    with BackupWriter(forged) as writer:
        for part, content, _ in parts(backup, ""):
            if not part.startswith("manifest"):
                writer.add(part, content)
        writer.add(name, b"\xc0")
        writer.finish(manifest.model_copy(update={"parts": writer.parts}))
    played.empty()
    refused(Exit.CHECK_FAILED, restore, forged)


@pytest.mark.parametrize("field", ["format", "record_version"])
def test_a_backup_of_a_newer_version_is_left_alone(
    backup: Path, played: PlayedStore, field: str
) -> None:
    manifest = check(backup)
    newer = backup.with_name("newer.tar")
    with BackupWriter(newer) as writer:
        for part, content, _ in parts(backup, ""):
            if not part.startswith("manifest"):
                writer.add(part, content)
        writer.finish(manifest.model_copy(update={"parts": writer.parts, field: 99}))
    played.empty()
    assert "newer version" in refused(Exit.USAGE, restore, newer).what


def test_a_store_that_holds_something_is_refused(played: PlayedStore, backup: Path) -> None:
    before = played.contents()
    failure = refused(Exit.IN_USE, restore, backup)
    assert "FLUSHDB" in failure.remedy
    assert played.contents() == before


def test_an_archive_that_went_on_is_refused(
    played: PlayedStore, backup: Path, tmp_path: Path
) -> None:
    played.empty()
    path = played.root / f"00/{GAME}.pit"
    for change in (lambda: path.write_bytes(path.read_bytes() + b"more"), lambda: another(path)):
        change()
        failure = refused(Exit.IN_USE, restore, backup)
        assert "aside" in failure.remedy
        assert played.contents() == {}


def another(path: Path) -> None:
    """The backup's game is as it was, and there is one more."""
    path.write_bytes(path.read_bytes().removesuffix(b"more"))
    (path.parent / f"00{'d' * 20}.pit").write_bytes(b"x")


def test_an_archive_of_another_key_is_refused(played: PlayedStore, backup: Path) -> None:
    played.empty()
    (played.root / "public-key.hex").write_text("ab" * 32)
    refused(Exit.IN_USE, restore, backup)


def test_an_archive_that_was_not_lost_stays(played: PlayedStore, backup: Path) -> None:
    """Only the store was lost; and a restore that broke off is completed."""
    played.empty()
    path = played.root / f"00/{GAME}.pit"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    restore(backup, as_json=False)
    assert path.read_bytes() == whole


def test_a_running_archiver_is_noticed(played: PlayedStore, backup: Path) -> None:
    played.empty()
    running = DirectoryArchive(played.root, writing=True)
    refused(Exit.IN_USE, restore, backup)
    running.close()
    restore(backup, as_json=False)


def test_a_store_that_is_half_restored_is_none(
    played: PlayedStore, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway still lives and writes after the store was seen empty."""
    look = restoring._require_empty

    def then_alive(server: SyncConnection) -> None:
        look(server)
        server.call("XADD", keys.in_stream(2), "*", "b", b"alive")
        server.call("XADD", keys.out_stream(2), "*", "b", b"alive")

    played.server.call("XADD", keys.out_stream(2), "*", "o", b"x")
    backup.unlink()
    back_up(backup, as_json=False)
    played.empty()
    monkeypatch.setattr(restoring, "_require_empty", then_alive)
    failure = refused(Exit.UNREACHABLE, restore, backup)
    assert "one of them still writes" in failure.remedy
    with pytest.raises(StoreChanged):
        RedisReaderLog(played.url).meta()


def test_an_unfit_server_gets_nothing(played: PlayedStore, backup: Path) -> None:
    played.empty()
    played.server.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    assert "noeviction" in refused(Exit.UNREACHABLE, restore, backup).why
    assert played.contents() == {}


def test_a_full_server_says_so(played: PlayedStore, backup: Path) -> None:
    played.empty()
    played.server.call("CONFIG", "SET", "maxmemory", "1")
    failure = refused(Exit.UNREACHABLE, restore, backup)
    assert "memory" in failure.remedy


def test_a_backup_is_never_overwritten(backup: Path) -> None:
    before = backup.read_bytes()
    refused(Exit.USAGE, back_up, backup)
    assert backup.read_bytes() == before


def test_a_directory_that_is_not_there(played: PlayedStore, tmp_path: Path) -> None:
    refused(Exit.USAGE, back_up, tmp_path / "nowhere" / "b.tar")


def test_a_backup_without_room_says_so_and_leaves_nothing(played: PlayedStore, file: Path) -> None:
    with no_room(10_000):
        failure = refused(Exit.NOT_WRITTEN, back_up, file)
    assert str(file) in failure.what
    assert "make room there" in failure.remedy
    assert not [one for one in file.parent.iterdir() if file.name in one.name]


def test_records_that_cannot_be_read_are_not_blamed_on_the_backup(
    played: PlayedStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read everything, so the archive itself says what a user without rights would hear."""
    record = played.root / "00" / "x.pit"

    def denied(_archive: DirectoryArchive, _game: str) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(record))

    monkeypatch.setattr(DirectoryArchive, "read", denied)
    failure = refused(Exit.USAGE, back_up, file)
    assert failure.what == f"{record} cannot be read"
    assert not file.exists()


def test_an_archive_without_room_is_restored_when_there_is_some(
    played: PlayedStore, backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played.empty()
    monkeypatch.setenv("PIT_ARCHIVE", str(tmp_path / "larger"))
    with no_room(1_000):
        failure = refused(Exit.NOT_WRITTEN, restore, backup)
    assert "larger has no room" in failure.what
    played.empty()
    restore(backup, as_json=True)
    found = [path.read_bytes() for path in sorted((tmp_path / "larger").glob("*/*.pit"))]
    assert found == [path.read_bytes() for path in sorted(played.root.glob("*/*.pit"))]


def test_a_store_that_was_never_set_up_has_no_backup(store: PlayedStore, file: Path) -> None:
    store.empty()
    refused(Exit.UNREACHABLE, back_up, file)
    assert not file.exists()
