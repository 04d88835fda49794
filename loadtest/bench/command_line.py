"""How long a person waits for `pit --help`."""

import subprocess
import sys
from statistics import median
from time import perf_counter

RUNS = 11
HELP_GOAL_MS = 300.0


def main() -> None:
    """Print the median and the longest of several runs, a new process each."""
    times_ms = []
    for _ in range(RUNS):
        began_s = perf_counter()
        subprocess.run(
            [sys.executable, "-m", "services.cli.main", "--help"], check=True, capture_output=True
        )
        times_ms.append((perf_counter() - began_s) * 1_000)
    print(
        f"pit --help: median {median(times_ms):.0f} ms, longest {max(times_ms):.0f} ms of {RUNS} "
        f"(goal < {HELP_GOAL_MS:g} ms)"
    )


if __name__ == "__main__":
    main()
