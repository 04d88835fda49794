"""Every limit of a connection, by name, with its reason."""

from dataclasses import dataclass
from typing import Final

from services.http2.frames import PAYLOAD_BYTES_MAX, WINDOW_DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one side allows the other, and itself."""

    message_bytes_max: int
    """Of a message, unpacked."""
    header_bytes_max: int
    """Of all fields of a call, each counted with 32 bytes besides (RFC 9113, 6.5.2). More is
    refused; twice as much ends the connection."""
    header_block_bytes_max: int = 2 * PAYLOAD_BYTES_MAX
    """Of a packed header block, its CONTINUATION frames included, which is kept until it is whole
    and can be no call before (CVE-2024-27316)."""
    continuations_max: int = 8
    """CONTINUATION frames of one block: empty ones cost work, too."""
    streams_max: int = 100
    """At one time. Calls above are refused, twice as many end the connection."""
    stream_window: int = WINDOW_DEFAULT
    """Bytes that a call's peer may send ahead of us."""
    connection_window: int = 1 << 20
    """The same for all calls of a connection. It is handed back as fast as frames are read."""
    frames_per_s: int
    """A frame costs a few microseconds, however little it carries."""
    control_frames_per_s: int
    """Frames that the library handles: about 30 us each, and most are answered."""
    resets_per_s: int
    """Calls that a client begins and resets at once cost it nothing (CVE-2023-44487).
    Malformed ones, which we reset, count as well."""
    settings_max: int = 60
    """SETTINGS of one connection and minute; an honest peer sends one or two in its life."""
    ping_every_s: float = 20.0
    """A peer that pings more often while nothing is sent to it is warned twice, then cut. gRPC's
    five minutes would cut phones that ping every 30 s."""
    ping_strikes: int = 2
    handshake_s: float = 5.0
    """From the connection to the peer's first SETTINGS, TLS apart, which has the same time."""
    block_s: float = 5.0
    """From the first byte of a header block, or of any frame, to its last."""
    keepalive_s: float
    """A peer that has not been heard of for so long, with calls open, is pinged,"""
    keepalive_timeout_s: float
    """and given up when it does not answer."""
    write_stalled_s: float = 20.0
    """A peer that reads nothing at all is cut; its windows cut slow readers of one call before."""
    idle_s: float
    """A connection without a call is closed. 0: never."""
    age_s: float = 0.0
    """Connections are renewed, so that load spreads over new gateways. 0: never."""
    age_grace_s: float = 30.0
    """From the word that a connection goes away to its end."""
    connections_max: int = 0
    """TLS handshakes that are not done count as well. 0: no limit."""


SERVER: Final = Limits(
    message_bytes_max=16 * 1024,
    header_bytes_max=8 * 1024,
    frames_per_s=20_000,
    control_frames_per_s=2_000,
    resets_per_s=100,
    keepalive_s=60.0,
    keepalive_timeout_s=20.0,
    idle_s=300.0,
    age_s=3_600.0,
    connections_max=20_000,
)
"""What a gateway allows anybody."""

CLIENT: Final = Limits(
    message_bytes_max=16 << 20,
    header_bytes_max=64 * 1024,
    header_block_bytes_max=128 * 1024,
    stream_window=1 << 20,
    connection_window=16 << 20,
    frames_per_s=1_000_000,
    control_frames_per_s=100_000,
    resets_per_s=100_000,
    keepalive_s=30.0,
    keepalive_timeout_s=10.0,
    idle_s=0.0,
)
"""What a client allows a server that it has chosen itself."""

assert SERVER.message_bytes_max < SERVER.stream_window
assert SERVER.keepalive_s > SERVER.ping_every_s
assert CLIENT.keepalive_s > SERVER.ping_every_s
