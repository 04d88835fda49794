"""When a shard is brought to disk: few files at once, none late, and all of them by and by."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from services.archive.turns import (
    FILES_A_SECOND,
    FILES_AT_ONCE,
    PENDING_BYTES_MAX,
    PENDING_ENTRIES_MAX,
    ROUND_S,
    Turns,
)

PASS_S = 0.05


@dataclass
class Shard:
    """What a copier tells of itself."""

    shard: int
    pending_games: int
    is_ahead: bool = True
    pending_entries: int = 1
    pending_bytes: int = 1


def turns(*shards: Shard) -> Turns:
    return Turns(cast("Any", shards))


def flushes(shards: list[Shard], seconds: float) -> list[tuple[float, list[int]]]:
    """When which shards are flushed while play goes on in all of them."""
    order, now_s, seen = turns(*shards), 100.0, []
    while now_s < 100.0 + seconds:
        if due := order.due(now_s):
            order.taken(len(due), sum(one.pending_games for one in due), now_s)
            seen.append((now_s, [one.shard for one in due]))
        now_s += PASS_S
    return seen


def test_large_shards_go_one_by_one_within_a_round() -> None:
    seen = flushes([Shard(number, 125) for number in range(16)], ROUND_S + 1)
    assert [due for _, due in seen[:16]] == [[number] for number in range(16)]
    assert seen[15][0] - seen[0][0] < ROUND_S + 16 * PASS_S
    gaps = [after - before for (before, _), (after, _) in pairwise(seen)]
    assert min(gaps) >= 125 / FILES_A_SECOND - PASS_S


def test_small_shards_go_together() -> None:
    seen = flushes([Shard(number, 3) for number in range(16)], 1)
    assert len(seen[0][1]) == 16
    assert seen[1][0] - seen[0][0] < 0.5, "so that a record is soon on disk"


def test_about_so_many_files_go_at_once() -> None:
    [(_, first), *_] = flushes([Shard(number, FILES_AT_ONCE // 2) for number in range(16)], 1)
    assert first == [0, 1]


def test_however_many_files_there_are_a_round_takes_no_longer() -> None:
    seen = flushes([Shard(number, 5_000) for number in range(4)], 2 * ROUND_S)
    assert [due for _, due in seen[:5]] == [[0], [1], [2], [3], [0]]
    assert seen[4][0] - seen[0][0] < ROUND_S + 4 * PASS_S


def test_shards_with_nothing_new_are_passed_over() -> None:
    still = [Shard(number, 0, is_ahead=False) for number in range(3)]
    assert flushes([*still, Shard(3, 1)], 1)[0][1] == [3]
    assert flushes(still, 1) == []


def test_a_shard_that_writes_much_is_not_kept_waiting() -> None:
    quiet, busy, busier = Shard(0, 125), Shard(1, 125), Shard(2, 125)
    order = turns(quiet, busy, busier)
    assert list(order.due(0.0)) == [quiet]
    order.taken(1, 125, 0.0)
    assert list(order.due(0.1)) == []
    busy.pending_entries, busier.pending_entries = PENDING_ENTRIES_MAX, PENDING_ENTRIES_MAX + 1
    assert list(order.due(0.1)) == [busier], "and not both in one moment"
    busier.pending_entries = 0
    assert list(order.due(0.1)) == [busy]


def test_memory_is_bounded() -> None:
    first, second = Shard(0, 1), Shard(1, 1, pending_bytes=PENDING_BYTES_MAX)
    order = turns(first, second)
    order.taken(2, 2_000, 0.0)
    assert list(order.due(0.1)) == [first, second]
