"""The whole exchange and its players on this machine, as `pit load` runs them, for a short time.

python -m loadtest.bench.end_to_end --tables 1000 --rate 2000
"""

import sys

from loadtest.bench._pit_load import SEATS, Load, asked, lateness, pit_load, server_us

P50_GOAL_MS = 8
P99_GOAL_MS = 25


def main(load: Load | None = None) -> None:
    """Print latency of trades, what an action costs, the mix, and the command of a full run."""
    load = load or Load()
    result = pit_load(load)
    trade, generator = result["latency_ms"]["trade"], result["generator"]
    print(
        f"{load.tables:,} tables x {SEATS}, {result['rate_done']:,.0f} of {load.rate:,} actions/s:"
        f" trade p50 {trade['p50']:.1f} ms (goal {P50_GOAL_MS}),"
        f" p99 {trade['p99']:.1f} ms (goal {P99_GOAL_MS}), {result['errors']} errors"
    )
    print(
        "  generator: "
        + lateness(result["late_share"], generator["loop_lag_p99_ms"], valid=generator["valid"])
    )
    each = result["run"]["server_cpu_us_per_action"] | {
        "generator": result["run"]["generator_cpu_us_per_action"]
    }
    print(
        "  processor an action: "
        + ", ".join(f"{role} {cost:.0f} us" for role, cost in each.items())
        + f"; gateway, matcher and store together {server_us(result):.0f} us"
    )
    mix = ", ".join(f"{name} {share:.1%}" for name, share in result["run"]["mix"].items())
    print(f"  mix really run: {mix}")
    print(
        f"  in full: pit load --local --rules blitz --tables {load.tables} --seats {SEATS} "
        f"--rate {load.rate} --duration 60 --warmup 20 "
        f"--slo 'trade:p50<{P50_GOAL_MS}ms' --slo 'trade:p99<{P99_GOAL_MS}ms'"
    )


if __name__ == "__main__":
    main(asked(__doc__, sys.argv[1:]))
