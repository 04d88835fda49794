"""The witness must be able to say no: every check it makes is broken once."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.cards import ONE
from engine.events import Answered, Dealt, Marked, Record, RequestAnswered, Traded
from services.log.codec import pack_record, unpack_record
from services.log.port import Chunk, OutEntry
from support.pipes import whole_out
from support.witness import bear_witness
from support.world import World

Entries = list[OutEntry]


@pytest.fixture(scope="module")
def history() -> Entries:
    """One shard's entries under two owners."""
    world = World(shards=1)
    first, conductor = world.owner(), world.conductor(tables=2)
    world.play(conductor, first, trades=40)
    second = world.matcher("m2")
    world.run(second, until=lambda: bool(second.ownership.shards))
    world.play(conductor, second, trades=40)
    return whole_out(world.reader(), 0)


def test_a_true_history_is_believed(history: Entries) -> None:
    account = bear_witness(history)
    assert len(account.owners) == 2
    assert account.events > 100


def with_record(history: Entries, change: Callable[[Record], Record | None]) -> Entries:
    """The history with the first record that `change` changes."""
    changed = list(history)
    for at, entry in enumerate(history):
        for number, chunk in enumerate(entry.chunks):
            other = change(unpack_record(chunk.table, chunk.body))
            if other is not None:
                chunks = list(entry.chunks)
                chunks[number] = Chunk(chunk.table, pack_record(other), True)
                changed[at] = replace(entry, chunks=tuple(chunks))
                return changed
    raise AssertionError("nothing to change")


def without(kind: type) -> Callable[[Record], Record | None]:
    """Leave the first item of a kind out."""

    def change(record: Record) -> Record | None:
        for at, item in enumerate(record.items):
            if isinstance(item, kind):
                return replace(record, items=record.items[:at] + record.items[at + 1 :])
        return None

    return change


def twice(kind: type) -> Callable[[Record], Record | None]:
    """Say the first item of a kind, kept, again."""

    def change(record: Record) -> Record | None:
        for item in record.items:
            if isinstance(item, kind) and getattr(item, "kept", True):
                return replace(record, items=(*record.items, item))
        return None

    return change


def one_card_more(record: Record) -> Record | None:
    for at, item in enumerate(record.items):
        if isinstance(item, Dealt):
            hands = (item.hands[0] + ONE[0], *item.hands[1:])  # type: ignore[operator]
            forged = replace(item, hands=hands)
            return replace(record, items=(*record.items[:at], forged, *record.items[at + 1 :]))
    return None


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (without(Traded), "I6"),
        (without(Answered), "I8"),
        (without(Marked), "not marked"),
        (twice(Answered), "I8"),
        (twice(RequestAnswered), "I8"),
        (one_card_more, "I1"),
    ],
    ids=["trade left out", "answer left out", "no mark", "answer twice", "request twice", "card"],
)
def test_a_changed_record_is_not(
    history: Entries, change: Callable[[Record], Record | None], complaint: str
) -> None:
    with pytest.raises(Exception, match=complaint):
        bear_witness(with_record(history, change))


def test_an_entry_left_out_breaks_the_chain(history: Entries) -> None:
    with pytest.raises(AssertionError, match="I7"):
        bear_witness(history[:5] + history[6:])


def test_log_time_and_position_never_go_back(history: Entries) -> None:
    last = history[-1]
    with pytest.raises(AssertionError, match="log time"):
        bear_witness([*history[:-1], replace(last, now_ms=last.now_ms - 100_000)])
    with pytest.raises(AssertionError, match="input position"):
        bear_witness([*history[:-1], replace(last, position=history[0].position)])


def test_a_damaged_record_is_said(history: Entries) -> None:
    last = next(entry for entry in reversed(history) if entry.chunks)
    chunks = tuple(replace(chunk, intact=False) for chunk in last.chunks)
    at = history.index(last)
    with pytest.raises(AssertionError, match="damaged"):
        bear_witness([*history[:at], replace(last, chunks=chunks), *history[at + 1 :]])
