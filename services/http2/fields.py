"""Header fields as a peer sends them: which are malformed (RFC 9113, section 8.2 and 8.3).

A malformed block is its own call's fault, and ends that call alone; what is here therefore says
what is wrong instead of raising. It never says a field's content: that may be a token, and what is
said travels to logs.
"""

import re
from typing import Any, Final

from hpack import Decoder

from services.http2.metadata import Headers

BLANKS: Final = b" \t"
"""Around a field's content they mean nothing (RFC 9110, 5.5), and gRPC lets them be taken off."""
_NAME: Final = re.compile(rb"[!-9;-@\[-~]+")
"""Neither a capital letter nor a colon, a control character or anything beyond ASCII."""
_UNSPEAKABLE: Final = re.compile(rb"[\0\r\n]")
_LENGTH: Final = re.compile(rb"\d{1,19}")
"""More digits than any length has cost time to read."""
_OF_ONE_CONNECTION: Final = frozenset(
    (b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade")
)
_REQUEST: Final = frozenset((b":method", b":scheme", b":path", b":authority"))
_RESPONSE: Final = frozenset((b":status",))


class BlockDecoder(Decoder):
    """Unpacks header blocks, so that the table they share stays right whatever is in them, and
    judges their fields. A malformed block is handed on without any."""

    def __init__(self, *, client: bool) -> None:
        super().__init__()
        self.fault = ""
        """What is malformed in the newest block; empty for nothing."""
        self._known = _RESPONSE if client else _REQUEST

    def decode(self, data: bytes, raw: bool = False) -> list[Any]:
        """`raw`: as bytes, which is how the library asks for them."""
        self.fault = ""
        fields: list[Any] = list(super().decode(data, raw))
        self.fault = fault_of(fields, self._known)
        return [] if self.fault else fields


def fault_of(fields: list[tuple[bytes, bytes]], known: frozenset[bytes]) -> str:
    """What is malformed whatever the block is for; empty for nothing. `known`: names with a colon
    that may stand there. Blanks around contents are taken off."""
    special = 0
    length = b""
    for place, (name, content) in enumerate(fields):
        if content and (content[0] in BLANKS or content[-1] in BLANKS):
            content = content.strip(BLANKS)  # noqa: PLW2901
            fields[place] = (name, content)
        if _UNSPEAKABLE.search(content):
            return "NUL, CR or LF in a header field"
        if name[:1] == b":":
            if name not in known:
                return "a pseudo-header field that may not stand here"
            if place != special:
                return "a pseudo-header field behind an ordinary one"
            special += 1
        elif not _NAME.fullmatch(name):
            return "a header field's name that is none"
        elif name in _OF_ONE_CONNECTION:
            return f"header field {name.decode()}, which HTTP/2 has not"
        elif name == b"te" and content.lower() != b"trailers":
            return "te other than trailers"
        elif name == b"content-length":
            if not _LENGTH.fullmatch(content) or (length and int(length) != int(content)):
                return "content-length that is none"
            length = content
    if len({name for name, _ in fields[:special]}) != special:
        return "a pseudo-header field twice"
    return ""


def request_fault(fields: Headers, *, ended: bool) -> str:
    """What is missing, or contradicts itself, in how a call begins; empty for nothing."""
    named = dict(fields)
    if b":method" not in named:
        return "no :method"
    if named[b":method"] != b"CONNECT" and not (named.get(b":scheme") and named.get(b":path")):
        return "no :scheme, or no :path"
    hosts = {content for name, content in fields if name in {b":authority", b"host"}}
    if len(hosts) != 1:
        return "no :authority, or several"
    if ended and int(named.get(b"content-length", b"0")):
        return "content-length of what does not come"
    return ""


def response_fault(fields: Headers) -> str:
    """The same for how an answer begins."""
    return "" if fields and fields[0][0] == b":status" else "no :status"


def trailers_fault(fields: Headers) -> str:
    """The same for how either ends."""
    return "a pseudo-header field in trailers" if fields and fields[0][0][:1] == b":" else ""
