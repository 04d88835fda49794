"""The archiver's copy of a game: whole, once, whatever happens to the archiver or the store."""

from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest

from engine.events import AttachRefused, Record, TableClosed
from services.archive.copier import ShardCopier, flush, step
from services.archive.directory import ArchiveBusy, DirectoryArchive
from services.archive.frames import Head, Kept, Seal, Spoiled, Undone
from services.archive.index import GameIndex
from services.archive.source import numbered
from services.log.entry import NO_ENTRY
from services.log.memory import MemoryOwnerLog, MemoryReaderLog
from services.log.port import Damaged, OutEntry
from support.archiving import KEY, Archiving
from support.whole_game import GAME, ShardWriter, WholeGame

CUTS = (1, 5, 11, 12, 40)
OFFER_OPENED = 23
"""Its code in the log."""


@pytest.fixture
def archiving(tmp_path: Path) -> Iterator[Archiving]:
    world = Archiving(tmp_path)
    yield world
    world.archive.close()


@pytest.fixture(scope="module")
def game() -> WholeGame:
    return WholeGame(seed=7).played()


def test_a_game_is_copied_whole_and_sealed(archiving: Archiving, game: WholeGame) -> None:
    archiving.write(game)
    archiving.copy()
    head, *kept = archiving.kept()
    assert isinstance(head, Head)
    assert sum(isinstance(frame, Kept) for frame in kept) == len(game.records)
    assert isinstance(kept[-1], Seal)
    verdict = archiving.verdict(live=False)
    assert (verdict.findings, verdict.finished, verdict.sealed) == ((), True, True)


