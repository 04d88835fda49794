"""The wire format of everything in the log, and its strict, bounded decoder.

Everything is msgpack, without maps, floats and extensions: arrays of integers, text, bytes,
booleans and nil.

    command      [version, code, field, field, ...]
    in batch     [version, gateway, table, packed command, table, packed command, ...]
    record       [version, first_seq, [code, field, ...], [code, field, ...], ...]
    lobby line   [version, field, field, ...]
    table        [version, plain form of `engine.state.dump`]

A decoder looks at the length first, lets msgpack unpack within limits, and then checks every
field's exact type and range (`services.log.schema`). Whatever the bytes, nothing but
`Undecodable` comes out. Codes never change their meaning; a field is added at the end, with a
default and under a new version (`services.log.schema.ADDED`), and older versions stay readable.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgpack

from engine import commands, events
from engine.commands import Command
from engine.events import Event, Note, Record
from services.log.envelopes import InBatch, LobbyLine
from services.log.schema import U64_MAX, Decoder, Encoder, Undecodable, compile_class

__all__ = [
    "InBatch",
    "LobbyLine",
    "Undecodable",
    "kinds_in_record",
    "pack_batch",
    "pack_command",
    "pack_lobby_line",
    "pack_record",
    "pack_table",
    "unpack_batch",
    "unpack_command",
    "unpack_lobby_line",
    "unpack_record",
    "unpack_table",
]

VERSION: Final = 2
"""What writers write. Version 1 had not what `schema.ADDED` names, and in tables no places."""
OLDEST_VERSION: Final = 1
"""Readers know every one from this on: what a field that came later then has is its default."""

COMMAND_BYTES_MAX: Final = 4 * 1024
"""The largest, a table with all switches and a long name, has about 300."""
ENTRY_BYTES_MAX: Final = 64 * 1024
"""One entry of `in`, and one table's record."""
TABLE_BYTES_MAX: Final = 256 * 1024
"""A table of eight seats with all remembered answers has about 20 KiB."""
LOBBY_BYTES_MAX: Final = 4 * 1024
BATCH_COMMANDS_MAX: Final = 2_048
"""A command takes at least 24 bytes for its table's name: more than this do not fit an entry."""
RECORD_ITEMS_MAX: Final = 16_384
"""The smallest item takes three bytes; this many in one record fit an entry."""
TEXT_BYTES_MAX: Final = 256
"""Names have at most 64 characters, of at most four bytes each."""
TABLE_DEPTH_MAX: Final = 8
TABLE_ID: Final = re.compile(r"[0-9]{2}[a-z2-7]{20}")
"""Shard number and hash. The alphabet has no braces: a table's name cannot move a key."""

_COMMANDS: Final[dict[int, type]] = {
    1: commands.Ready,
    2: commands.Offer,
    3: commands.Withdraw,
    4: commands.RingBell,
    5: commands.Call,
    10: commands.OpenTable,
    11: commands.Join,
    12: commands.Leave,
    13: commands.Start,
    14: commands.RotateInvite,
    15: commands.RemoveSeat,
    16: commands.VoteRematch,
    17: commands.OpenSeated,
    20: commands.Attach,
    21: commands.Detach,
    22: commands.GatewayLost,
    23: commands.Tick,
    24: commands.Watch,
    25: commands.StartDue,
    30: commands.Freeze,
    31: commands.Unfreeze,
    32: commands.VoidRound,
    33: commands.AdjustScore,
    34: commands.Announce,
    35: commands.CloseTable,
}
"""Given out once, never changed, never used again."""

