"""The file of one game: frames, their checksums, and the seal over all of them.

    frame   length u32 | CRC-32 of body u32 | CRC-32 of the eight bytes before u32 | body
    body    msgpack array: kind, then the fields of one of the classes below, in order

The first frame is the `Head`. A running SHA-256 goes over the bodies of all frames but the seals;
a `Seal` holds the digest so far, signed with the archive's Ed25519 key. Who alters a record can
renew the checksums and the digest, but not the signature.

A file ends torn when its writer died in an append: an intact header whose body is short, fewer
bytes than a header, or zeros. Anything else that does not check is damage, and never cut off.
"""

import struct
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, Final
from zlib import crc32

import msgpack
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from engine.value import value
from services.log.port import Damaged
from services.log.schema import compile_class

FORMAT: Final = 1
BODY_BYTES_MAX: Final = 16 * 1024 * 1024
"""Far above the largest record; bounds what a damaged length can make us read."""

_HEADER = struct.Struct(">III")
_PREFIX = struct.Struct(">II")
_SEAL_DOMAIN = b"pit-exchange game record 1\x00"


@value
class Head:
    """First frame of every file."""

    format: int
    game: str
    store_id: str


@value
class Kept:
    """One record, as it stood in the log."""

    out_id: str
    now_ms: int
    record: bytes


@value
class Undone:
    """The store lost what followed this entry: records above with a later id never counted."""

    after_id: str


@value
class Spoiled:
    """The log's record of this table could not be read; there is nothing to keep."""

    out_id: str


@value
class Seal:
    frames: int
    """How many frames stand before this one, seals not counted."""
    digest: bytes
    signature: bytes


Frame = Head | Kept | Undone | Spoiled | Seal
KINDS: Final[tuple[type[Frame], ...]] = (Head, Kept, Undone, Spoiled, Seal)
"""A kind's number is its place here. Given out once, never changed."""
_ENCODERS, _DECODERS = zip(*map(compile_class, KINDS), strict=True)
_KIND_OF: Final = {cls: kind for kind, cls in enumerate(KINDS)}
_pack: Final[Callable[[Any], bytes]] = msgpack.Packer(autoreset=True).pack


@value
class Torn:
    """Where the intact frames end in a file whose last append was interrupted."""

    length: int


def pack(frame: Frame) -> bytes:
    return _wrap(_pack_body(frame))


def _pack_body(frame: Frame) -> bytes:
    kind = _KIND_OF[type(frame)]
    return _pack((kind, *_ENCODERS[kind](frame)))


def _wrap(body: bytes) -> bytes:
    prefix = _PREFIX.pack(len(body), crc32(body))
    return prefix + crc32(prefix).to_bytes(4, "big") + body


def packed_length(body: bytes) -> int:
    """Bytes of the file that a frame with this body takes."""
    return _HEADER.size + len(body)


def unpack(game: str, content: bytes) -> Iterator[tuple[Frame, bytes] | Torn]:
    """Frames with their bodies, and last a `Torn` if the end is.

    Raises `Damaged`, naming the game and the place.
    """
    position = 0
    while position < len(content):
        rest = len(content) - position
        if rest < _HEADER.size or not any(memoryview(content)[position:]):
            yield Torn(position)
            return
        length, body_crc, header_crc = _HEADER.unpack_from(content, position)
        prefix_end = position + _PREFIX.size
        if crc32(content[position:prefix_end]) != header_crc or length > BODY_BYTES_MAX:
            raise Damaged(f"{game}: checksum of a frame's header at byte {position} does not hold")
        start = position + _HEADER.size
        if start + length > len(content):
            yield Torn(position)
            return
        body = content[start : start + length]
        if crc32(body) != body_crc:
            raise Damaged(f"{game}: checksum of the frame at byte {position} does not hold")
        yield _unpack_body(game, position, body), body
        position = start + length


def _unpack_body(game: str, position: int, body: bytes) -> Frame:
    try:
        kind, *fields = msgpack.unpackb(body, use_list=False)
        frame: Frame = _DECODERS[kind](tuple(fields))
        id_order(getattr(frame, "out_id", "0-0"))
        id_order(getattr(frame, "after_id", "0-0"))
        return frame
    except (ValueError, TypeError, IndexError):
        raise Damaged(f"{game}: no frame of this format at byte {position}") from None


def beginning(game: str, content: bytes, newest_id: str) -> bytes:
    """The whole frames that tell of entries up to `newest_id`; empty where no record is among
    them. Raises `Damaged`."""
    limit, end, records = id_order(newest_id), 0, 0
    for part in unpack(game, content):
        if isinstance(part, Torn):
            break
        frame, body = part
        if isinstance(frame, Kept | Spoiled):
            if id_order(frame.out_id) > limit:
                break
            records += 1
        end += packed_length(body)
    return content[:end] if records else b""


class Digest:
    """The running SHA-256 of a file."""

    def __init__(self) -> None:
        self.frames = 0
        self._hash = sha256(_SEAL_DOMAIN)

    def add(self, body: bytes) -> None:
        self.frames += 1
        self._hash.update(len(body).to_bytes(4, "big") + body)

    def append(self, frame: Frame) -> bytes:
        """Count a frame that is not a seal, and give its packed form."""
        body = _pack_body(frame)
        self.add(body)
        return _wrap(body)

    def seal(self, key: Ed25519PrivateKey) -> Seal:
        digest = self._hash.digest()
        return Seal(self.frames, digest, key.sign(_SEAL_DOMAIN + digest))

    def confirms(self, seal: Seal, key: Ed25519PublicKey) -> str:
        """What is wrong with `seal` as it stands here; empty if nothing is."""
        if seal.frames != self.frames:
            return f"the seal counts {seal.frames} records, there are {self.frames}"
        if seal.digest != self._hash.digest():
            return "the records are not those that were sealed"
        try:
            key.verify(seal.signature, _SEAL_DOMAIN + seal.digest)
        except InvalidSignature:
            return "the seal's signature is not by the archive's key"
        return ""


def id_order(out_id: str) -> tuple[int, int]:
    """Out ids in the order of the log."""
    epoch, _, number = out_id.partition("-")
    return int(epoch), int(number)
