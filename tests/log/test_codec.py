"""The wire format: every value comes back, and the bytes stay what they are."""

import json
import types
import typing
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import commands, events
from services.log import codec
from services.log.codec import InBatch, LobbyLine, Undecodable
from services.log.schema import ADDED, REASONS, range_of
from support.turns import table

COMMANDS = list(codec._COMMANDS.values())
ITEMS = list(codec._ITEMS.values())
A_FEW = settings(max_examples=settings.default.max_examples // 5)
"""For tests that run once a class: there are some forty."""
GOLDEN = Path(__file__).parent / "golden_bytes.json"
OLDEST = Path(__file__).parent / "golden_bytes_1.json"


# ------------------------------------------------------------------ any value of any class


def values_of(hint: Any, name: str = "") -> st.SearchStrategy[Any]:
    """Any value the annotation allows, within the ranges the format gives to its name."""
    origin = get_origin(hint)
    if hint is bool:
        return st.booleans()
    if hint is int:
        return st.integers(*range_of(name))
    if hint is str:
        return st.text(max_size=64)
    if hint is bytes:
        return st.binary(max_size=64)
    if origin in (Union, types.UnionType):
        return st.one_of(*(values_of(kind, name) for kind in get_args(hint)))
    if hint is types.NoneType:
        return st.none()
    if origin is tuple:
        return st.lists(values_of(get_args(hint)[0], name), max_size=4).map(tuple)
    assert is_dataclass(hint)
    return instances_of(hint)


def instances_of(cls: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls)
    return st.builds(cls, **{one.name: values_of(hints[one.name], one.name) for one in fields(cls)})


def test_the_tables_of_codes_know_every_class():
    told = {
        one
        for one in vars(commands).values()
        if isinstance(one, type)
        and is_dataclass(one)
        and one not in (commands.SeatCommand, commands.RequestCommand)
        and one.__module__ == commands.__name__
    }
    assert set(COMMANDS) == told
    assert set(ITEMS) == set(get_args(events.Event)) | set(get_args(events.Note))
    for code, cls in codec._ITEMS.items():
        assert (code < 50) == (cls in get_args(events.Event)), cls


@pytest.mark.parametrize("cls", COMMANDS, ids=lambda cls: cls.__name__)
@A_FEW
@given(data=st.data())
def test_any_command_comes_back(cls: type, data: st.DataObject):
    command = data.draw(instances_of(cls))
    packed = codec.pack_command(command)
    assert codec.unpack_command(packed) == command
    assert type(codec.unpack_command(packed)) is cls


@pytest.mark.parametrize("cls", ITEMS, ids=lambda cls: cls.__name__)
@A_FEW
@given(data=st.data())
def test_any_event_and_note_comes_back(cls: type, data: st.DataObject):
    items = tuple(data.draw(st.lists(instances_of(cls), min_size=1, max_size=3)))
    record = events.Record(table(0), data.draw(st.integers(0, 2**64 - 1)), items)
    packed = codec.pack_record(record)
    back = codec.unpack_record(table(0), packed)
    assert back == record
    assert [type(item) for item in back.items] == [cls] * len(items)
    assert codec.kinds_in_record(packed) == {cls}


@given(st.data())
def test_any_batch_comes_back(data: st.DataObject):
    tables = st.from_regex(codec.TABLE_ID, fullmatch=True)
    pairs = data.draw(st.lists(st.tuples(tables, st.binary(max_size=200)), max_size=8))
    batch = InBatch(data.draw(st.text(min_size=1, max_size=60)), tuple(pairs))
    assert codec.unpack_batch(codec.pack_batch(batch)) == batch


@given(instances_of(LobbyLine))
def test_any_lobby_line_comes_back(line: LobbyLine):
    assert codec.unpack_lobby_line(codec.pack_lobby_line(line)) == line


plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.text(max_size=20),
    st.binary(max_size=20),
)


@given(st.lists(st.recursive(plain, lambda inner: st.lists(inner, max_size=4), max_leaves=20)))
def test_any_plain_table_comes_back(state: list[Any]):
    if depth(state) > codec.TABLE_DEPTH_MAX:
        with pytest.raises(Undecodable):
            codec.unpack_table(codec.pack_table(state))
    else:
        assert codec.unpack_table(codec.pack_table(state)) == state


def depth(thing: Any) -> int:
    return 1 + max(map(depth, thing), default=0) if isinstance(thing, list) else 0


# ------------------------------------------------------------------ stability


