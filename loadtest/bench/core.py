"""The engine alone: commands a second, replay, pairing beside another engine, longest pause."""

import gc
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from time import perf_counter, process_time
from typing import Any

from engine.cards import ONE
from engine.commands import NOBODY, Offer
from engine.decide import decide
from engine.decide.play import offer
from engine.events import Event, Note
from engine.evolve import evolve
from engine.table import Table
from loadtest.bench.plan import GOAL, Planner, Step, no_chance, tables_ready

COMMANDS = 300_000
RUNS = 3
GOALS_PER_S = {500: 500_000, 5_000: 300_000}
REPLAY_EVENTS = 1_000_000
REPLAY_GOAL_S = 3.0
PAUSE_GOAL_MS = 5.0
STRETCH = 50
"""Commands between two looks at the clock."""
PAIRING_BOOKS = 2_000
PAIRING_TURNS = 100
PAIRING_GOAL = 4.0


def main() -> None:
    """Print every figure beside its goal. Rates are of this process's CPU time, which on an idle
    machine is the time that passes; beside them stands what really passed."""
    for tables, goal in GOALS_PER_S.items():
        planner = Planner(tables_ready(tables, 1), 2)
        planner.run(COMMANDS)
        _print_mix(tables, planner)
        runs = [_run(tables_ready(tables, 1), planner.steps) for _ in range(RUNS)]
        cpu_s, wall_s, pause_ms = (sorted(figures) for figures in zip(*runs, strict=True))
        print(
            f"decide+evolve, {tables:,} tables: {COMMANDS / median(cpu_s):,.0f} commands/s"
            f" (best {COMMANDS / cpu_s[0]:,.0f}; by the clock {COMMANDS / median(wall_s):,.0f};"
            f" goal {goal:,}); longest pause {max(pause_ms):.2f} ms (goal < {PAUSE_GOAL_MS:g} ms)"
        )
    _replay(max(GOALS_PER_S), planner.items)
    _pairing()


def _print_mix(tables: int, planner: Planner) -> None:
    total = sum(planner.mix.values())
    mix = ", ".join(f"{n} {100 * planner.mix[n] / total:.1f} % (aim {g})" for n, g in GOAL.items())
    print(f"mix really run at {tables:,} tables: {mix}")


def _run(tables: list[Table], steps: list[Step]) -> tuple[float, float, float]:
    """CPU seconds, wall seconds, and the longest CPU time of any stretch of commands, in ms."""
    gc.collect()
    gc.freeze()
    longest_s = 0.0
    begun_s = before_s = process_time()
    begun_wall_s = perf_counter()
    for start in range(0, len(steps), STRETCH):
        for kind, number, args in steps[start : start + STRETCH]:
            table = tables[number]
            events, answer = decide(table, kind(*args), 1_000_000, no_chance)
            evolve(table, answer)  # type: ignore[arg-type]
            for event in events:
                evolve(table, event)
        now_s = process_time()
        longest_s = max(longest_s, now_s - before_s)
        before_s = now_s
    cpu_s, wall_s = process_time() - begun_s, perf_counter() - begun_wall_s
    gc.unfreeze()
    return cpu_s, wall_s, longest_s * 1_000


def _replay(count: int, items: list[tuple[int, Event | Note]]) -> None:
    """Answers are applied too, but only events are counted."""
    events = sum(isinstance(item, Event) for _, item in items)
    took_s, replayed = 0.0, 0
    while replayed < REPLAY_EVENTS:
        tables = tables_ready(count, 1)
        gc.collect()
        begun_s = process_time()
        for number, item in items:
            evolve(tables[number], item)
        took_s += process_time() - begun_s
        replayed += events
    took_s *= REPLAY_EVENTS / replayed
    print(
        f"replay of {REPLAY_EVENTS:,} events with their answers: {took_s:.2f} s"
        f" (goal < {REPLAY_GOAL_S:g} s)"
    )


def _pairing() -> None:
    """Two players swap one card for one card, turn about; the other engine buys and sells one."""
    if find_spec("lightmatchingengine") is None:
        print("pairing: lightmatchingengine is not installed (pip install '.[bench]')")
        return
    engines = import_module("lightmatchingengine.lightmatchingengine")
    whole, pairing, theirs = [], [], []
    for _ in range(RUNS):
        whole.append(_pairing_ours(_whole_step))
        pairing.append(_pairing_ours(_pairing_step))
        theirs.append(_pairing_theirs(engines.LightMatchingEngine()))
    print(
        f"pairing, {PAIRING_BOOKS:,} books: {median(pairing) * 1e6:.2f} us an offer, with its event"
        f" applied; {median(whole) * 1e6:.2f} us with command, number and answer;"
        f" lightmatchingengine {median(theirs) * 1e6:.2f} us an order:"
        f" {median(theirs) / median(pairing):.1f} x and {median(theirs) / median(whole):.1f} x"
        f" (goal {PAIRING_GOAL:g} x)"
    )


def _whole_step(table: Table, index: int, number: int, lot: int) -> None:
    command = Offer(index, 1, 1, number, 1, 0, 0, lot, NOBODY, False, 0)
    events, answer = decide(table, command, 1_000_000, no_chance)
    evolve(table, answer)  # type: ignore[arg-type]
    evolve(table, events[0])


SAME_OFFER = Offer(0, 1, 1, 1, 1, 0, 0, 0, NOBODY, False, 0)


def _pairing_step(table: Table, index: int, number: int, lot: int) -> None:
    SAME_OFFER.lot = lot  # type: ignore[misc]
    events = offer(table, index, table.seats[index], SAME_OFFER, 1_000_000, no_chance)
    evolve(table, events[0])  # type: ignore[index]


def _pairing_ours(step: Callable[[Table, int, int, int], None]) -> float:
    """CPU seconds an offer."""
    tables = tables_ready(PAIRING_BOOKS, 1)
    for table in tables:
        for index, seat in enumerate(table.seats):
            seat.hand = 9 * ONE[table.suits[index]]
    numbers = [seat.current.last for seat in tables[0].seats]
    gc.collect()
    gc.freeze()
    begun_s = process_time()
    for turn in range(PAIRING_TURNS):
        index = turn % 2
        suit = index ^ (turn // 2 % 2)  # what was swapped is swapped back
        numbers[index] += 1
        for table in tables:
            step(table, index, numbers[index], ONE[suit])
    took_s = process_time() - begun_s
    gc.unfreeze()
    return took_s / (PAIRING_TURNS * PAIRING_BOOKS)


def _pairing_theirs(engine: Any) -> float:
    """CPU seconds an order: one is bought, then one sold, in every book."""
    begun_s = process_time()
    for turn in range(PAIRING_TURNS):
        side = 1 + turn % 2
        for book in range(PAIRING_BOOKS):
            engine.add_order(book, 1.0, 1, side)
    return (process_time() - begun_s) / (PAIRING_TURNS * PAIRING_BOOKS)


if __name__ == "__main__":
    main()
