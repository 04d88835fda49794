"""Metadata of calls: header fields, of which those ending in `-bin` carry bytes, and deadlines."""

import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterable, Sequence
from typing import Final

Headers = Sequence[tuple[bytes, bytes]]
"""As HTTP/2 has them: names in lower case, those with a colon first, any name any often."""
Metadata = Sequence[tuple[str, str | bytes]]
"""As a program has them."""

TIMEOUT_MAX_S: Final = 24 * 3600.0
"""Nothing takes longer; a client may ask for millennia."""
_TIMEOUT: Final = re.compile(rb"(\d{1,20})([HMSmun])")
_UNITS_S: Final = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
_OF_PROTOCOL: Final = frozenset(
    (
        b"content-type",
        b"grpc-accept-encoding",
        b"grpc-encoding",
        b"grpc-message",
        b"grpc-status",
        b"te",
    )
)


class BadTimeout(ValueError):
    """A `grpc-timeout` that is none."""


def timeout_s(text: bytes) -> float:
    """What a `grpc-timeout` says. Raises `BadTimeout`."""
    found = _TIMEOUT.fullmatch(text)
    if found is None:
        raise BadTimeout(text)
    return min(int(found[1]) * _UNITS_S[found[2]], TIMEOUT_MAX_S)


def timeout_text(seconds: float) -> str:
    """As a `grpc-timeout`, of at most eight digits."""
    microseconds = max(1, int(seconds * 1e6))
    if microseconds < 10**8:
        return f"{microseconds}u"
    return f"{min(int(seconds * 1e3), 10**8 - 1)}m"


def encoded(metadata: Metadata) -> list[tuple[bytes, bytes]]:
    """As header fields."""
    fields = []
    for name, content in metadata:
        if isinstance(content, bytes):
            content = b64encode(content).rstrip(b"=")  # noqa: PLW2901
            fields.append((name.encode(), content))
        else:
            fields.append((name.encode(), content.encode()))
    return fields


def decoded(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str | bytes]]:
    """Header fields that are metadata; what cannot be read is left out."""
    metadata: list[tuple[str, str | bytes]] = []
    for name, content in headers:
        if name[:1] == b":" or name in _OF_PROTOCOL:
            continue
        if name[-4:] == b"-bin":
            metadata += ((name.decode("ascii", "replace"), part) for part in _binary(content))
        else:
            metadata.append(
                (name.decode("ascii", "replace"), content.decode("ascii", "surrogateescape"))
            )
    return metadata


def _binary(content: bytes) -> Iterable[bytes]:
    """A field may hold several values, with commas between them, padded or not."""
    for part in content.split(b","):
        try:
            yield b64decode(part.strip() + b"=" * (-len(part.strip()) % 4), validate=True)
        except Error:
            continue
