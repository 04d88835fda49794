"""Who is let through, and who is told to come again and when."""

from ipaddress import ip_network

import pytest

from services.gateway.admission import Admission, Network
from services.gateway.doors.grpc_aio.guard import address_of
from services.gateway.errors import Refused
from services.gateway.session.limits import EVENT, LOAD, PUBLIC, Profile
from services.gateway.session.roles import Caller, Role


class Gate:
    """An admission with a clock of its own; counts what passes."""

    def __init__(self, people: Profile = PUBLIC, allowed: tuple[Network, ...] = ()) -> None:
        self.now_s = 1_000.0
        self.told: list[str] = []
        self.admission = Admission(people, lambda: self.now_s, allowed, self.told.append)

    def passes(self, caller: Caller, table: str = "") -> bool:
        try:
            self.admission.command(caller, table)
        except Refused as refused:
            told = (refused.why.name, refused.parameters["scope"], refused.retry_after_ms > 0)
            if told != ("RATE_LIMITED", self.told[-1], True):
                pytest.fail(f"refused in other words: {told}")
            return False
        return True

    def passed_of(self, times: int, caller: Caller, table: str = "") -> int:
        return sum(self.passes(caller, table) for _ in range(times))


def person(number: int, address: str = "", role: Role = Role.PLAYER) -> Caller:
    return Caller(f"p{number}", f"sid-{number}", role, 0.0, address)


def test_a_sign_in_has_a_burst_and_then_its_rate() -> None:
    gate = Gate()
    assert gate.passed_of(100, person(1)) == PUBLIC.commands.burst
    assert gate.passes(person(2)), "others are not touched"
    gate.now_s += 1
    assert gate.passed_of(100, person(1)) == PUBLIC.commands.per_s
    assert set(gate.told) == {"sign-in"}


def test_a_hot_table_is_limited_and_its_neighbour_is_not() -> None:
    gate = Gate()
    passed = sum(gate.passes(person(number), "hot") for number in range(10 * PUBLIC.table.burst))
    assert passed == PUBLIC.table.burst
    assert set(gate.told) == {"table"}
    assert gate.passes(person(1), "cool")


def test_one_address_is_limited_whatever_sign_ins_it_uses() -> None:
    gate = Gate()
    crowd = range(2 * PUBLIC.address.burst)
    passed = sum(gate.passes(person(number, "192.0.2.1")) for number in crowd)
    assert passed == PUBLIC.address.burst
    assert set(gate.told) == {"address"}
    assert gate.passes(person(1, "192.0.2.2"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
    ],
)
def test_addresses_that_one_party_has_share_a_rate(one: str, other: str, same: bool) -> None:
    gate = Gate()
    for _ in range(PUBLIC.address.burst):
        gate.admission.stranger(one)
    assert gate.passes(person(1, other)) is not same


def test_an_allowed_network_holds_however_the_address_is_written() -> None:
    gate = Gate(PUBLIC, (ip_network("192.0.2.0/24"),))
    assert gate.passed_of(1, person(1, "::ffff:192.0.2.1")) == 1
    for _ in range(2 * PUBLIC.address.burst):
        gate.admission.stranger("::ffff:192.0.2.1")


def test_what_one_limit_refuses_costs_nothing_of_the_others() -> None:
    gate = Gate()
    assert gate.passed_of(100, person(1), "table") == PUBLIC.commands.burst
    others = PUBLIC.table.burst - PUBLIC.commands.burst
    assert sum(gate.passes(person(n), "table") for n in range(2, 1_000)) == others


@pytest.mark.parametrize(
    ("people", "allowed"),
    [
        (EVENT, ()),
        (PUBLIC, (ip_network("192.0.2.0/24"),)),
        (PUBLIC, (ip_network("2001:db8::/32"), ip_network("192.0.2.1"))),
    ],
)
def test_a_hall_behind_one_address(people: Profile, allowed: tuple[Network, ...]) -> None:
    gate = Gate(people, allowed)
    assert all(gate.passes(person(number, "192.0.2.1")) for number in range(5_000))


def test_an_address_outside_the_allowed_networks_is_limited() -> None:
    gate = Gate(PUBLIC, (ip_network("198.51.100.0/24"),))
    crowd = range(2 * PUBLIC.address.burst)
    assert not all(gate.passes(person(number, "192.0.2.1")) for number in crowd)


@pytest.mark.parametrize(
    ("people", "role"), [(LOAD, Role.PLAYER), (PUBLIC, Role.BOT), (PUBLIC, Role.OPERATOR)]
)
def test_who_is_ours_or_measures_has_no_limit(people: Profile, role: Role) -> None:
    gate = Gate(people)
    assert gate.passed_of(5_000, person(1, "192.0.2.1", role), "table") == 5_000


def test_wrong_invite_codes_soon_cost_a_minute_each_and_right_ones_nothing() -> None:
    gate = Gate()
    guesser = person(1, "192.0.2.1")
    for _ in range(PUBLIC.wrong_invites.burst):
        gate.admission.invite(guesser)
        gate.admission.invite(guesser)  # a right code takes nothing
        gate.admission.wrong_invite(guesser)
    with pytest.raises(Refused, match="RATE_LIMITED"):
        gate.admission.invite(guesser)
    gate.admission.invite(person(2, "192.0.2.1"))
    gate.now_s += 1 / PUBLIC.wrong_invites.per_s + 1
    gate.admission.invite(guesser)


def test_guessing_with_ever_new_sign_ins_is_limited_by_address() -> None:
    gate = Gate()

    def guess() -> None:
        for number in range(1_000):
            gate.admission.invite(person(number, "192.0.2.1"))
            gate.admission.wrong_invite(person(number, "192.0.2.1"))

    with pytest.raises(Refused) as refused:
        guess()
    assert refused.value.parameters["scope"] == "wrong-invites-address"


def test_who_was_left_alone_long_enough_is_forgotten() -> None:
    gate = Gate()
    gate.passed_of(5, person(1, "192.0.2.1"), "table")
    gate.now_s += 60
    gate.admission.forget()
    assert gate.admission.remembered == 0


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:192.0.2.1:5000", "192.0.2.1"),
        ("ipv6:%5B2001:db8::1%5D:5000", "2001:db8::1"),
        ("unix:/run/pit.sock", ""),
        ("", ""),
    ],
)
def test_the_address_of_a_peer(peer: str, address: str) -> None:
    assert address_of(peer) == address


def test_connections_are_counted_by_address_until_they_are_closed() -> None:
    gate = Gate()
    for address in ("192.0.2.1", "2001:db8::1"):
        taken = [gate.admission.enters(address) for _ in range(PUBLIC.connections_max + 3)]
        assert taken == [True] * PUBLIC.connections_max + [False] * 3
    assert not gate.admission.enters("2001:db8::2"), "whoever has one of a /64 has all"
    assert gate.admission.enters("192.0.2.2")
    assert set(gate.told) == {"connections"}
    gate.admission.forget()
    gate.admission.leaves("192.0.2.1")
    assert [gate.admission.enters("192.0.2.1") for _ in range(2)] == [True, False]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "198.51.100.7", ""])
def test_connections_without_a_limit(address: str) -> None:
    gate = Gate(allowed=(ip_network("198.51.100.0/24"),))
    assert all(gate.admission.enters(address) for _ in range(PUBLIC.connections_max + 1))
    gate.admission.leaves(address)


def test_measuring_counts_no_connections_and_a_hall_many() -> None:
    assert all(Gate(LOAD).admission.enters("192.0.2.1") for _ in range(2_000))
    assert all(Gate(EVENT).admission.enters("192.0.2.1") for _ in range(2_000))
