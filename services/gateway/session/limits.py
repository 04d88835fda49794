"""Every limit of a session, with its reason, and the profiles that differ in them."""

from typing import Final

from engine.value import value
from services.gateway.session.roles import Role

IN_FLIGHT_MAX: Final = 16
"""Commands without an answer: as many as the table remembers answers of."""
QUEUE_EVENTS_MAX: Final = 512
"""Items waiting for a reader: about ten seconds of the busiest table."""
QUEUE_BYTES_MAX: Final = 64 * 1024
"""The same in bytes."""
SLOW_READER_S: Final = 10.0
"""A reader that takes nothing for so long is cut."""
OVERFLOWS_MAX: Final = 3
"""A reader that needs a fresh snapshot this often within `OVERFLOW_WINDOW_S` is cut."""
OVERFLOW_WINDOW_S: Final = 60.0
ACCEPTED_AFTER_S: Final = 0.1
"""A command is reported as accepted when its effect has not come by then."""
ATTACH_TIMEOUT_S: Final = 5.0
"""Longer than a takeover of the shard takes."""
FIRST_MESSAGE_TIMEOUT_S: Final = 10.0
"""A stream that does not attach is ended."""
HEARTBEAT_S: Final = 15.0
"""Below the idle time of common middle boxes."""
EXPIRY_GRACE_S: Final = 30.0
"""A stream outlives its token by this much, so that it can be refreshed."""
EPOCH_BYTES: Final = 16

assert OVERFLOW_WINDOW_S > SLOW_READER_S
assert HEARTBEAT_S > ATTACH_TIMEOUT_S


@value
class Profile:
    """Limits that depend on who is asking. 0: none."""

    name: str
    commands_per_s: float
    burst: int
    streams_max: int
    """Streams of one sign-in at one time."""


PUBLIC: Final = Profile("public", commands_per_s=10, burst=20, streams_max=4)
"""A person plays well below one command a second."""
BOTS: Final = Profile("bots", commands_per_s=0, burst=0, streams_max=0)
"""A bot process is ours, holds the seats of many tables and keeps its own pace."""
LOAD: Final = Profile("load", commands_per_s=0, burst=0, streams_max=0)
"""Measuring: the tester's people play faster than people."""

PROFILES: Final = {profile.name: profile for profile in (PUBLIC, LOAD)}
"""Those a gateway may be started with."""


def profile_of(role: Role, people: Profile) -> Profile:
    """`people` is what the gateway was started with for everybody who is not ours."""
    return people if role is Role.PLAYER else BOTS
