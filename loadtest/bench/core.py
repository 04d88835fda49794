"""The engine alone: commands a second, replay, pairing beside another engine, longest pause."""

import gc
from statistics import median
from time import perf_counter

from engine.cards import ONE
from engine.commands import NOBODY, Offer
from engine.decide import decide
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
PAIRING_BOOKS = 2_000
PAIRING_GOAL = 4.0


def main() -> None:
    """Print every figure beside its goal."""
    for tables, goal in GOALS_PER_S.items():
        planner = Planner(tables_ready(tables, 1), 2)
        planner.run(COMMANDS)
        if tables == min(GOALS_PER_S):
            _print_mix(planner)
        rates = []
        for _ in range(RUNS):
            fresh = tables_ready(tables, 1)
            rates.append(_rate(fresh, planner.steps))
        print(
            f"decide+evolve, {tables:,} tables: {median(rates):,.0f} commands/s"
            f" (best {max(rates):,.0f}; goal {goal:,})"
        )
        pause = _longest_pause_ms(tables_ready(tables, 1), planner.steps)
        print(f"  longest single command {pause:.2f} ms (goal < {PAUSE_GOAL_MS:g} ms)")
        if tables == max(GOALS_PER_S):
            _replay(tables, planner.items)
    _pairing()


def _print_mix(planner: Planner) -> None:
    total = sum(planner.mix.values())
    mix = ", ".join(f"{n} {100 * planner.mix[n] / total:.1f} % (aim {g})" for n, g in GOAL.items())
    print(f"mix really run: {mix}")


def _rate(tables: list[Table], steps: list[Step]) -> float:
    gc.collect()
    gc.freeze()
    begun = perf_counter()
    for kind, number, args in steps:
        table = tables[number]
        events, answer = decide(table, kind(*args), 1_000_000, no_chance)
        evolve(table, answer)  # type: ignore[arg-type]
        for event in events:
            evolve(table, event)
    took_s = perf_counter() - begun
    gc.unfreeze()
    return len(steps) / took_s


def _longest_pause_ms(tables: list[Table], steps: list[Step]) -> float:
    gc.collect()
    gc.freeze()
    longest_s = 0.0
    before = perf_counter()
    for kind, number, args in steps:
        table = tables[number]
        events, answer = decide(table, kind(*args), 1_000_000, no_chance)
        evolve(table, answer)  # type: ignore[arg-type]
        for event in events:
            evolve(table, event)
        now = perf_counter()
        longest_s = max(longest_s, now - before)
        before = now
    gc.unfreeze()
    return longest_s * 1_000


def _replay(count: int, items: list[tuple[int, Event | Note]]) -> None:
    """Answers are applied too, but only events are counted."""
    events = sum(isinstance(item, Event) for _, item in items)
    took_s, replayed = 0.0, 0
    while replayed < REPLAY_EVENTS:
        tables = tables_ready(count, 1)
        gc.collect()
        begun = perf_counter()
        for number, item in items:
            evolve(tables[number], item)
        took_s += perf_counter() - begun
        replayed += events
    took_s *= REPLAY_EVENTS / replayed
    print(
        f"replay of {REPLAY_EVENTS:,} events with their answers: {took_s:.2f} s"
        f" (goal < {REPLAY_GOAL_S:g} s)"
    )


def _pairing() -> None:
    """Two players swap one card for one card, turn about; the other engine buys and sells one."""
    try:
        from lightmatchingengine.lightmatchingengine import LightMatchingEngine
    except ImportError:
        print("pairing: lightmatchingengine is not installed (pip install '.[bench]')")
        return
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(_pairing_ours())
        engine = LightMatchingEngine()
        begun = perf_counter()
        for turn in range(100):
            side = 1 + turn % 2
            for book in range(PAIRING_BOOKS):
                engine.add_order(book, 1.0, 1, side)
        theirs.append((perf_counter() - begun) / (100 * PAIRING_BOOKS))
    ratio = median(theirs) / median(ours)
    print(
        f"pairing, {PAIRING_BOOKS:,} books: {median(ours) * 1e6:.2f} us an offer, with command,"
        f" number and answer; lightmatchingengine {median(theirs) * 1e6:.2f} us an order:"
        f" {ratio:.1f} x (goal {PAIRING_GOAL:g} x)"
    )


def _pairing_ours() -> float:
    tables = tables_ready(PAIRING_BOOKS, 1)
    for table in tables:
        for index, seat in enumerate(table.seats):
            seat.hand = 9 * ONE[table.suits[index]]
    numbers = [seat.current.last for seat in tables[0].seats]
    gc.collect()
    gc.freeze()
    begun = perf_counter()
    for turn in range(100):
        index = turn % 2
        suit = index ^ (turn // 2 % 2)  # what was swapped is swapped back
        numbers[index] += 1
        number = numbers[index]
        for table in tables:
            lot = ONE[table.suits[suit]]
            command = Offer(index, 1, 1, number, 1, 0, 0, lot, NOBODY, False, 0)
            events, answer = decide(table, command, 1_000_000, no_chance)
            evolve(table, answer)  # type: ignore[arg-type]
            evolve(table, events[0])
    took_s = perf_counter() - begun
    gc.unfreeze()
    return took_s / (100 * PAIRING_BOOKS)


if __name__ == "__main__":
    main()
