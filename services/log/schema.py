"""Encoders and decoders made once from the annotations of `@value` classes.

A value becomes an array of its fields in declared order; the decoder checks every field's exact
type and range before the class is built, so nothing of a wrong shape gets past it. Both are
compiled to plain functions, as `dataclasses` does: a loop over fields costs several times more.

    Offer(seat=1, ..., lot=5, directed_at=-1, ...)  <->  (1, ..., 5, -1, ...)

What a field may hold follows from its annotation, and for integers from its name too: see
`range_of`.
"""

import ast
import sys
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin

Fields = tuple[Any, ...]
Encoder = Callable[[Any], Fields]
Decoder = Callable[[Any], Any]


class Undecodable(ValueError):
    """Not a value of this format. `reason` is one of a fixed set of words, safe for a metric."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


REASONS = ("length", "format", "version", "code", "shape", "type", "range")
"""All words an `Undecodable` may carry: too long; not msgpack or beyond its limits; a format
version or a type code nobody gave out; a wrong number of fields; a field of a wrong type; a
field out of range."""

U64_MAX = (1 << 64) - 1
POINTS_MAX = 1 << 31
SEAT_LIKE_MAX = (1 << 32) - 1
"""Seats come from the public API as 32-bit numbers; whether one exists is the table's to say."""
CARDS_MAX = (1 << 50) - 1
"""Ten lanes of five bits."""

ADDED = frozenset({("RemoveSeat", "meant"), ("SeatShown", "place")})
"""Fields that version 1 of the format had not. They are the last of their classes, and what it
wrote is read with their defaults."""

SEAT_LIKE = frozenset(
    {"seat", "directed_at", "offer_directed_at", "viewer", "dealer", "bull_seat", "bear_seat"}
)
"""Integer fields in which `NOBODY`, -1, has a meaning."""
POINTS = frozenset({"delta", "deltas", "totals", "score", "parameters"})
"""Integer fields that may be below zero."""
CARDS = frozenset({"lot", "hand", "hands", "given", "received", "offer_lot"})


def range_of(name: str) -> tuple[int, int]:
    """Least and greatest value of the integer field `name`."""
    if name in SEAT_LIKE:
        return -1, SEAT_LIKE_MAX
    if name in POINTS:
        return -POINTS_MAX, U64_MAX
    if name in CARDS:
        return 0, CARDS_MAX
    return 0, U64_MAX


