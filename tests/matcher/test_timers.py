"""Wake-ups of tables, against a list that is searched."""

from hypothesis import given
from hypothesis import strategies as st

from services.matcher.timers import Timers


def test_wakes_in_order_of_time() -> None:
    timers = Timers()
    for table, at_ms in (("b", 30), ("a", 10), ("c", 20)):
        timers.wake(table, at_ms)
    assert timers.next_ms() == 10
    assert [timers.pop_due(25), timers.pop_due(25), timers.pop_due(25)] == ["a", "c", None]
    assert timers.next_ms() == 30


def test_a_later_wish_changes_nothing_an_earlier_one_counts() -> None:
    timers = Timers()
    timers.wake("a", 20)
    timers.wake("a", 30)
    assert timers.next_ms() == 20
    timers.wake("a", 10)
    assert timers.pop_due(100) == "a"
    assert timers.pop_due(100) is None


def test_zero_asks_for_nothing() -> None:
    timers = Timers()
    timers.wake("a", 0)
    assert timers.next_ms() == 0


def test_a_forgotten_table_is_not_woken() -> None:
    timers = Timers()
    timers.wake("a", 10)
    timers.forget("a")
    assert timers.pop_due(100) is None


WISHES = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 50)), max_size=40)


@given(WISHES, st.integers(0, 60))
def test_wakes_exactly_the_tables_whose_earliest_wish_is_due(
    wishes: list[tuple[str, int]], now_ms: int
) -> None:
    timers = Timers()
    earliest: dict[str, int] = {}
    for table, at_ms in wishes:
        timers.wake(table, at_ms)
        earliest[table] = min(at_ms, earliest.get(table, at_ms))
    woken = []
    while table := timers.pop_due(now_ms):
        woken.append(table)
    assert sorted(woken) == sorted(t for t, at_ms in earliest.items() if at_ms <= now_ms)
    assert [earliest[table] for table in woken] == sorted(earliest[table] for table in woken)