def samples() -> dict[str, bytes]:
    """One value of every class, made from its annotations alone."""
    found = {}
    for cls in COMMANDS:
        found[f"command {cls.__name__}"] = codec.pack_command(sample(cls))
    for cls in ITEMS:
        record = events.Record(table(0), 7, (sample(cls),))
        found[f"record {cls.__name__}"] = codec.pack_record(record)
    found["batch"] = codec.pack_batch(InBatch("gateway", ((table(0), b"one"), (table(1), b"two"))))
    found["alive"] = codec.pack_batch(InBatch("gateway", ()))
    found["lobby line"] = codec.pack_lobby_line(sample(LobbyLine))
    found["table"] = codec.pack_table([1, "text", b"bytes", None, True, [2, [3]]])
    return found


def sample(hint: Any, name: str = "", *, oldest: bool = False) -> Any:
    """With `oldest` as the first version had it: what came later has its default."""
    origin = get_origin(hint)
    if hint is bool:
        return True
    if hint is int:
        return len(name)
    if hint is str:
        return name
    if hint is bytes:
        return name.encode()
    if origin in (Union, types.UnionType):
        return sample(get_args(hint)[0], name, oldest=oldest)
    if origin is tuple:
        return (sample(get_args(hint)[0], name, oldest=oldest),) * 2
    hints = get_type_hints(hint)
    there = [one for one in fields(hint) if not oldest or (hint.__name__, one.name) not in ADDED]
    return hint(*(sample(hints[one.name], one.name, oldest=oldest) for one in there))


def test_the_bytes_stay_what_they_are():
    """Records outlive the code: other bytes for a released value are a new version of the format,
    never an edit of `golden_bytes.json`."""
    golden = json.loads(GOLDEN.read_text())
    assert {name: packed.hex() for name, packed in samples().items()} == golden


@pytest.mark.parametrize(("name", "packed"), json.loads(OLDEST.read_text()).items())
def test_what_the_first_version_wrote_is_read(name: str, packed: str):
    kind, _, cls = name.partition(" ")
    data = bytes.fromhex(packed)
    if kind == "command":
        assert codec.unpack_command(data) == sample(getattr(commands, cls), oldest=True)
    elif kind == "record":
        [item] = codec.unpack_record(table(0), data).items
        assert item == sample(getattr(events, cls), oldest=True)
    elif name == "lobby line":
        assert codec.unpack_lobby_line(data) == sample(LobbyLine, oldest=True)
    elif name == "table":
        assert codec.unpack_table(data) == [1, "text", b"bytes", None, True, [2, [3]]]
    else:
        assert codec.unpack_batch(data).gateway == "gateway"


# ------------------------------------------------------------------ what is refused


OFFER = commands.Offer(1, 3, 1, 7, 2, 120, 2**63, 5, -1, False, 0)
GOOD = msgpack.unpackb(codec.pack_command(OFFER), use_list=True)


def changed(at: int, thing: Any) -> bytes:
    fields_ = list(GOOD)
    fields_[at] = thing
    packed: bytes = msgpack.packb(fields_, use_bin_type=True)
    return packed


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (b"", "format"),
        (b"\xc1", "format"),
        (codec.pack_command(OFFER)[:-1], "format"),
        (codec.pack_command(OFFER) + b"\x00", "format"),
        (bytes(codec.COMMAND_BYTES_MAX + 1), "length"),
        (b"\xdd\xff\xff\xff\xff", "format"),
        (b"\xdf\xff\xff\xff\xff", "format"),
        (b"\xdb\xff\xff\xff\xff", "format"),
        (b"\x91" * 1100 + b"\x01", "format"),
        (b"\x91" * 1000 + b"\x01", "version"),
        (b"\x80", "shape"),
        (b"\x81\x01\x02", "format"),
        (b"\x82\xa1a\x01\xa1a\x02", "format"),
        (b"\xd4\x01\x00", "format"),
        (b"\xd6\xff\x00\x00\x00\x00", "format"),
        (b"\x05", "shape"),
        (b"\x90", "shape"),
        (b"\x91\x01", "shape"),
        (b"\x92\xc3\x17", "version"),
        (b"\x92\x00\x17", "version"),
        (b"\x92\x03\x17", "version"),
        (b"\x92\xcd\x03\xe7\x17", "version"),
        (b"\x92\x01\x63", "code"),
        (b"\x92\x01\xc3", "code"),
        (b"\x92\x01\x90", "code"),
        (b"\x93\x01\x17\x00", "shape"),
        (changed(2, True), "type"),
        (changed(2, 1.0), "type"),
        (changed(2, float("nan")), "type"),
        (changed(2, "1"), "type"),
        (changed(2, None), "type"),
        (changed(2, [1]), "type"),
        (changed(2, -2), "range"),
        (changed(2, 2**32), "range"),
        (changed(3, -1), "range"),
        (changed(9, 2**50), "range"),
        (changed(11, 0), "type"),
    ],
)
def test_malformed_commands_are_refused_with_a_word(packed: bytes, reason: str):
    """B22-B24 of the bad-input matrix."""
    with pytest.raises(Undecodable) as refused:
        codec.unpack_command(packed)
    assert refused.value.reason == reason
    assert reason in REASONS


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (msgpack.packb([1]), "shape"),
        (msgpack.packb([1, "g", table(0)]), "shape"),
        (msgpack.packb([1, b"g"]), "type"),
        (msgpack.packb([1, ""]), "range"),
        (msgpack.packb([1, "g", table(0), "text"]), "type"),
        (msgpack.packb([1, "g", table(0), []]), "type"),
        (msgpack.packb([1, "g", "{01}:x", b""]), "range"),
        (msgpack.packb([1, "g", table(0)[:-1] + "\n", b""]), "range"),
        (msgpack.packb([1, "g", table(0) + "\n", b""]), "range"),
        (msgpack.packb([1, "g", table(0)[:-1] + "1", b""]), "range"),
        (msgpack.packb([1, "g", table(0), bytes(codec.COMMAND_BYTES_MAX + 1)]), "format"),
        (bytes(codec.ENTRY_BYTES_MAX + 1), "length"),
    ],
)
def test_malformed_batches_are_refused(packed: bytes, reason: str):
    with pytest.raises(Undecodable) as refused:
        codec.unpack_batch(packed)
    assert refused.value.reason == reason