class _Source:
    """The text of a pair of functions, and the names it refers to."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"Undecodable": Undecodable}
        self.types: list[str] = []
        self.ranges: list[str] = []
        self.encoded: list[str] = []
        self.decoded: list[str] = []

    def name(self, prefix: str, thing: Any) -> str:
        name = f"{prefix}{len(self.names)}"
        self.names[name] = thing
        return name


def compile_class(cls: type, *head: int) -> tuple[Encoder, Decoder]:
    """Encoder and decoder of a `@value` class. The decoder takes what msgpack unpacked.

    The encoder puts `head` before the fields; the decoder passes over as many, unlooked at.
    """
    assert is_dataclass(cls)
    hints = _hints(cls)
    source = _Source()
    names = [field.name for field in fields(cls)]
    for name in names:
        _add_field(source, name, hints[name])
    later = tuple(field.default for field in fields(cls) if (cls.__name__, field.name) in ADDED)
    source.names["completed"] = _completer(len(head) + len(names), later)
    text = _encoder_text(source, head) + _decoder_text(source, names, len(head))
    namespace = source.names | {"cls": cls}
    # The text is made of field names of our own classes, at import; no input reaches it.
    exec(compile(text, f"<codec of {cls.__name__}>", "exec"), namespace)  # noqa: S102
    return namespace["encode"], namespace["decode"]


def _hints(cls: type) -> dict[str, Any]:
    """Types of all fields, as they stand in the source: a compiled class has forgotten what is in
    the brackets of `tuple[str, ...]`, and what may be `None`."""
    hints: dict[str, Any] = {}
    for each in reversed(cls.__mro__[:-1]):
        module = sys.modules[each.__module__]
        for name, annotation in _annotations(each.__module__)[each.__name__]:
            hints[name] = eval(annotation, vars(module))  # noqa: S307 (our own source)
    return hints


@cache
def _annotations(module: str) -> dict[str, list[tuple[str, str]]]:
    """Names and annotations of the fields of each class in a module's source, which lies beside
    what was compiled of it."""
    directory = Path(str(sys.modules[module].__file__)).parent
    source = directory / f"{module.rpartition('.')[2]}.py"
    return {
        node.name: [
            (ast.unparse(each.target), ast.unparse(each.annotation))
            for each in node.body
            if isinstance(each, ast.AnnAssign)
        ]
        for node in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }


def _encoder_text(source: _Source, head: tuple[int, ...]) -> str:
    inner = "".join(f"{expression}, " for expression in (*head, *source.encoded))
    return f"def encode(v):\n    return ({inner})\n"


def _decoder_text(source: _Source, names: list[str], head: int) -> str:
    lines = [
        "def decode(data):",
        f"    if type(data) is not tuple or len(data) != {head + len(names)}:",
        "        data = completed(data)",
    ]
    if names:
        lines.append("    (" + "".join(f"{name}, " for name in ["_"] * head + names) + ") = data")
    for conditions, reason in ((source.types, "type"), (source.ranges, "range")):
        if conditions:
            lines.append(f"    if not ({' and '.join(conditions)}):")
            lines.append(f"        raise Undecodable('{reason}')")
    lines.append(f"    return cls({', '.join(source.decoded)})")
    return "\n".join(lines) + "\n"


def _completer(length: int, later: Fields) -> Callable[[Any], Fields]:
    """What an older version wrote, with the defaults of the fields that came later."""

    def completed(data: Any) -> Fields:
        missing = length - len(data) if type(data) is tuple else 0
        if not 0 < missing <= len(later):
            raise Undecodable("shape")
        whole: Fields = data + later[-missing:]
        return whole

    return completed


def _add_field(source: _Source, name: str, hint: Any) -> None:
    """Add the checks and conversions of one field."""
    origin = get_origin(hint)
    if hint in (bool, str, bytes):
        source.types.append(f"type({name}) is {hint.__name__}")
        _add_plain(source, name)
    elif hint is int:
        low, high = range_of(name)
        source.types.append(f"type({name}) is int")
        source.ranges.append(_within(name, low, high))
        _add_plain(source, name)
    elif origin in (Union, types.UnionType):
        _add_optional(source, name, hint)
    elif origin is tuple and get_args(hint)[1:] == (Ellipsis,):
        _add_tuple(source, name, get_args(hint)[0])
    elif is_dataclass(hint):
        encode, decode = compile_class(hint)  # type: ignore[arg-type]
        source.encoded.append(f"{source.name('encode', encode)}(v.{name})")
        source.decoded.append(f"{source.name('decode', decode)}({name})")
    else:
        raise TypeError(f"field {name}: no wire form for {hint}")


def _within(name: str, low: int, high: int) -> str:
    # Nothing greater than this comes out of msgpack: one comparison less for most fields.
    return f"{low} <= {name}" if high == U64_MAX else f"{low} <= {name} <= {high}"


def _add_plain(source: _Source, name: str) -> None:
    source.encoded.append(f"v.{name}")
    source.decoded.append(name)


def _add_optional(source: _Source, name: str, hint: Any) -> None:
    kinds = [kind for kind in get_args(hint) if kind is not types.NoneType]
    if kinds == [bytes]:
        source.types.append(f"({name} is None or type({name}) is bytes)")
    elif kinds == [int]:
        low, high = range_of(name)
        source.types.append(f"({name} is None or type({name}) is int)")
        source.ranges.append(f"({name} is None or {_within(name, low, high)})")
    else:
        raise TypeError(f"field {name}: no wire form for {hint}")
    _add_plain(source, name)


def _add_tuple(source: _Source, name: str, member: Any) -> None:
    if is_dataclass(member):
        encode, decode = compile_class(member)  # type: ignore[arg-type]
        source.types.append(f"type({name}) is tuple")
        source.encoded.append(f"tuple(map({source.name('encode', encode)}, v.{name}))")
        source.decoded.append(f"tuple(map({source.name('decode', decode)}, {name}))")
        return
    check = source.name("check", _members_check(name, member))
    source.types.append(f"type({name}) is tuple")
    source.ranges.append(f"{check}({name})")
    _add_plain(source, name)


def _members_check(name: str, member: Any) -> Callable[[Fields], bool]:
    """A check of all members of a tuple; raises where a type is wrong."""
    low, high = range_of(name)
    optional = get_origin(member) in (Union, types.UnionType)
    kinds = set(get_args(member)) if optional else {member}
    counts = int in kinds
    if not kinds <= {int, str, bytes, types.NoneType}:
        raise TypeError(f"field {name}: no wire form for a tuple of {member}")

    def check(members: Fields) -> bool:
        for one in members:
            if type(one) not in kinds:
                raise Undecodable("type")
            if counts and one is not None and not low <= one <= high:
                return False
        return True

    return check
