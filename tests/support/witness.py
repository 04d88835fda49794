"""Reads a whole shard's log and says whether it can be true.

The out stream is the witness of everything that happened: no counter and no process is asked.
Checked are the predecessor chain, the order of log time, and for every table I1-I5 after each event
(`engine.check`), I6 gap-free numbers, I8 one effect or one refusal for each command, and with
`agrees` I9, that `evolve` over the log gives what its owner had in memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.check import check
from engine.events import Answered, Marked, Note, Record, RequestAnswered
from engine.evolve import evolve
from engine.state import digest
from engine.table import Table
from services.log.chain import NOTHING, Verdict, take
from services.log.codec import unpack_record
from services.log.entry import parse_id
from services.log.port import OutEntry

NOTES = Note.__args__


@dataclass
class Account:
    """What one shard's log tells."""

    tables: dict[str, Table] = field(default_factory=dict)
    entries: int = 0
    events: int = 0
    answers: int = 0
    refusals: int = 0
    owners: list[bytes] = field(default_factory=list)
    """Nonces of those who wrote, in order of their barriers."""
    numbers: dict[tuple[str, int, bool, int], int] = field(default_factory=dict)
    """Last number answered, by table, seat, whether a bot, and generation."""
    requests: set[tuple[str, bytes]] = field(default_factory=set)
    marks: dict[str, bytes] = field(default_factory=dict)
    """The newest mark's nonce by table."""

    def digests(self) -> dict[str, bytes]:
        return {name: digest(table) for name, table in self.tables.items()}


def bear_witness(entries: Iterable[OutEntry]) -> Account:
    """Check a shard's entries from its first on; every break is an `AssertionError`."""
    account = Account()
    entries = list(entries)
    _, _, verdict = take(NOTHING, entries)
    assert verdict is Verdict.ACCEPT, "I7: an entry does not follow its predecessor"
    now_ms = 0
    position = ((0, 0), 0)
    for entry in entries:
        account.entries += 1
        assert entry.now_ms >= now_ms, f"log time goes back at {entry.id}"
        now_ms = entry.now_ms
        done = entry.position.done or 1 << 32
        reached = (parse_id(entry.position.entry), done)
        assert reached >= position, f"input position goes back at {entry.id}"
        position = reached
        if entry.id.endswith("-0"):
            account.owners.append(entry.nonce)
            assert not entry.chunks, "a barrier says nothing"
        for chunk in entry.chunks:
            assert chunk.intact, f"damaged record of {chunk.table} at {entry.id}"
            hear(account, entry, unpack_record(chunk.table, chunk.body))
    return account


def hear(account: Account, entry: OutEntry, record: Record) -> None:
    """One record: numbers, cards, answers."""
    name = record.table
    table = account.tables.get(name) or Table(name)
    if record.first_seq == 0:
        assert all(isinstance(item, NOTES) for item in record.items), "events of a stopped table"
        return
    assert record.first_seq == table.seq + 1, f"I6: {name} at {entry.id}"
    for item in record.items:
        if isinstance(item, Marked):
            account.marks[name] = item.nonce
            assert item.nonce == entry.nonce
        elif isinstance(item, Answered | RequestAnswered) and item.kept:
            remember(account, name, item)
        before = table.seq
        evolve(table, item)
        if isinstance(item, NOTES):
            assert table.seq == before, "a note takes no number"
        else:
            assert table.seq == before + 1, "an event takes one number"
            account.events += 1
            assert account.marks.get(name) == entry.nonce, f"{name} not marked by its owner"
            check(table)
    if table.seq:
        account.tables[name] = table


def remember(account: Account, name: str, item: Answered | RequestAnswered) -> None:
    """I8: every number once, none left out; every request id once."""
    account.answers += 1
    account.refusals += item.rejection != 0
    if isinstance(item, RequestAnswered):
        assert (name, item.request) not in account.requests, "I8: a request answered twice"
        account.requests.add((name, item.request))
        return
    key = (name, item.seat, item.bot, item.generation)
    assert item.number == account.numbers.get(key, 0) + 1, f"I8: {key} number {item.number}"
    account.numbers[key] = item.number