def test_too_much_to_be_read_back_is_not_packed():
    big = InBatch("g", tuple((table(0), bytes(4_000)) for _ in range(17)))
    with pytest.raises(ValueError, match="at most 65536"):
        codec.pack_batch(big)
    with pytest.raises(ValueError, match="at most"):
        codec.pack_table([bytes(4_000)] * 70)


def test_after_a_refused_pack_the_next_is_clean():
    with pytest.raises(TypeError):
        codec.pack_table([object()])
    assert codec.unpack_command(codec.pack_command(OFFER)) == OFFER


# ------------------------------------------------------------------ fuzz


anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(),
        st.text(max_size=300),
        st.binary(max_size=300),
        st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=8)),
        st.builds(msgpack.Timestamp, st.integers(0, 2**34)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=20),
        st.dictionaries(st.one_of(st.text(max_size=5), st.integers(0, 9)), inner, max_size=5),
    ),
    max_leaves=30,
)
near = st.builds(
    lambda version, code, rest: msgpack.packb([version, code, *rest]),
    st.sampled_from([1, 1, 1, 2, True]),
    st.integers(0, 60),
    st.lists(anything, max_size=16),
)
bytes_like = st.one_of(st.binary(max_size=400), anything.map(msgpack.packb), near)


DECODERS: dict[str, typing.Callable[[bytes], Any]] = {
    "command": codec.unpack_command,
    "batch": codec.unpack_batch,
    "record": lambda data: codec.unpack_record(table(0), data),
    "kinds": codec.kinds_in_record,
    "lobby line": codec.unpack_lobby_line,
    "table": codec.unpack_table,
}


def assert_decodes_or_refuses(name: str, data: bytes) -> None:
    reason = None
    try:
        DECODERS[name](data)
    except Undecodable as refused:
        reason = refused.reason
    assert reason is None or reason in REASONS


@pytest.mark.parametrize("name", DECODERS)
@given(data=bytes_like)
def test_nothing_but_undecodable_comes_out(name: str, data: bytes):
    assert_decodes_or_refuses(name, data)


GOOD_BYTES = {
    "command": [packed for name, packed in samples().items() if name.startswith("command")],
    "batch": [samples()["batch"]],
    "record": [packed for name, packed in samples().items() if name.startswith("record")],
    "kinds": [packed for name, packed in samples().items() if name.startswith("record")],
    "lobby line": [samples()["lobby line"]],
    "table": [samples()["table"]],
}


@pytest.mark.parametrize("name", DECODERS)
@given(data=st.data())
def test_good_bytes_with_a_few_wrong_ones(name: str, data: st.DataObject):
    packed = bytearray(data.draw(st.sampled_from(GOOD_BYTES[name])))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    assert_decodes_or_refuses(name, bytes(packed))


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("data", [b"text", bytearray(b"\x91\x01"), memoryview(b"\x91\x01"), "x"])
def test_only_bytes_are_decoded(name: str, data: Any):
    with pytest.raises(Undecodable):
        DECODERS[name](data)
