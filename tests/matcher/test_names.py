"""Two matchers of one name: the newer refuses, and nobody takes a dead one for a living one."""

import pytest
from structlog.testing import capture_logs

from services.log.lease import LOOK_MS
from services.matcher.ownership import NAME_LOOKS, NameTaken
from support.world import World

WATCH_S = (NAME_LOOKS + 1) * LOOK_MS / 1000


def test_the_newer_of_two_refuses_and_the_older_says_so_once() -> None:
    world = World(shards=2)
    older = world.owner("m1")
    world.idle(older, WATCH_S)
    newer = world.matcher("m1")
    with capture_logs() as told, pytest.raises(NameTaken):
        world.run(older, newer, until=lambda: False, seconds=WATCH_S)
    assert len(older.ownership.shards) == 2
    assert newer.ownership.shards == {}
    world.idle(older, WATCH_S)
    assert [line["event"] for line in told] == ["name taken"]


def test_of_two_started_together_one_goes_on() -> None:
    world = World(shards=2)
    both = [world.matcher("m1"), world.matcher("m1")]
    while len(both) == 2:
        for each in tuple(both):
            try:
                each.step()
            except NameTaken:
                both.remove(each)
                each.stop()
    [left] = both
    world.idle(left, 3 * WATCH_S)
    assert len(left.ownership.shards) == 2


def test_who_follows_a_dead_one_of_its_name_is_not_alarmed() -> None:
    world = World(shards=2)
    world.owner("m1")
    with capture_logs() as told:
        for _ in range(3):
            successor = world.matcher("m1")
            world.run(successor, until=lambda one=successor: len(one.ownership.shards) == 2)
    assert "name taken" not in {line["event"] for line in told}


def test_a_dead_one_s_last_words_that_come_late_alarm_nobody() -> None:
    world = World(shards=2)
    dead = world.owner("m1")
    successor = world.matcher("m1")
    successor.step()
    dead.log.look("m1", [], [])
    with capture_logs() as told:
        world.idle(successor, 2 * WATCH_S)
    assert "name taken" not in {line["event"] for line in told}
    assert len(successor.ownership.shards) == 2
