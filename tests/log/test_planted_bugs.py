"""Known-bad variants of the protocol, each of which the contract suite must catch.

Each plants one bug in a script (or in what reads the log) and runs the test that is there for it,
on a real Valkey: it must fail. A suite that stays green here proves nothing.
"""

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import pytest

from services.log import chain, scripts, snapshots
from services.log.port import LogError
from services.log.server import EmbeddedServer
from support.stores import Backend, ServerBackend, closing
from support.turns import Turns, table
from support.valkey import emptied

attacks = import_module("log.test_attacks")
owners = import_module("log.test_owner_contract")
snapshot_tests = import_module("log.test_snapshot_contract")


class Planted(NamedTuple):
    script: str
    good: str
    bad: str
    caught_by: Callable[..., Any]


PLANTED = {
    "a commit without the nonce check": Planted(
        "COMMIT",
        "if held[1] ~= ARGV[1] or not tonumber(held[2]) then return 'FENCED' end",
        "",
        attacks.test_a_deleted_lease_stops_its_holder_at_once,
    ),
    "a commit that does not look at the newest entry": Planted(
        "COMMIT",
        "if not last or last[1] ~= ARGV[2] or last[2][2] ~= ARGV[3] then return 'FENCED' end",
        "",
        owners.test_a_commit_that_does_not_continue_the_history_changes_nothing,
    ),
    "a commit that raises no counter": Planted(
        "COMMIT",
        "redis.call('HINCRBY', lease, 'c', 1)",
        "",
        owners.test_every_commit_and_snapshot_moves_the_counter,
    ),
    "a commit that writes before it checks": Planted(
        "COMMIT",
        "local held =",
        "redis.call('HINCRBY', lobby, 'early', 1)\nlocal held =",
        attacks.test_late_bytes_of_an_unclear_commit_are_fenced,
    ),
    "an acquisition that does not compare the counter": Planted(
        "ACQUIRE",
        "or (counter ~= '' and held[2] ~= counter)",
        "",
        owners.test_a_held_lease_is_taken_only_when_watched_and_standing_still,
    ),
    "an acquisition that takes what is held": Planted(
        "ACQUIRE",
        "return false",
        "held = {}",
        attacks.test_a_late_acquisition_is_refused,
    ),
    "a barrier without the input position": Planted(
        "ACQUIRE",
        "before, before_nonce, position, time = last[1], f[2], f[6], f[8]",
        "before, before_nonce, time = last[1], f[2], f[8]",
        owners.test_the_barrier_takes_over_position_and_log_time,
    ),
    "a barrier without its predecessor": Planted(
        "ACQUIRE",
        "local p = before .. '/' .. before_nonce",
        "local p = '0-0/'",
        attacks.test_a_zombie_is_fenced_in_all_it_does,
    ),
    "log time from the server's clock": Planted(
        "ACQUIRE",
        "before, before_nonce, position, time = last[1], f[2], f[6], f[8]",
        "before, before_nonce, position = last[1], f[2], f[6]",
        owners.test_the_barrier_takes_over_position_and_log_time,
    ),
    "epochs from the server's clock alone": Planted(
        "ACQUIRE",
        "epoch = math.max(epoch, tonumber(string.match(before, '^%d+')) + 1)",
        "",
        owners.test_epochs_grow,
    ),
    "a snapshot without the nonce check": Planted(
        "SNAPSHOT",
        "if held[1] ~= nonce or not tonumber(held[2]) then return 'FENCED' end",
        "",
        attacks.test_a_deleted_lease_stops_its_holder_at_once,
    ),
    "a snapshot that does not look at the newest entry": Planted(
        "SNAPSHOT",
        "if not last or last[1] ~= newest or last[2][2] ~= nonce then return 'FENCED' end",
        "",
        snapshot_tests.test_only_the_holder_on_its_own_history_stores_a_snapshot,
    ),
    "the previous snapshot is not kept": Planted(
        "SNAPSHOT",
        "redis.call('HSET', snap, 'u:' .. name, was)",
        "",
        snapshot_tests.test_a_damaged_table_is_taken_from_the_older_snapshot,
    ),
    "trimmed by length": Planted(
        "SNAPSHOT",
        "redis.call('XTRIM', out, 'MINID', '=', from)",
        "redis.call('XTRIM', out, 'MAXLEN', '=', 2)",
        snapshot_tests.test_events_are_trimmed_behind_the_older_snapshot_only,
    ),
    "trimmed behind the newest snapshot": Planted(
        "SNAPSHOT",
        "local from = older_id",
        "local from = id",
        snapshot_tests.test_events_are_trimmed_behind_the_older_snapshot_only,
    ),
    "trimmed within the last minute": Planted(
        "SNAPSHOT",
        "if before(keep_from, from) then from = keep_from end",
        "",
        snapshot_tests.test_the_last_minute_is_kept,
    ),
    "trimmed before it is archived": Planted(
        "SNAPSHOT",
        "if before(archived, from) then from = archived end",
        "",
        snapshot_tests.test_events_are_not_trimmed_before_they_are_archived,
    ),
    "attempts are kept for ever": Planted(
        "SNAPSHOT",
        "redis.call('DEL', tries)",
        "",
        owners.test_attempts_are_counted_until_the_next_snapshot,
    ),
    "anybody renews": Planted(
        "RENEW",
        "if held[1] ~= ARGV[1] or not tonumber(held[2]) then return 'FENCED' end",
        "",
        owners.test_only_the_holder_releases_and_renews,
    ),
    "anybody releases": Planted(
        "RELEASE",
        "if redis.call('HGET', KEYS[1], 'o') ~= ARGV[1] then return 'FENCED' end",
        "",
        owners.test_only_the_holder_releases_and_renews,
    ),
}


