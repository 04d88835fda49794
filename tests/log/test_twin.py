"""The twin in memory does what real servers do: the same seeded acts, the same outcomes."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from services.log.port import START, InPosition, Lease, LogError, OutEntry
from support.stores import Backend, MemoryBackend, ServerBackend
from support.turns import Turns, table
from support.valkey import emptied

ACTS = 250


class Trace:
    """What came of each act. Ids are replaced by the order in which they appeared, times by what
    has passed: clocks differ."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[tuple[str, str], str] = {}
        self._began_ms: int | None = None

    def add(self, act: str, outcome: Any) -> None:
        self.lines.append(f"{act}: {self._plain(outcome)}")

    def _plain(self, thing: Any) -> Any:
        if isinstance(thing, LogError):
            return "refused"
        if isinstance(thing, OutId):
            return self._name("out", thing)
        if isinstance(thing, InPosition):
            return self._name("in", thing.entry), thing.done
        if isinstance(thing, OutEntry):
            chain = self._name("out", thing.id), self._name("out", thing.before_id)
            position = self._plain(thing.position)
            return (
                chain,
                thing.nonce,
                thing.before_nonce,
                position,
                self._passed(thing),
                thing.chunks,
            )
        if isinstance(thing, list | tuple):
            return [self._plain(one) for one in thing]
        return thing

    def _name(self, kind: str, found: str) -> str:
        return self._names.setdefault((kind, found), f"{kind} {len(self._names)}")

    def _passed(self, entry: OutEntry) -> int:
        if self._began_ms is None:
            self._began_ms = entry.now_ms
        return entry.now_ms - self._began_ms


class OutId(str):
    """An id of `out`, told apart from other text."""


def act_out(backend: Backend, seed: int) -> list[str]:
    """Two owners contend for a shard, in every state they can be in."""
    chance, trace = random.Random(seed), Trace()
    owners = [Turns(backend.owner()), Turns(backend.owner())]
    reader = backend.reader()
    acts = [
        acquire, acquire_as_holder, commit, commit, commit, commit_twice, snapshot, snapshot,
        append, append, read, renew, release, delete_lease, archive, attempt,
    ]  # fmt: skip
    for number in range(ACTS):
        act = chance.choice(acts)
        turns = chance.choice(owners)
        try:
            outcome = act(backend, turns, chance, number)
        except LogError as error:
            outcome = error
        trace.add(act.__name__, outcome)
        if number % 10 == 0:
            trace.add("out", reader.out_after(1, "0-0", 1_000, 0))
            trace.add("snapshot", sorted_load(turns))
            trace.add("dead", backend.dead(1))
            trace.add("leases", turns.log.leases([1, 2]))
    return trace.lines


def sorted_load(turns: Turns) -> Any:
    loaded = turns.log.load(1)
    return OutId(loaded.out_id), sorted(loaded.tables.items()), loaded.damaged


def acquire(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    [lease] = turns.log.leases([1])
    if lease and chance.random() < 0.3:
        lease = Lease(lease.owner, lease.counter + chance.randrange(2))
    return take(turns, number, lease)


def acquire_as_holder(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    return take(turns, number, Lease(turns.nonce or b"N" * 16, 0))


def take(turns: Turns, number: int, lease: Lease | None) -> Any:
    nonce = b"N%015d" % number
    acquired = turns.log.acquire(1, nonce, lease)
    if acquired is not None:
        turns._begin(nonce, acquired)
    return acquired and (OutId(acquired.before_id), acquired.before_nonce, acquired.position)


def commit(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    if not turns.nonce:
        return "never an owner"
    names = chance.sample(range(6), chance.randrange(4))
    return turns.send(
        turns.next_commit(
            *((table(name), b"%d" % number) for name in names),
            later_ms=chance.randrange(30_000),
            lobby=[(table(name), chance.choice([None, b"line"])) for name in names],
        )
    )


def commit_twice(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    if not turns.nonce:
        return "never an owner"
    one = turns.next_commit()
    first, second = turns.log.exchange([one, one], {}, 0, 1)[0]
    if first is None:
        turns.applied(one)
    return first is None, second is None


def snapshot(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    if not turns.nonce:
        return "never an owner"
    names = chance.sample(range(6), 4)
    made = turns.next_snapshot(
        [(table(name), b"state %d" % number) for name in names[:2]],
        gone=[table(name) for name in names[2:]],
    )
    return turns.log.snapshot(made, chance.choice([0, 60_000]))


def append(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    return backend.append_raw(1, b"command %d" % number)


def read(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    position = chance.choice([START, turns.position])
    _, entries = turns.log.exchange([], {1: position, 2: START}, 0, chance.randrange(1, 5))
    if entries.get(1):
        turns.position = InPosition(entries[1][-1].id, chance.randrange(2))
    return {shard: [(one.body, one.skip) for one in found] for shard, found in entries.items()}


def renew(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    return turns.log.renew(1, turns.nonce or bytes(16))


def release(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    return turns.log.release(1, turns.nonce or bytes(16))


def delete_lease(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    return backend.delete_lease(1) if chance.random() < 0.2 else None


def archive(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    reader = backend.reader()
    reader.archived(1, turns.expected[0])
    return OutId(reader.archived_up_to(1))


def attempt(backend: Backend, turns: Turns, chance: random.Random, number: int) -> Any:
    return turns.log.count_attempt(1, "5-0", chance.randrange(2))


@pytest.fixture(params=["valkey", "redis"])
def fresh(request: pytest.FixtureRequest) -> Iterator[Callable[[], Backend]]:
    server = request.getfixturevalue(f"{request.param}_server")
    made: list[ServerBackend] = []

    def make() -> Backend:
        emptied(server)
        made.append(ServerBackend(server))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


@pytest.mark.parametrize("seed", range(3))
def test_the_twin_does_what_the_server_does(fresh: Callable[[], Backend], seed: int):
    compare(fresh, seed)


@pytest.mark.all
@pytest.mark.parametrize("seed", range(100, 130))
def test_the_twin_does_what_the_server_does_at_length(fresh: Callable[[], Backend], seed: int):
    compare(fresh, seed)


def compare(fresh: Callable[[], Backend], seed: int) -> None:
    real, twin = act_out(fresh(), seed), act_out(MemoryBackend(), seed)
    for number, (one, other) in enumerate(zip(real, twin, strict=True)):
        assert one == other, f"seed {seed}, line {number}"
    done = "\n".join(real)
    assert done.count("commit: None") >= 5, "enough of it went well"
    assert done.count("refused") >= 10, "and enough did not"