def test_the_position_is_told_after_the_records_are_on_disk(
    archiving: Archiving, game: WholeGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = archiving.write(game, 0, 10)
    reader = MemoryReaderLog(archiving.store)
    monkeypatch.setattr(archiving.archive, "append", fail)
    archiving.read()
    with pytest.raises(OSError, match="no space"):
        archiving.copier.flush()
    assert reader.archived_up_to(0) == "0-0"
    monkeypatch.undo()
    archiving.copy()
    assert reader.archived_up_to(0) == ids[-1]
    assert archiving.verdict(live=False).findings == ()


def test_an_archive_that_was_lost_in_mid_game_is_begun_anew(
    archiving: Archiving, game: WholeGame
) -> None:
    """Its records from here on are kept, for a person to judge; the other games go on."""
    half = len(game.records) // 2
    archiving.write(game, 0, half)
    archiving.copy()
    archiving.archive.forget(-1)
    archiving.index.forget([GAME])
    archiving.trim()
    archiving.copier = archiving.new_copier()
    archiving.write(game, half)
    archiving.copy()
    assert sum(isinstance(frame, Kept) for frame in archiving.kept()) == len(game.records) - half
    assert {finding.kind for finding in archiving.verdict().findings} == {"order"}
    assert not archiving.index.summaries()[GAME].opened


def fail(_pieces: object) -> None:
    raise OSError("no space left on device")


@pytest.mark.parametrize("flushed", [0, 3, 20])
def test_a_new_archiver_goes_on_where_the_dead_one_stopped(
    archiving: Archiving, game: WholeGame, flushed: int
) -> None:
    archiving.write(game, 0, flushed)
    archiving.copy()
    archiving.write(game, flushed)
    step([archiving.copier], archiving.source, 5)  # taken, and lost with the process
    archiving.copier = archiving.new_copier()
    archiving.copy()
    records = [frame for frame in archiving.kept() if isinstance(frame, Kept)]
    assert len(records) == len(game.records)
    assert archiving.verdict(live=False).sealed


def test_what_is_on_disk_but_not_told_is_not_doubled(archiving: Archiving, game: WholeGame) -> None:
    archiving.write(game, 0, 20)
    archiving.copy()
    MemoryReaderLog(archiving.store).archived(0, "0-0")
    archiving.copier = archiving.new_copier()
    archiving.write(game, 20)
    archiving.copy()
    assert sum(isinstance(frame, Kept) for frame in archiving.kept()) == len(game.records)
    assert archiving.verdict(live=False).findings == ()


@pytest.mark.parametrize("cut", CUTS)
def test_a_torn_end_is_mended(archiving: Archiving, game: WholeGame, cut: int) -> None:
    ids = archiving.write(game, 0, 20)
    archiving.copy()
    content = archiving.archive.read(GAME)
    assert content is not None
    archiving.archive.cut(GAME, len(content) - cut)
    MemoryReaderLog(archiving.store).archived(0, ids[10])
    assert [finding.kind for finding in archiving.verdict(live=False).findings] == ["damage"]
    archiving.copier = archiving.new_copier()
    archiving.write(game, 20)
    archiving.copy()
    assert archiving.verdict(live=False).findings == ()
    assert archiving.verdict(live=False).sealed


def test_a_damaged_file_is_neither_cut_nor_continued(archiving: Archiving, game: WholeGame) -> None:
    archiving.write(game, 0, 20)
    archiving.copy()
    path = archiving.archive.root / "00" / f"{GAME}.pit"
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    archiving.copier = archiving.new_copier()
    archiving.write(game, 20)
    archiving.copy()
    assert path.read_bytes() == bytes(damaged)


def test_a_spoiled_record_is_noted(archiving: Archiving, game: WholeGame) -> None:
    ids = archiving.write(game)
    archiving.store.damage_chunk(0, ids[30], GAME)
    archiving.copy()
    assert Spoiled(ids[30]) in archiving.kept()
    assert "damage" in {finding.kind for finding in archiving.verdict(live=False).findings}


def test_a_record_nobody_can_decode_is_kept_and_found_out(
    archiving: Archiving, game: WholeGame
) -> None:
    """Its checksum holds, so it is what a matcher wrote: nothing of it is thrown away."""
    half = len(game.records) // 2
    archiving.write(game, 0, half)
    odd: bytes = msgpack.packb((1, 1, (OFFER_OPENED, "no such field")))
    archiving.writer.write_packed(game.records[half][0], (GAME, odd))
    archiving.copy()
    assert odd in [frame.record for frame in archiving.kept() if isinstance(frame, Kept)]
    assert "damage" in {finding.kind for finding in archiving.verdict(live=False).findings}


def test_a_table_that_never_was_leaves_no_file(archiving: Archiving) -> None:
    nowhere = "00" + "b" * 20
    refused = AttachRefused(0, "gateway", bytes(16), 1)
    archiving.writer.write(1_000, Record(nowhere, 1, (refused,)))
    archiving.copy()
    assert list(archiving.archive.games()) == []
    assert archiving.copier.last_id == MemoryReaderLog(archiving.store).archived_up_to(0)


@pytest.mark.parametrize("lost", [1, 4])
@pytest.mark.parametrize("restarted", [False, True])
def test_what_the_store_lost_is_undone(
    archiving: Archiving, game: WholeGame, lost: int, restarted: bool
) -> None:
    """The archive is ahead of a store that lost its tail; play goes on from before that."""
    archiving.write(game, 0, 30)
    archiving.copy()
    told = MemoryReaderLog(archiving.store).archived_up_to(0)
    archiving.store.lose_tail(lost + 1)  # the archive's position and the last commits
    MemoryReaderLog(archiving.store).archived(0, told)
    archiving.writer = ShardWriter(MemoryOwnerLog(archiving.store), b"the next owner!!")
    archiving.write(game, 30 - lost)
    if restarted:
        archiving.copier = archiving.new_copier()
    else:
        archiving.copier.check_history()
    archiving.copy()
    assert sum(isinstance(frame, Undone) for frame in archiving.kept()) == 1
    verdict = archiving.verdict(live=False)
    assert (verdict.findings, verdict.sealed) == ((), True)


def test_a_game_trimmed_from_the_log_still_verifies(archiving: Archiving, game: WholeGame) -> None:
    archiving.write(game)
    archiving.copy()
    archiving.trim()
    assert archiving.verdict().findings == ()
    assert archiving.verdict().sealed


def test_a_game_half_in_the_archive_and_half_in_the_log(
    archiving: Archiving, game: WholeGame
) -> None:
    archiving.write(game, 0, 40)
    archiving.copy()
    archiving.write(game, 40)
    verdict = archiving.verdict()
    assert (verdict.findings, verdict.finished, verdict.sealed) == ((), True, False)
    assert not archiving.verdict(live=False).finished


def test_only_one_archiver_writes(archiving: Archiving) -> None:
    with pytest.raises(ArchiveBusy):
        DirectoryArchive(archiving.archive.root, writing=True)


def test_old_games_are_forgotten(archiving: Archiving, game: WholeGame) -> None:
    archiving.write(game)
    archiving.copy()
    assert archiving.archive.forget(30) == []
    path = archiving.archive.root / "00" / f"{GAME}.pit"
    import os

    month_ago_s = path.stat().st_mtime - 31 * 86_400
    os.utime(path, (month_ago_s, month_ago_s))
    assert archiving.archive.forget(30) == [GAME]
    assert list(archiving.archive.games()) == []


class TwoShards(MemoryReaderLog):
    """Shows shard 0 as shard 1, too, but with an entry that cannot be read."""

    spoiled = ""
    told = ""

    def archived(self, shard: int, out_id: str) -> None:
        if shard == 1:
            self.told = out_id

    def archived_up_to(self, shard: int) -> str:
        return super().archived_up_to(0) if shard == 0 else NO_ENTRY

    def out_after(self, shard: int, out_id: str, count: int, block_ms: int) -> list[OutEntry]:
        found = super().out_after(0, out_id, count, block_ms)
        if shard == 1 and any(entry.id == self.spoiled for entry in found):
            raise Damaged(f"out entry {self.spoiled} of shard 01")
        return found


def test_an_entry_that_cannot_be_read_stops_its_shard_and_no_other(
    archiving: Archiving, game: WholeGame, tmp_path: Path
) -> None:
    """What came before it is on disk; what comes after waits for a person, and is not lost."""
    ids = archiving.write(game)
    source = TwoShards(archiving.store)
    source.spoiled = ids[20]
    archive = DirectoryArchive(tmp_path / "other", writing=True)
    index = GameIndex(tmp_path / "other", writing=True)
    store_id = archiving.store.meta().store_id
    other = ShardCopier(1, store_id, archive, source, KEY, index)
    while step([archiving.copier, other], source, 7):
        pass
    flush([archiving.copier], archiving.index)
    flush([other], index)
    assert (archiving.copier.last_id, archiving.copier.damaged) == (ids[-1], False)
    assert (other.last_id, other.damaged, source.told) == (ids[19], True, ids[19])
    assert archiving.verdict(live=False).sealed
    index.close()
    archive.close()


def test_a_sealed_record_is_not_touched_by_a_second_game_of_its_name(
    archiving: Archiving, game: WholeGame
) -> None:
    now_ms, last = game.records[-1]
    after = last.first_seq + len(list(numbered(last)))
    archiving.write(game)
    archiving.writer.write(now_ms, Record(GAME, after, (TableClosed(now_ms),)))
    archiving.copy()
    before = archiving.archive.read(GAME)
    archiving.write(game, 0, 3)
    archiving.copy()
    assert archiving.archive.read(GAME) == before
    assert archiving.verdict(live=False).sealed