_ITEMS: Final[dict[int, type]] = {
    1: events.TableOpened,
    2: events.SeatTaken,
    3: events.SeatLeft,
    4: events.OwnerChanged,
    5: events.SeatAway,
    6: events.SeatBack,
    7: events.BotWanted,
    8: events.BotSeated,
    9: events.SeatForfeited,
    10: events.SeatsDropped,
    11: events.ReadyGiven,
    12: events.Called,
    13: events.RematchVoted,
    14: events.RematchAgreed,
    15: events.RematchFailed,
    20: events.Committed,
    21: events.Dealt,
    22: events.ExchangeOpened,
    23: events.OfferOpened,
    24: events.OfferEnded,
    25: events.Traded,
    26: events.BellRefused,
    27: events.Cornered,
    28: events.RoundScored,
    29: events.RoundVoid,
    30: events.GameEnded,
    31: events.TableClosed,
    32: events.StartCalled,
    33: events.InviteRotated,
    34: events.Frozen,
    35: events.Thawed,
    36: events.ScoreAdjusted,
    37: events.Announced,
    50: events.Answered,
    51: events.RequestAnswered,
    52: events.Attached,
    53: events.AttachRefused,
    54: events.Detached,
    55: events.Marked,
    56: events.StreamsLost,
    57: events.Shown,
    58: events.WatchRefused,
}
"""Events below 50, notes from 50 on. Given out once, never changed, never used again."""


def _codecs(
    classes: dict[int, type], *before: int
) -> tuple[dict[type, Encoder], dict[int, Decoder]]:
    """By class and by code; what is encoded begins with `before` and the code."""
    encoders: dict[type, Encoder] = {}
    decoders: dict[int, Decoder] = {}
    for code, cls in classes.items():
        encoders[cls], decoders[code] = compile_class(cls, *before, code)
    return encoders, decoders


_command_encoders, _command_decoders = _codecs(_COMMANDS, VERSION)
_item_encoders, _item_decoders = _codecs(_ITEMS)
_encode_lobby_line, _decode_lobby_line = compile_class(LobbyLine)

_pack: Callable[[Any], bytes] = msgpack.Packer(use_bin_type=True, autoreset=True).pack


def _unpack(data: bytes, bytes_max: int, array_max: int, bin_max: int, as_list: bool) -> Any:
    """Unpack within limits. The decoders bound the depth: they look no deeper than they know."""
    if type(data) is not bytes or len(data) > bytes_max:
        raise Undecodable("length")
    try:
        unpacked = msgpack.unpackb(
            data,
            raw=False,
            use_list=as_list,
            strict_map_key=True,
            max_array_len=array_max,
            max_map_len=0,
            max_str_len=TEXT_BYTES_MAX,
            max_bin_len=bin_max,
            max_ext_len=0,
        )
    except Exception:  # the library's documented and undocumented refusals are all the same here
        raise Undecodable("format") from None
    kind = list if as_list else tuple
    if type(unpacked) is not kind or not unpacked:
        raise Undecodable("shape")
    version = unpacked[0]
    if type(version) is not int or not OLDEST_VERSION <= version <= VERSION:
        raise Undecodable("version")
    return unpacked


def pack_command(command: Command) -> bytes:
    """A command as a gateway puts it into a batch."""
    return _pack(_command_encoders[type(command)](command))


def unpack_command(data: bytes) -> Command:
    """Raises `Undecodable`."""
    unpacked = _unpack(data, COMMAND_BYTES_MAX, 64, 256, False)
    if len(unpacked) < 2:
        raise Undecodable("shape")
    # True equals 1 as a key: the type is looked at first.
    code = unpacked[1]
    decode = _command_decoders.get(code) if type(code) is int else None
    if decode is None:
        raise Undecodable("code")
    command: Command = decode(unpacked)
    return command


def pack_batch(batch: InBatch) -> bytes:
    """An entry of `in`. Raises `ValueError` where it would be longer than an entry may be."""
    flat: list[Any] = [VERSION, batch.gateway]
    for pair in batch.commands:
        flat += pair
    return _bounded(_pack(flat), ENTRY_BYTES_MAX)


def unpack_batch(data: bytes) -> InBatch:
    """The frame of an entry; its commands stay packed. Raises `Undecodable`."""
    limit = 2 + 2 * BATCH_COMMANDS_MAX
    unpacked = _unpack(data, ENTRY_BYTES_MAX, limit, COMMAND_BYTES_MAX, False)
    if len(unpacked) < 2 or len(unpacked) % 2:
        raise Undecodable("shape")
    gateway, tables, packed = unpacked[1], unpacked[2::2], unpacked[3::2]
    if type(gateway) is not str or not _all_are(str, tables) or not _all_are(bytes, packed):
        raise Undecodable("type")
    matches = TABLE_ID.fullmatch
    if not gateway or not all(map(matches, tables)):
        raise Undecodable("range")
    return InBatch(gateway, tuple(zip(tables, packed, strict=True)))


