"""`pit backup` and `pit restore`: what comes back is what there was; damage is refused."""

import errno
import json
import os
import random
import shutil
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.events import Record
from services.archive import frames
from services.archive.audit import audit
from services.archive.copier import ShardCopier, step
from services.archive.directory import DirectoryArchive
from services.archive.frames import Kept, Torn, id_order
from services.archive.index import GameIndex
from services.archive.keys import public_key, publish
from services.archive.source import find
from services.cli.backup import make, streams
from services.cli.backup import restore as restoring
from services.cli.backup.container import BackupDamaged, BackupWriter, check, parts
from services.cli.backup.dumps import dump, scan
from services.cli.backup.make import back_up
from services.cli.backup.restore import restore
from services.cli.failures import Exit, Failure
from services.log import keys
from services.log.connection import SyncConnection
from services.log.port import START, Commit, Fenced, LogError, StoreChanged
from services.log.redis import RedisOwnerLog, RedisReaderLog
from support.archiving import KEY, Archiving
from support.full_disk import no_room
from support.valkey import SHARDS
from support.whole_game import GAME, ShardWriter, WholeGame

REFRESH_MS = 2_000_000_000_000
"""When the sign-in of these tests expires: far away."""


class Store:
    """A store on the session's Valkey with an archive, as processes would leave them."""

    def __init__(self, url: str, root: Path) -> None:
        self.url = url
        self.root = root
        self.server = SyncConnection(url)
        self.log = RedisReaderLog(url)

    def play(self) -> None:
        """A whole game: its first half is in the archive, too, and all of it in the log."""
        game = WholeGame(seed=5).played()
        half = len(game.records) // 2
        self.write(game.records[:half])
        self.copy()
        publish(KEY, self.root)
        self.write(game.records[half:])
        owner = RedisOwnerLog(self.url)
        owner.look("m1", range(SHARDS), [])
        owner.close()
        self.server.call("SET", keys.person_name("pa"), "Ada")
        self.server.call("SET", keys.refresh_token("d1"), "pa", "PXAT", REFRESH_MS)
        self.server.call("XADD", keys.AUDIT, "*", "b", b"an act")
        self.server.call("HSET", keys.lobby(1), "01" + "b" * 20, b"a line")

    def write(self, records: list[tuple[int, Record]]) -> None:
        """As an owner that has just taken the shard."""
        owner = RedisOwnerLog(self.url)
        writer = ShardWriter(owner)
        for now_ms, record in records:
            writer.write(now_ms, record)
        owner.close()

    def copy(self) -> None:
        """What the archiver would do now."""
        archive = DirectoryArchive(self.root, writing=True)
        copier = ShardCopier(
            0, self.log.meta().store_id, archive, self.log, KEY, GameIndex(self.root, writing=True)
        )
        while step([copier], self.log, 1_000):
            pass
        copier.flush()
        archive.close()

    def contents(self) -> dict[bytes, Any]:
        """Every key with its expiry and its value as the server packs it."""
        names = sorted({key for page in scan(self.server, "*") for key in page})
        return {one.key: one for one in dump(self.server, names)[0]}

    def empty(self) -> None:
        self.server.call("FLUSHALL")


