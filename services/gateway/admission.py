"""Who may ask now: the rates of one gateway, by sign-in, table and network address, and how many
connections an address may have.

All limits stand in `session/limits.py`. A limit is never shared between gateways: it protects this
process, and what one gateway lets through is small beside what the log takes.
"""

from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from services.gateway.errors import Refusal, Refused
from services.gateway.session.limits import ADDRESS_SHARE, Profile, Rate, profile_of
from services.gateway.session.rate import Bucket
from services.gateway.session.roles import Caller

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

SIGN_IN: Final = "sign-in"
TABLE: Final = "table"
ADDRESS: Final = "address"
NEW_PEOPLE: Final = "new-people"
WRONG_INVITES: Final = "wrong-invites"
WRONG_INVITES_ADDRESS: Final = "wrong-invites-address"
CONNECTIONS: Final = "connections"
SCOPES: Final = (
    SIGN_IN,
    TABLE,
    ADDRESS,
    NEW_PEOPLE,
    WRONG_INVITES,
    WRONG_INVITES_ADDRESS,
    CONNECTIONS,
)
"""What a refusal for its rate names, or the count of it: whose rate it was."""
_BY_ADDRESS: Final = frozenset((ADDRESS, NEW_PEOPLE, WRONG_INVITES_ADDRESS))
IPV6_PREFIX: Final = 64
"""What one household or one server is given at least: whoever has one of its addresses has all."""
LOOPBACK: Final[tuple[Network, ...]] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
"""Whoever is on the gateway's machine has easier ways to exhaust it, and may be a proxy."""

_Claim = tuple[str, str, Rate]
"""Scope, key within it, rate."""


class Admission:
    """Counts what was let through; refuses what is more than the profile allows."""

    def __init__(
        self,
        people: Profile,
        clock: Callable[[], float],
        allowed: Sequence[Network] = (),
        limited: Callable[[str], None] = lambda scope: None,
    ) -> None:
        """`allowed`: networks without a limit by address, as those of an event hall or a proxy.
        `limited` is told the scope of each refusal.
        """
        self._people = people
        self._clock = clock
        self._allowed = tuple(allowed)
        self._limited = limited
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self._places: dict[str, str] = {}
        """By address: looked up once, until it is forgotten with its bucket."""
        self._connected: dict[str, int] = {}
        """By place: connections that have entered and not left."""

    def profile(self, caller: Caller) -> Profile:
        return profile_of(caller.role, self._people)

    def command(self, caller: Caller, table: str = "") -> None:
        """A command, call or ping, for `table` if it names one. Raises `Refused`."""
        profile = self.profile(caller)
        if not profile.commands.per_s:
            return
        self._take(
            (
                (SIGN_IN, caller.sign_in, profile.commands),
                (TABLE, table, profile.table),
                (ADDRESS, caller.address, profile.address),
            )
        )

    def at_table(self, caller: Caller, table: str) -> None:
        """A call let through by `command` turns out to be for `table`. Raises `Refused`."""
        self._take(((TABLE, table, self.profile(caller).table),))

    def stranger(self, address: str) -> None:
        """A call of somebody who has no access token, or none any more. Raises `Refused`."""
        self._take(((ADDRESS, address, self._people.address),))

    def sign_in(self, address: str) -> None:
        """A new person, or a person's new device. Raises `Refused`."""
        self._take(((NEW_PEOPLE, address, self._people.sign_ins),))

    def invite(self, caller: Caller) -> None:
        """Somebody is about to try an invite code; takes nothing. Raises `Refused`."""
        self._check(self._wrong_invites(caller))

    def wrong_invite(self, caller: Caller) -> None:
        """The code was wrong."""
        for bucket in self._of(self._wrong_invites(caller)).values():
            bucket.take()

    def _wrong_invites(self, caller: Caller) -> tuple[_Claim, ...]:
        rate = self.profile(caller).wrong_invites
        shared = Rate(rate.per_s * ADDRESS_SHARE, rate.burst * ADDRESS_SHARE)
        return (
            (WRONG_INVITES, caller.sign_in, rate),
            (WRONG_INVITES_ADDRESS, caller.address, shared),
        )

    def enters(self, address: str) -> bool:
        """Somebody connects; whether one more from there is taken. Who is taken `leaves` later."""
        place = self._counted_place(address)
        if not place:
            return True
        count = self._connected.get(place, 0)
        if count >= self._people.connections_max:
            self._limited(CONNECTIONS)
            return False
        self._connected[place] = count + 1
        return True

    def leaves(self, address: str) -> None:
        """A connection that was taken is closed."""
        place = self._counted_place(address)
        if not place:
            return
        count = self._connected[place] - 1
        if count:
            self._connected[place] = count
        else:
            del self._connected[place]

    def _counted_place(self, address: str) -> str:
        """Whose connections are counted with this one; empty where none are."""
        if not address or not self._people.connections_max or _within(_host(address), LOOPBACK):
            return ""
        return self._place(address)

    @property
    def remembered(self) -> int:
        """Buckets that are not full."""
        return len(self._buckets)

    def forget(self) -> None:
        """Drop what has been left alone. Called about every second."""
        now_s = self._clock()
        for key in [key for key, bucket in self._buckets.items() if bucket.full(now_s)]:
            del self._buckets[key]
        self._places.clear()

    # ---------------------------------------------------------------- buckets

    def _take(self, claims: Iterable[_Claim]) -> None:
        """From all buckets or from none."""
        for bucket in self._check(claims).values():
            bucket.take()

    def _check(self, claims: Iterable[_Claim]) -> dict[str, Bucket]:
        buckets = self._of(claims)
        now_s = self._clock()
        for scope, bucket in buckets.items():
            wait_ms = bucket.wait_ms(now_s)
            if wait_ms:
                self._limited(scope)
                raise Refused(Refusal.RATE_LIMITED, retry_after_ms=wait_ms, scope=scope)
        return buckets

    def _of(self, claims: Iterable[_Claim]) -> dict[str, Bucket]:
        """The buckets that bind, by scope."""
        buckets = {}
        for scope, key, rate in claims:
            whose = self._place(key) if key and scope in _BY_ADDRESS else key
            if whose and rate.per_s:
                buckets[scope] = self._bucket(scope, whose, rate)
        return buckets

    def _bucket(self, scope: str, key: str, rate: Rate) -> Bucket:
        bucket = self._buckets.get((scope, key))
        if bucket is None:
            bucket = self._buckets[scope, key] = Bucket(rate, self._clock())
        return bucket

    def _place(self, address: str) -> str:
        """Whose rate an address counts for; empty where it has none."""
        place = self._places.get(address)
        if place is None:
            host = _host(address)
            exempt = _within(host, self._allowed)
            place = self._places[address] = "" if exempt else _network(host)
        return place


def _host(address: str) -> Address:
    """An IPv4 address, too, where a socket for both kinds has wrapped it."""
    host = ip_address(address)
    return (isinstance(host, IPv6Address) and host.ipv4_mapped) or host


def _within(host: Address, networks: tuple[Network, ...]) -> bool:
    return any(host in network for network in networks)


def _network(host: Address) -> str:
    if isinstance(host, IPv4Address):
        return str(host)
    return str(ip_network((int(host), IPV6_PREFIX), strict=False))
