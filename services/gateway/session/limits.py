"""Every limit of a session, with its reason, and the profiles that differ in them."""

from collections.abc import Mapping
from enum import IntEnum
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


class Rank(IntEnum):
    """What is let through first where not everything can be."""

    FIRST = 1
    """Leaving, coming back, an operator's acts: they make things better."""
    TRADING = 2
    OPENING = 3
    """New tables: more of what there is too much of already."""


SHED_AFTER_S: Final[Mapping[Rank, float]] = {
    Rank.TRADING: 0.5,  # a player's patience with a click
    Rank.OPENING: 0.25,  # so that games in play are the last to notice
}
"""How long the oldest command may be unread while more of this rank are still let in."""


@value
class Rate:
    """So many a second on the average, and so many at once. 0: no limit."""

    per_s: float
    burst: int


UNLIMITED: Final = Rate(0, 0)


@value
class Profile:
    """Limits that depend on who is asking, and on where the exchange is used."""

    name: str
    commands: Rate
    """Commands, calls and pings of one sign-in."""
    table: Rate
    """The same of all who talk to one table through one gateway."""
    address: Rate
    """The same of all who come from one network address."""
    sign_ins: Rate
    """New people of one address."""
    wrong_invites: Rate
    """Wrong invite codes of one sign-in, and ten times as many of one address."""
    streams_max: int
    """Streams of one sign-in at one time; 0: no limit."""
    connections_max: int
    """Connections of one network address at one time, before anybody has said who they are; 0: no
    limit. Each costs memory and a descriptor, of which all others would have fewer."""


ADDRESS_SHARE: Final = 10
"""So many guessing people may share an address before it is limited as one."""

PUBLIC: Final = Profile(
    "public",
    commands=Rate(10, 20),  # a person plays well below one command a second
    table=Rate(40, 160),  # eight seats at five commands a second, all at once at a bell
    address=Rate(100, 400),  # a school class or a mobile operator's address, not a crowd of bots
    sign_ins=Rate(0.5, 60),  # that class arriving at once
    wrong_invites=Rate(1 / 60, 5),  # typing errors; 2^80 codes are not guessed at this rate
    streams_max=4,
    connections_max=500,  # as many people as that address's rate lets play, on one each
)
EVENT: Final = Profile(
    "event",
    commands=PUBLIC.commands,
    table=PUBLIC.table,
    address=Rate(8_000, 16_000),  # a hall of 2,000 tables behind one address
    sign_ins=Rate(100, 10_000),  # its doors open
    wrong_invites=PUBLIC.wrong_invites,
    streams_max=4,
    connections_max=16_000,  # eight at each of those tables
)
OURS: Final = Profile("ours", UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED, 0, 0)
"""Bot processes and operators: they hold many seats, and keep a pace of their own."""
LOAD: Final = Profile("load", UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED, 0, 0)
"""Measuring: the tester's people play faster than people."""

PROFILES: Final = {profile.name: profile for profile in (PUBLIC, EVENT, LOAD)}
"""Those a gateway may be started with."""

assert all(
    profile.commands.per_s or profile.table == profile.address == UNLIMITED
    for profile in (*PROFILES.values(), OURS)
), "who is not limited by sign-in is not limited at all"


def profile_of(role: Role, people: Profile) -> Profile:
    """`people` is what the gateway was started with for everybody who is not ours."""
    return people if role is Role.PLAYER else OURS
