"""The archiver as a process: killed again and again while records come, it misses and doubles none."""

from pathlib import Path
from subprocess import Popen

import pytest

from services.archive import frames
from services.archive.audit import audit
from services.archive.directory import DirectoryArchive
from services.archive.frames import Kept
from services.archive.index import GameIndex
from services.archive.source import find
from services.archive.summary import summary_of
from services.log.redis import RedisOwnerLog, RedisReaderLog
from support.archiving import KEY
from support.pit import start
from support.waiting import wait_until
from support.whole_game import GAME, ShardWriter, WholeGame

WAIT_S = 20.0


@pytest.mark.parametrize(
    "kills",
    [2, pytest.param(5, marks=pytest.mark.all), pytest.param(40, marks=pytest.mark.soak)],
)
def test_a_killed_archiver_misses_and_doubles_nothing(
    valkey_url: str, tmp_path: Path, kills: int, request: pytest.FixtureRequest
) -> None:
    def archiver() -> "Popen[str]":
        process = start("serve", "archiver", settings=settings)
        request.addfinalizer(process.kill)  # of a test that fails, lest it copies for the next one
        return process

    settings = {
        "PIT_REDIS_URL": valkey_url,
        "PIT_DATA": str(tmp_path),
        "PIT_ARCHIVE_KEY": KEY.private_bytes_raw().hex(),
    }
    records = WholeGame(seed=5).played().records
    owner = RedisOwnerLog(valkey_url)
    reader = RedisReaderLog(valkey_url)
    writer = ShardWriter(owner)
    share = len(records) // (kills + 1)
    for kill in range(kills):
        process = archiver()
        before = reader.archived_up_to(0)
        for now_ms, record in records[kill * share : (kill + 1) * share]:
            writer.write(now_ms, record)
        if kill % 2 == 0:
            wait_until(lambda before=before: reader.archived_up_to(0) != before)
        process.kill()
        process.communicate()
    for now_ms, record in records[kills * share :]:
        last = writer.write(now_ms, record)
    process = archiver()
    wait_until(lambda: reader.archived_up_to(0) == last)
    process.terminate()
    _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, err
    archive = DirectoryArchive(tmp_path / "archive")
    kept = [part[0] for part in frames.unpack(GAME, archive.read(GAME) or b"")]  # type: ignore[index]
    assert sum(isinstance(frame, Kept) for frame in kept) == len(records)
    verdict = audit(find(GAME, archive, KEY.public_key(), None))
    assert (verdict.findings, verdict.finished, verdict.sealed) == ((), True, True)
    index = GameIndex(tmp_path / "archive")
    assert index.positions()[0] == last
    assert index.summaries() == {GAME: summary_of(find(GAME, archive, None, None))}
    owner.close()
    reader.close()
