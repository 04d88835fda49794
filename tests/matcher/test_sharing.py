"""Who owns which shards, seen from one matcher."""

from hypothesis import given
from hypothesis import strategies as st

from services.log.port import Lease, Look
from services.matcher.sharing import Sharing, Wishes, fair_share


def lease(owner: str, counter: int = 1) -> Lease:
    return Lease(owner.encode().ljust(16), counter)


def look(
    sharing: Sharing,
    leases: list[Lease | None],
    matchers: dict[str, tuple[int, int]],
    owned: frozenset[int],
    now_s: float,
    drains: tuple[str, ...] = (),
) -> Wishes:
    """What it wishes for after a look that took no time."""
    return sharing.look(Look(tuple(leases), matchers, (), drains), owned, now_s, now_s)


def test_alone_it_takes_all_at_once() -> None:
    wishes = look(Sharing("m1"), [None] * 4, {"m1": (1, 0)}, frozenset(), 100.0)
    assert wishes.take == [(0, None), (1, None), (2, None), (3, None)]
    assert wishes.give == 0


def test_a_moving_lease_is_left_alone_and_a_still_one_taken_as_watched() -> None:
    sharing = Sharing("m1")
    for turn in range(4):
        now_s = 100.0 + turn / 2
        leases = [lease("dead", 7), lease("alive", turn)]
        matchers = {"m1": (turn, 0), "other": (turn, 1)}
        wishes = look(sharing, leases, matchers, frozenset(), now_s)
        assert wishes.take == ([(0, lease("dead", 7))] if now_s == 101.5 else [])


def test_a_lease_taken_over_by_somebody_else_is_watched_anew() -> None:
    sharing = Sharing("m1")
    look(sharing, [lease("a")], {}, frozenset(), 100.0)
    look(sharing, [lease("b")], {}, frozenset(), 101.4)
    assert look(sharing, [lease("b")], {}, frozenset(), 102.0).take == []
    assert look(sharing, [lease("b")], {}, frozenset(), 102.9).take == [(0, lease("b"))]


def test_beyond_its_share_it_takes_only_what_stays_without_an_owner() -> None:
    sharing = Sharing("m1")
    matchers = {"m1": (1, 1), "m2": (1, 0)}
    owned = frozenset({0})
    leases = [lease("mine"), None]
    assert look(sharing, leases, matchers, owned, 100.0).take == []
    assert look(sharing, leases, {**matchers, "m2": (2, 0)}, owned, 100.6).take == [(1, None)]


def test_a_newcomer_makes_it_give_and_its_death_makes_it_take_back() -> None:
    sharing = Sharing("m1")
    leases = [lease("mine")] * 4
    assert look(sharing, leases, {"m1": (1, 4)}, frozenset(range(4)), 100.0).give == 0
    newcomer = {"m1": (2, 4), "m2": (1, 0)}
    assert look(sharing, leases, newcomer, frozenset(range(4)), 100.3).give == 2
    still = look(sharing, leases, newcomer, frozenset(range(4)), 102.0)
    assert still.give == 0


def test_a_matcher_long_silent_is_to_be_forgotten() -> None:
    sharing = Sharing("m1")
    look(sharing, [None], {"m2": (1, 0)}, frozenset(), 100.0)
    assert look(sharing, [None], {"m2": (1, 0)}, frozenset(), 129.0).silent == []
    assert look(sharing, [None], {"m2": (1, 0)}, frozenset(), 130.1).silent == ["m2"]


def test_a_slow_look_takes_nothing_for_still_that_it_has_not_seen_still() -> None:
    sharing = Sharing("m1")
    seen = Look((lease("other"),), {}, ())
    assert sharing.look(seen, frozenset(), 100.0, 100.9).take == []
    assert sharing.look(seen, frozenset(), 101.5, 102.4).take == []
    assert sharing.look(seen, frozenset(), 102.4, 103.3).take == [(0, lease("other"))]


def test_asked_to_leave_a_shard_it_does_and_leaves_it_alone() -> None:
    sharing = Sharing("m1")
    mine, both = lease("mine"), {"m1": (1, 2), "m2": (1, 0)}
    wishes = look(sharing, [mine, mine], both, frozenset({0, 1}), 100.0, ("", "m1"))
    assert wishes.leave == {1}
    assert look(sharing, [mine, None], both, frozenset({0}), 100.3, ("", "m1")).take == []
    assert look(sharing, [mine, None], both, frozenset({0}), 101.4, ("", "m1")).take == []
    assert look(sharing, [mine, None], both, frozenset({0}), 101.5, ("", "")).take == [(1, None)]


def test_who_is_alone_is_asked_in_vain() -> None:
    sharing = Sharing("m1")
    assert look(sharing, [lease("mine")], {}, frozenset({0}), 100.0, ("m1",)).leave == set()
    assert look(sharing, [None], {}, frozenset(), 100.3, ("m1",)).take == [(0, None)]


def test_a_shard_that_another_was_asked_to_leave_is_taken_beyond_the_share_and_kept() -> None:
    sharing = Sharing("m1")
    mine, both = lease("mine"), {"m1": (1, 1), "m2": (1, 1)}
    wishes = look(sharing, [mine, None], both, frozenset({0}), 100.0, ("", "m2"))
    assert wishes.take == [(1, None)]
    wishes = look(sharing, [mine, mine], both, frozenset({0, 1}), 100.3, ("", "m2"))
    assert (wishes.give, wishes.keep, wishes.leave) == (1, {1}, set())


@given(st.integers(1, 64), st.sets(st.text(min_size=1, max_size=3), min_size=1, max_size=9))
def test_shares_add_up_and_differ_by_one_at_most(shards: int, names: set[str]) -> None:
    shares = [fair_share(name, sorted(names), shards) for name in names]
    assert sum(shares) == shards
    assert max(shares) - min(shares) <= 1
