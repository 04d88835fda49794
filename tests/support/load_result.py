"""What a load test has counted, made up: for what is made of it."""

from loadtest.checks import Checks
from loadtest.messages import Done, Report
from loadtest.options import Options, Stage
from loadtest.samples import OVER_TIME, Samples
from loadtest.slo import parse
from loadtest.tally import Tally

OPTIONS = Options(
    "", "blitz", b"", (), 10, 4, "steady", (Stage(4.0, 100.0),), 0.0, 1.0, 7,
    (parse("trade:p99<200ms"), parse("trade:max<100ms")), 1, 50, "lean", "shared",
)  # fmt: skip


def tally() -> Tally:
    """Five seconds: a trade of 1 to 100 ms in each, 400 actions, one of them late."""
    tallied = Tally()
    for second in range(5):
        samples = Samples()
        for ms in range(1, 101):
            samples.latency("trade", ms / 1000)
            samples.latency("service_trade", ms / 2000)
            samples.latency(OVER_TIME, ms / 1000)
            samples.latency("loop_lag", 0.001)
            samples.latency("plan_lag", 0.0005)
        samples.counts.update(
            {"sent": 80, "acted": 80, "events": 300, "messages": 200, "done open": 50,
             "done traded": 35, "refused NO_CORNER": 15, "games": 1}
        )  # fmt: skip
        tallied.report(0, Report(samples.take(), 9, second))
    last = Samples()
    last.counts.update({"late": 1, "error UNKNOWN_OUTCOME": 2})
    tallied.done(Done(last.take(), Checks(), 0.4, 4.0))
    return tallied
