"""`pit backup` and `pit restore`: what comes back is what there was."""

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from services.archive import frames
from services.archive.audit import audit
from services.archive.directory import DirectoryArchive
from services.archive.frames import Kept, Torn, id_order
from services.archive.keys import public_key, publish
from services.archive.source import find
from services.cli.backup import make, streams
from services.cli.backup.container import check, parts
from services.cli.backup.make import back_up
from services.cli.backup.restore import restore
from services.cli.failures import Exit
from services.log import keys
from services.log.connection import SyncConnection
from services.log.port import START, Commit, Fenced, LogError
from services.log.redis import RedisOwnerLog
from support.archiving import KEY, Archiving
from support.backed_up import REFRESH_MS, PlayedStore, refused
from support.valkey import SHARDS
from support.whole_game import GAME, WholeGame

# ------------------------------------------------------------------ there and back


def test_everything_comes_back_but_who_lived(
    played: PlayedStore, file: Path, capsys: pytest.CaptureFixture[str]
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
    played: PlayedStore, backup: Path
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
    store: PlayedStore, file: Path, capsys: pytest.CaptureFixture[str]
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
    old, new = (
        PlayedStore(redis_url, tmp_path / "archive"),
        PlayedStore(valkey_url, tmp_path / "archive"),
    )
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


def test_a_zombie_of_before_owns_nothing(played: PlayedStore, file: Path) -> None:
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


def test_names_come_page_by_page_and_never_by_keys(played: PlayedStore, file: Path) -> None:
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


def entries(store: PlayedStore, key: str) -> Any:
    told = store.server.ask("XINFO", "STREAM", key)
    return store.server.ask("XRANGE", key, "-", "+"), told[told.index(b"last-generated-id") + 1]


def test_a_long_stream_goes_page_by_page(
    played: PlayedStore, file: Path, monkeypatch: pytest.MonkeyPatch
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


def test_a_stream_that_is_empty_now_still_gives_out_later_ids(
    played: PlayedStore, file: Path
) -> None:
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
    played: PlayedStore, file: Path, monkeypatch: pytest.MonkeyPatch, trims: int, code: Exit | None
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


def test_a_shard_is_copied_at_one_moment(store: PlayedStore, tmp_path: Path) -> None:
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
    store: PlayedStore, file: Path, monkeypatch: pytest.MonkeyPatch
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


def test_without_its_archive_there_is_no_backup(played: PlayedStore, file: Path) -> None:
    shutil.rmtree(played.root)
    failure = refused(Exit.NOT_FOUND, back_up, file)
    assert "PIT_ARCHIVE" in failure.remedy
    assert list(file.parent.iterdir()) == []


def test_a_store_without_an_archive_can_be_copied(store: PlayedStore, file: Path) -> None:
    back_up(file, as_json=False)
    store.empty()
    restore(file, as_json=False)
    assert store.log.meta().shards == SHARDS


def test_a_damaged_game_is_copied_as_it_is_and_named(
    played: PlayedStore, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = played.root / f"00/{GAME}.pit"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    back_up(file, as_json=False)
    assert GAME in capsys.readouterr().err
    assert [part for _, part, _ in parts(file, "archive/00/")] == [bytes(content)]
