"""What becomes of commits is told when it changes, and not again and again."""

from structlog.testing import capture_logs

from services.log.memory import Fault
from support.world import World


def test_a_store_that_stays_full_is_told_once_a_shard_and_so_is_its_end() -> None:
    world = World(shards=4)
    matcher = world.owner()
    conductor = world.conductor(tables=8)
    world.play(conductor, matcher, trades=10)
    refused = 0

    def full(operation: str) -> Fault:
        nonlocal refused
        refused += operation != "read"
        return Fault.NONE if operation == "read" else Fault.FULL

    with capture_logs() as told:
        world.store.fault = full
        for _ in range(100):
            world.idle(matcher, 0.1)
        world.store.fault = lambda operation: Fault.NONE
        world.play(conductor, matcher, trades=20)
    assert refused > 50
    by_shard = {
        event: sorted(line["shard"] for line in told if line["event"] == event)
        for event in ("commit failed", "commits again")
    }
    assert by_shard["commit failed"] == by_shard["commits again"]
    assert by_shard["commit failed"] == sorted(set(by_shard["commit failed"])) != []
    assert {line["error"] for line in told if "error" in line} == {"StoreFull"}