@pytest.fixture
def store(valkey_server: EmbeddedServer) -> Iterator[ServerBackend]:
    emptied(valkey_server)
    backend = ServerBackend(valkey_server)
    with closing(backend):
        yield backend


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_caught(name: str, store: ServerBackend, monkeypatch: pytest.MonkeyPatch):
    planted = PLANTED[name]
    script = getattr(scripts, planted.script)
    assert script.count(planted.good) == 1, "the script has changed: plant the bug anew"
    run(planted.caught_by, store)
    emptied(store.server)
    monkeypatch.setattr(scripts, planted.script, script.replace(planted.good, planted.bad))
    with pytest.raises((AssertionError, LogError, pytest.fail.Exception)):
        run(planted.caught_by, store)


def run(test: Callable[..., Any], store: Backend) -> None:
    """Run a test of another file as pytest would."""
    turns = Turns(store.faulty_owner())
    offered: dict[str, Any] = {"backend": store, "turns": turns, "change": "expected_id"}
    wanted = inspect.signature(test).parameters
    if "turns" in wanted:
        turns.acquire()
        if test.__module__ == attacks.__name__:
            turns.turn((table(0), b"first"))
    test(**{one: offered[one] for one in wanted})


def test_a_reader_that_does_not_check_the_predecessor_is_caught(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chain, "follows", lambda before, entry: True)
    with pytest.raises(AssertionError):
        attacks.test_a_lost_tail_with_a_new_owner_is_seen_by_readers(attacks.MemoryStore(4))


def test_a_reader_that_takes_damaged_snapshots_is_caught(
    store: ServerBackend, monkeypatch: pytest.MonkeyPatch
):
    def trusting(table: bytes, line: bytes) -> tuple[str, bytes | None]:
        out_id, _, packed = line[5:].partition(b" ")
        return out_id.decode(), packed

    monkeypatch.setattr(snapshots, "parse_snapshot_line", trusting)
    with pytest.raises(AssertionError):
        run(snapshot_tests.test_a_damaged_table_is_taken_from_the_older_snapshot, store)
