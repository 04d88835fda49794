"""The plan of an open-loop run: from its seed alone, at the rates asked for."""

from collections import Counter

import pytest

from loadtest.options import Stage
from loadtest.plan import MIX, Kind, Plan
from loadtest.worker import second_told_of, to_report_s

STAGES = (Stage(10, 100), Stage(10, 400))


def actions(seed: str, share: float = 1.0) -> list[tuple[float, Kind, int]]:
    plan = Plan(seed, 7, STAGES, 5, share)
    found = []
    while plan.at_s != float("inf"):
        found.append((plan.at_s, plan.kind, plan.slot()))
        plan.advance()
    return found


def test_the_same_seed_is_the_same_plan() -> None:
    assert actions("1") == actions("1")
    assert actions("1") != actions("2")


def test_the_rates_are_those_of_the_stages_and_the_warm_up_is_at_the_first() -> None:
    planned = actions("1")
    counts = [sum(begin <= at < end for at, _, _ in planned) for begin, end in
              ((0, 5), (5, 15), (15, 25))]  # fmt: skip
    for count, expected in zip(counts, (500, 1000, 4000), strict=True):
        assert abs(count - expected) < 5 * expected**0.5
    assert all(at < 25 for at, _, _ in planned)


def test_workers_share_the_rate() -> None:
    whole, part = len(actions("1")), len(actions("1", share=0.25))
    assert abs(part - whole / 4) < 5 * whole**0.5


def test_times_never_go_back() -> None:
    times = [at for at, _, _ in actions("1")]
    assert times == sorted(times)


def test_every_sweep_visits_every_table_once() -> None:
    slots = [slot for _, _, slot in actions("1")]
    for begin in range(0, len(slots) - 7, 7):
        assert sorted(slots[begin : begin + 7]) == list(range(7))


def test_kinds_follow_the_mix() -> None:
    planned = Counter(kind for _, kind, _ in actions("1"))
    for kind, percent in MIX.items():
        assert abs(planned[kind] / planned.total() - percent / 100) < 0.03
    assert Kind.BELL not in planned


@pytest.mark.parametrize("late_s", [0.0, 0.0004, 0.012, 0.1])
def test_every_second_of_a_run_has_two_reports(late_s: float) -> None:
    """However long each of them takes: else a plot over time dips where nothing dipped."""
    passed_s, reports = 0.0, Counter[int]()
    while passed_s < 60:
        passed_s += to_report_s(passed_s) + late_s
        reports[second_told_of(passed_s)] += 1
    assert {reports[second] for second in range(59)} == {2}