@pytest.fixture
def store(valkey_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    for name in [name for name in os.environ if name.upper().startswith("PIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIT_REDIS_URL", valkey_url)
    monkeypatch.setenv("PIT_ARCHIVE", str(tmp_path / "archive"))
    return Store(valkey_url, tmp_path / "archive")


@pytest.fixture
def played(store: Store) -> Store:
    store.play()
    return store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "backup.tar"


@pytest.fixture
def backup(played: Store, file: Path) -> Path:
    """A backup of the played store, which is still there."""
    back_up(file, as_json=True)
    return file


def refused(code: Exit, act: Callable[[Path, bool], None], file: Path) -> Failure:
    with pytest.raises(Failure) as raised:
        act(file, False)
    assert raised.value.code == code, raised.value.text()
    assert raised.value.why or raised.value.remedy
    return raised.value


# ------------------------------------------------------------------ there and back


def test_everything_comes_back_but_who_lived(
    played: Store, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, record = played.contents(), (played.root / f"00/{GAME}.pit").read_bytes()
    os.utime(played.root / f"00/{GAME}.pit", (1_000_000, 1_000_000))
    back_up(file, as_json=True)
    made = json.loads(capsys.readouterr().out)
    played.empty()
    shutil.rmtree(played.root)
    restore(file, as_json=True)
    told = json.loads(capsys.readouterr().out)
    gone = {keys.lease(0).encode(), keys.MATCHERS.encode()}
    assert gone < before.keys()
    assert played.contents() == {key: one for key, one in before.items() if key not in gone}
    assert played.contents()[keys.refresh_token("d1").encode()].expires_ms == REFRESH_MS
    path = played.root / f"00/{GAME}.pit"
    assert path.read_bytes() == record
    assert path.stat().st_mtime == 1_000_000
    assert public_key(played.root) == KEY.public_key()
    assert made["keys"] == told["keys"] == len(before) - len(gone) - 1, "all but pit:meta"
    assert made["games"] == told["games"] == 1
    assert made["store_id"] == told["store_id"] == played.log.meta().store_id
    assert made["bytes"] == file.stat().st_size
    assert made["damaged_games"] == []


def test_only_its_owner_may_read_it(backup: Path) -> None:
    assert backup.stat().st_mode & 0o777 == 0o600
    assert [path for path in backup.parent.iterdir() if path.name.startswith(".backup")] == []


def test_a_restored_shard_is_taken_at_once_and_its_game_is_proven(
    played: Store, backup: Path
) -> None:
    played.empty()
    shutil.rmtree(played.root)
    restore(backup, as_json=False)
    owner = RedisOwnerLog(played.url)
    assert owner.leases([0]) == [None]
    assert owner.acquire(0, b"the-next-owner-1", None) is not None
    owner.close()
    archive = DirectoryArchive(played.root)
    game = audit(find(GAME, archive, KEY.public_key(), played.log))
    assert game.findings == ()
    assert game.finished
    assert not game.sealed
    played.copy()
    assert audit(find(GAME, archive, KEY.public_key(), None)).sealed


def test_what_no_archive_has_yet_is_in_the_backup(
    store: Store, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The archiver is seconds behind: of a game that has just been played it has nothing."""
    records = WholeGame(seed=5).played().records
    store.copy()
    publish(KEY, store.root)
    store.write(records)
    back_up(file, as_json=True)
    assert json.loads(capsys.readouterr().out)["games"] == 0
    store.empty()
    shutil.rmtree(store.root)
    restore(file, as_json=False)
    store.copy()
    game = audit(find(GAME, DirectoryArchive(store.root), KEY.public_key(), None))
    assert (game.findings, game.finished, game.sealed) == ((), True, True)


def test_an_older_server_takes_its_own_and_a_newer_one_takes_it_too(
    redis_url: str, valkey_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIT_ARCHIVE", str(tmp_path / "archive"))
    old, new = Store(redis_url, tmp_path / "archive"), Store(valkey_url, tmp_path / "archive")
    old.play()
    monkeypatch.setenv("PIT_REDIS_URL", redis_url)
    back_up(tmp_path / "old.tar", as_json=False)
    before = old.log.out_after(0, "0-0", 1_000, 0)
    for store in (old, new):
        store.empty()
        monkeypatch.setenv("PIT_REDIS_URL", store.url)
        restore(tmp_path / "old.tar", as_json=False)
        assert store.log.out_after(0, "0-0", 1_000, 0) == before
    back_up(tmp_path / "new.tar", as_json=False)
    old.empty()
    monkeypatch.setenv("PIT_REDIS_URL", redis_url)
    failure = refused(Exit.UNREACHABLE, restore, tmp_path / "new.tar")
    assert "Valkey" in failure.remedy
    assert "or a newer one" in failure.remedy


def test_a_zombie_of_before_owns_nothing(played: Store, file: Path) -> None:
    """Its nonce and its last entry are what the log holds: only the lease tells it apart."""
    owner, nonce = RedisOwnerLog(played.url), b"a-sleeping-owner"
    acquired = owner.acquire(0, nonce, owner.leases([0])[0])
    assert acquired is not None
    back_up(file, as_json=False)
    played.empty()
    restore(file, as_json=False)
    written, _ = owner.exchange([commit(nonce, acquired.epoch, 1)], {}, 0, 1)
    assert [type(outcome) for outcome in written] == [Fenced]
    owner.close()


def commit(nonce: bytes, epoch: int, number: int, table: str = "") -> Commit:
    """The owner's entry of this number, which tells nothing; `table`'s lobby line says its id."""
    own_id = f"{epoch}-{number}"
    lobby = ((table, own_id.encode()),) if table else ()
    return Commit(0, nonce, f"{epoch}-{number - 1}", nonce, own_id, START, number, (), (), lobby)


def test_names_come_page_by_page_and_never_by_keys(played: Store, file: Path) -> None:
    for number in range(3_000):
        played.server.call("SET", keys.person_name(f"p{number}"), f"Name {number}")
    played.server.call("CONFIG", "RESETSTAT")
    back_up(file, as_json=False)
    statistics = played.server.ask("INFO", "commandstats").decode()
    assert "cmdstat_keys:" not in statistics
    assert "cmdstat_scan:" in statistics
    before = played.contents()
    played.empty()
    restore(file, as_json=False)
    assert len([part for part in check(file).parts if part.startswith("others/")]) > 1
    for number in (0, 1_500, 2_999):
        name = keys.person_name(f"p{number}").encode()
        assert played.contents()[name] == before[name]


def entries(store: Store, key: str) -> Any:
    told = store.server.ask("XINFO", "STREAM", key)
    return store.server.ask("XRANGE", key, "-", "+"), told[told.index(b"last-generated-id") + 1]


def test_a_long_stream_goes_page_by_page(
    played: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "PIECE_ENTRIES", 7)
    out = keys.out_stream(0)
    played.server.call("XTRIM", out, "MAXLEN", 50)
    before = entries(played, out)
    assert len(before[0]) == 50
    back_up(file, as_json=False)
    played.empty()
    restore(file, as_json=False)
    assert entries(played, out) == before


def test_a_stream_that_is_empty_now_still_gives_out_later_ids(played: Store, file: Path) -> None:
    key = keys.in_stream(1)
    newest = played.server.call("XADD", key, "9000000000000-0", "b", b"x")
    played.server.call("XTRIM", key, "MAXLEN", 0)
    back_up(file, as_json=False)
    played.empty()
    restore(file, as_json=False)
    assert entries(played, key) == ([], newest)
    with pytest.raises(LogError, match="equal or smaller"):
        played.server.call("XADD", key, newest, "b", b"x")


@pytest.mark.parametrize(("trims", "code"), [(2, None), (100, Exit.UNREACHABLE)])
def test_a_shard_that_is_trimmed_meanwhile_is_copied_anew(
    played: Store, file: Path, monkeypatch: pytest.MonkeyPatch, trims: int, code: Exit | None
) -> None:
    """The trim overtakes the copy, a few times or always."""
    monkeypatch.setattr(streams, "PIECE_ENTRIES", 2)
    out, ask_all, trimmed = keys.out_stream(0), SyncConnection.ask_all, []

    def then_trim(server: SyncConnection, commands: Any, wait_s: float = 0.0) -> Any:
        answers = ask_all(server, commands, wait_s)
        if commands[0][:2] == ("XRANGE", out) and len(commands) == 2 and len(trimmed) < trims:
            trimmed.append(played.server.call("XTRIM", out, "MAXLEN", 60 - 5 * len(trimmed)))
        return answers

    monkeypatch.setattr(SyncConnection, "ask_all", then_trim)
    if code is not None:
        assert "trimmed again and again" in refused(code, back_up, file).what
        assert not file.exists()
        return
    back_up(file, as_json=False)
    monkeypatch.undo()
    monkeypatch.setenv("PIT_REDIS_URL", played.url)
    monkeypatch.setenv("PIT_ARCHIVE", str(played.root))
    before = entries(played, out)
    assert len(before[0]) == 55
    played.empty()
    restore(file, as_json=False)
    assert entries(played, out) == before


def test_a_shard_is_copied_at_one_moment(store: Store, tmp_path: Path) -> None:
    """An owner writes the number of its newest entry into a lobby line, in the same commit."""
    stop = threading.Event()
    table = "00" + "c" * 20
    thread = threading.Thread(target=number_lines, args=(store.url, table, stop))
    thread.start()
    try:
        for number in range(12):
            back_up(tmp_path / f"{number}.tar", as_json=False)
    finally:
        stop.set()
        thread.join()
    seen = []
    for number in range(12):
        store.empty()
        restore(tmp_path / f"{number}.tar", as_json=False)
        newest = store.server.ask("XREVRANGE", keys.out_stream(0), "+", "-", "COUNT", 1)
        line = store.server.ask("HGET", keys.lobby(0), table)
        if newest and line:
            seen.append(line)
            assert newest[0][0] == line
    assert len(set(seen)) > 3, "the owner wrote while it was copied"


def number_lines(url: str, table: str, stop: threading.Event) -> None:
    owner, nonce = RedisOwnerLog(url), b"numbers-its-line"
    acquired = owner.acquire(0, nonce, None)
    assert acquired is not None
    number = 0
    while not stop.is_set():
        number += 1
        written, _ = owner.exchange([commit(nonce, acquired.epoch, number, table)], {}, 0, 1)
        assert written == [None]
    owner.close()


# ------------------------------------------------------------------ archive and store agree


def test_records_later_than_the_store_are_left_out(tmp_path: Path) -> None:
    world = Archiving(tmp_path)
    ids = world.write(WholeGame(seed=3).played(rounds=2))
    world.copy()
    content = world.archive.read(GAME)
    assert content is not None
    for last in (0, 1, len(ids) // 2, len(ids) - 1):
        kept = kept_ids(frames.beginning(GAME, content, ids[last]))
        assert kept == [one for one in kept_ids(content) if id_order(one) <= id_order(ids[last])]
    assert frames.beginning(GAME, content, "1-1") == b""
    torn = content[:-5]
    assert content.startswith(frames.beginning(GAME, torn, ids[-1]))
    assert not any(
        isinstance(part, Torn)
        for part in frames.unpack(GAME, frames.beginning(GAME, torn, ids[-1]))
    )
    world.archive.close()


def kept_ids(content: bytes) -> list[str]:
    found = [part for part in frames.unpack(GAME, content) if not isinstance(part, Torn)]
    return [frame.out_id for frame, _ in found if isinstance(frame, Kept)]


def test_an_archive_that_is_ahead_is_cut_to_the_stores_moment(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Play goes on, and the archiver copies it, after the shard and before the archive."""
    records = WholeGame(seed=5).played().records
    store.write(records[:30])
    store.copy()
    moment = store.log.archived_up_to(0)
    copy_others = make._copy_others

    def then_more(*arguments: Any) -> None:
        copy_others(*arguments)
        store.write(records[30:])
        store.copy()

    monkeypatch.setattr(make, "_copy_others", then_more)
    back_up(file, as_json=False)
    ahead = (store.root / f"00/{GAME}.pit").read_bytes()
    shutil.rmtree(store.root)
    store.empty()
    restore(file, as_json=False)
    cut = (store.root / f"00/{GAME}.pit").read_bytes()
    assert len(cut) < len(ahead)
    assert kept_ids(cut)[-1] == moment
    store.write(records[30:40])
    store.copy()
    verdict = audit(find(GAME, DirectoryArchive(store.root), KEY.public_key(), None))
    assert verdict.findings == ()
    assert verdict.events > 0


def test_without_its_archive_there_is_no_backup(played: Store, file: Path) -> None:
    shutil.rmtree(played.root)
    failure = refused(Exit.NOT_FOUND, back_up, file)
    assert "PIT_ARCHIVE" in failure.remedy
    assert list(file.parent.iterdir()) == []


def test_a_store_without_an_archive_can_be_copied(store: Store, file: Path) -> None:
    back_up(file, as_json=False)
    store.empty()
    restore(file, as_json=False)
    assert store.log.meta().shards == SHARDS


def test_a_damaged_game_is_copied_as_it_is_and_named(
    played: Store, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = played.root / f"00/{GAME}.pit"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    back_up(file, as_json=False)
    assert GAME in capsys.readouterr().err
    assert [part for _, part, _ in parts(file, "archive/00/")] == [bytes(content)]


# ------------------------------------------------------------------ what is refused


def test_a_damaged_backup_is_refused_and_nothing_is_written(played: Store, backup: Path) -> None:
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


def test_what_is_no_backup_is_refused(store: Store, file: Path) -> None:
    store.empty()
    for content in (b"", b"hello", b"\0" * 20_480):
        file.write_bytes(content)
        refused(Exit.CHECK_FAILED, restore, file)
    file.unlink()
    refused(Exit.NOT_FOUND, restore, file)


def test_a_part_nobody_named_is_refused(backup: Path, played: Store) -> None:
    played.empty()
    with tarfile.open(backup, "a") as tar:
        tar.add(__file__, "archive/../../intruder")
    assert "intruder" in refused(Exit.CHECK_FAILED, restore, backup).why


@pytest.mark.parametrize("name", ["archive/../../x.pit", "archive/00/x.pit", "others/1.keys"])
def test_a_part_without_a_place_is_refused(backup: Path, played: Store, name: str) -> None:
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
def test_a_backup_of_a_newer_version_is_left_alone(backup: Path, played: Store, field: str) -> None:
    manifest = check(backup)
    newer = backup.with_name("newer.tar")
    with BackupWriter(newer) as writer:
        for part, content, _ in parts(backup, ""):
            if not part.startswith("manifest"):
                writer.add(part, content)
        writer.finish(manifest.model_copy(update={"parts": writer.parts, field: 99}))
    played.empty()
    assert "newer version" in refused(Exit.USAGE, restore, newer).what


def test_a_store_that_holds_something_is_refused(played: Store, backup: Path) -> None:
    before = played.contents()
    failure = refused(Exit.IN_USE, restore, backup)
    assert "FLUSHDB" in failure.remedy
    assert played.contents() == before


def test_an_archive_that_went_on_is_refused(played: Store, backup: Path, tmp_path: Path) -> None:
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


def test_an_archive_of_another_key_is_refused(played: Store, backup: Path) -> None:
    played.empty()
    (played.root / "public-key.hex").write_text("ab" * 32)
    refused(Exit.IN_USE, restore, backup)


def test_an_archive_that_was_not_lost_stays(played: Store, backup: Path) -> None:
    """Only the store was lost; and a restore that broke off is completed."""
    played.empty()
    path = played.root / f"00/{GAME}.pit"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    restore(backup, as_json=False)
    assert path.read_bytes() == whole


def test_a_running_archiver_is_noticed(played: Store, backup: Path) -> None:
    played.empty()
    running = DirectoryArchive(played.root, writing=True)
    refused(Exit.IN_USE, restore, backup)
    running.close()
    restore(backup, as_json=False)


def test_a_store_that_is_half_restored_is_none(
    played: Store, backup: Path, monkeypatch: pytest.MonkeyPatch
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


def test_an_unfit_server_gets_nothing(played: Store, backup: Path) -> None:
    played.empty()
    played.server.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    assert "noeviction" in refused(Exit.UNREACHABLE, restore, backup).why
    assert played.contents() == {}


def test_a_full_server_says_so(played: Store, backup: Path) -> None:
    played.empty()
    played.server.call("CONFIG", "SET", "maxmemory", "1")
    failure = refused(Exit.UNREACHABLE, restore, backup)
    assert "memory" in failure.remedy


def test_a_backup_is_never_overwritten(backup: Path) -> None:
    before = backup.read_bytes()
    refused(Exit.USAGE, back_up, backup)
    assert backup.read_bytes() == before


def test_a_directory_that_is_not_there(played: Store, tmp_path: Path) -> None:
    refused(Exit.USAGE, back_up, tmp_path / "nowhere" / "b.tar")


def test_a_backup_without_room_says_so_and_leaves_nothing(played: Store, file: Path) -> None:
    with no_room(10_000):
        failure = refused(Exit.NOT_WRITTEN, back_up, file)
    assert str(file) in failure.what
    assert "make room there" in failure.remedy
    assert not [one for one in file.parent.iterdir() if file.name in one.name]


def test_records_that_cannot_be_read_are_not_blamed_on_the_backup(
    played: Store, file: Path, monkeypatch: pytest.MonkeyPatch
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
    played: Store, backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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


def test_a_store_that_was_never_set_up_has_no_backup(store: Store, file: Path) -> None:
    store.empty()
    refused(Exit.UNREACHABLE, back_up, file)
    assert not file.exists()
