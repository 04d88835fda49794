"""A file that was unrolled is read on from where it ended, and anew where it is another one."""

from pathlib import Path

import pytest

from engine.events import Record
from services.archive import frames
from services.archive.frames import Kept, Spoiled, Undone
from services.archive.source import from_content, numbered
from services.archive.summary import summary_of
from services.gateway.records import scroll as module
from services.gateway.records.scroll import Scroll, Scrolls
from services.log.codec import pack_record, unpack_record
from support.archiving import Archiving
from support.whole_game import GAME, WholeGame


@pytest.fixture(scope="module")
def game() -> WholeGame:
    return WholeGame(seed=7).played()


@pytest.fixture
def content(tmp_path: Path, game: WholeGame) -> bytes:
    world = Archiving(tmp_path)
    world.write(game)
    world.copy()
    world.archive.close()
    return (tmp_path / "00" / f"{GAME}.pit").read_bytes()


def seqs(scroll: Scroll) -> int:
    return len(scroll.events)


def test_a_file_that_grows_is_read_on(
    content: bytes, game: WholeGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[bytes] = []

    def unpack(table: str, packed: bytes) -> Record:
        decoded.append(packed)
        return unpack_record(table, packed)

    monkeypatch.setattr(module, "unpack_record", unpack)
    scrolls, lengths = Scrolls(), [*range(0, len(content), 997), len(content), len(content)]
    seen = [seqs(scrolls.unroll(GAME, content[:length])) for length in lengths]
    assert seen == sorted(seen)
    assert len(decoded) == len(game.records), "each record once, wherever the file was torn"
    whole = scrolls.unroll(GAME, content)
    assert whole.summary == summary_of(from_content(GAME, content, None))
    happened = [event for _, record in game.records for _, event in numbered(record)]
    assert [event for _, event in whole.events] == happened


def test_what_was_given_out_is_not_written_on(content: bytes) -> None:
    scrolls = Scrolls()
    first = scrolls.unroll(GAME, content[: len(content) // 2])
    before = seqs(first), first.summary.seq, first.last_id
    scrolls.unroll(GAME, content)
    assert (seqs(first), first.summary.seq, first.last_id) == before


def test_another_file_under_the_same_name_is_read_anew(content: bytes, tmp_path: Path) -> None:
    world = Archiving(tmp_path / "other")
    world.write(WholeGame(seed=8).played())
    world.copy()
    other = (tmp_path / "other" / "00" / f"{GAME}.pit").read_bytes()
    scrolls = Scrolls()
    scrolls.unroll(GAME, content)
    again = scrolls.unroll(GAME, other)
    assert again.summary == summary_of(from_content(GAME, other, None))
    assert seqs(scrolls.unroll(GAME, other[: len(other) // 2])) < seqs(again)


def test_what_was_undone_is_rolled_back(content: bytes) -> None:
    scrolls = Scrolls()
    scrolls.unroll(GAME, content)
    kept = from_content(GAME, content, None).records
    undone = content + frames.pack(Undone(kept[9].out_id))
    found = scrolls.unroll(GAME, undone)
    assert seqs(found) == sum(
        len(list(numbered(unpack_record(GAME, one.record)))) for one in kept[:10]
    )
    more = undone + frames.pack(Kept("9999999999999-1", 5, kept[10].record))
    assert seqs(scrolls.unroll(GAME, more)) == seqs(found) + len(
        list(numbered(unpack_record(GAME, kept[10].record)))
    )


def test_a_gap_a_spoiled_record_and_a_flipped_byte_are_noticed(content: bytes) -> None:
    kept = from_content(GAME, content, None).records
    gap = b"".join(frames.pack(one) for one in (*kept[:5], *kept[6:]))
    assert Scrolls().unroll(GAME, gap).missing
    spoiled = content + frames.pack(Spoiled("9999999999999-1"))
    assert Scrolls().unroll(GAME, spoiled).damaged
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    assert Scrolls().unroll(GAME, bytes(flipped)).damaged
    nonsense = frames.pack(Kept("1-1", 5, pack_record(unpack_record(GAME, kept[0].record))[:-1]))
    assert Scrolls().unroll(GAME, nonsense).damaged


def test_only_so_many_events_stay_decoded(content: bytes) -> None:
    one = seqs(Scrolls().unroll(GAME, content))
    scrolls = Scrolls(kept_max=2 * one)
    for letter in "abcd":
        scrolls.unroll("00" + letter * 20, content)
        assert scrolls.kept_events <= 2 * one
    assert scrolls.kept_events == 2 * one
    small = Scrolls(kept_max=one - 1)
    assert seqs(small.unroll(GAME, content)) == one
    assert small.kept_events == 0