def pack_record(record: Record) -> bytes:
    """One table's part of an out entry; the entry itself names the table."""
    return pack_items(record.first_seq, record.items)


def pack_items(first_seq: int, items: Iterable[Event | Note]) -> bytes:
    """A `Record` as `pack_record` packs it, from its parts."""
    flat: list[Any] = [VERSION, first_seq]
    flat += [_item_encoders[type(item)](item) for item in items]
    return _bounded(_pack(flat), ENTRY_BYTES_MAX)


def unpack_record(table: str, data: bytes) -> Record:
    """Raises `Undecodable`."""
    unpacked = _unpack(data, ENTRY_BYTES_MAX, RECORD_ITEMS_MAX, 256, False)
    if len(unpacked) < 2:
        raise Undecodable("shape")
    first_seq = unpacked[1]
    if type(first_seq) is not int:
        raise Undecodable("type")
    if not 0 <= first_seq <= U64_MAX:
        raise Undecodable("range")
    return Record(table, first_seq, tuple(map(_item, unpacked[2:])))


def kinds_in_record(data: bytes) -> set[type]:
    """Classes of the items in a packed record, for whoever need not decode most of them. Raises
    `Undecodable`; that it does not, says nothing of the items' fields."""
    unpacked = _unpack(data, ENTRY_BYTES_MAX, RECORD_ITEMS_MAX, 256, False)
    if len(unpacked) < 2:
        raise Undecodable("shape")
    try:
        return {_ITEMS[item[0]] for item in unpacked[2:]}
    except (LookupError, TypeError):
        raise Undecodable("code") from None


def _item(data: Any) -> Any:
    if type(data) is not tuple or not data:
        raise Undecodable("shape")
    code = data[0]
    decode = _item_decoders.get(code) if type(code) is int else None
    if decode is None:
        raise Undecodable("code")
    return decode(data)


def pack_lobby_line(line: LobbyLine) -> bytes:
    """A table's line in the lobby."""
    return _bounded(_pack((VERSION, *_encode_lobby_line(line))), LOBBY_BYTES_MAX)


def unpack_lobby_line(data: bytes) -> LobbyLine:
    """Raises `Undecodable`."""
    line: LobbyLine = _decode_lobby_line(_unpack(data, LOBBY_BYTES_MAX, 64, 256, False)[1:])
    return line


def pack_table(plain: list[Any]) -> bytes:
    """A table in a snapshot, from `engine.state.dump`."""
    return _bounded(_pack((VERSION, plain)), TABLE_BYTES_MAX)


def unpack_table(data: bytes) -> list[Any]:
    """The plain form that `engine.state.load` takes. Raises `Undecodable`.

    Its shape is the engine's to check; here only that it is lists of plain values, not deep.
    """
    unpacked = _unpack(data, TABLE_BYTES_MAX, 4_096, 4_096, True)
    if len(unpacked) != 2 or type(unpacked[1]) is not list:
        raise Undecodable("shape")
    plain: list[Any] = unpacked[1]
    layer: list[Any] = [plain]
    for _ in range(TABLE_DEPTH_MAX):
        layer = [inner for outer in layer for inner in outer if _is_list(inner)]
        if not layer:
            return plain
    raise Undecodable("shape")


_PLAIN: Final = frozenset({int, str, bytes, bool, type(None)})


def _is_list(thing: Any) -> bool:
    kind = type(thing)
    if kind is list:
        return True
    if kind not in _PLAIN:
        raise Undecodable("type")
    return False


def _all_are(kind: type, things: Iterable[Any]) -> bool:
    return {kind}.issuperset(map(type, things))


def _bounded(data: bytes, bytes_max: int) -> bytes:
    if len(data) > bytes_max:
        raise ValueError(f"{len(data)} bytes, at most {bytes_max} can be read back")
    return data
