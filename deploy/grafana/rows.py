"""The dashboard's rows, in the order one looks at them."""

from typing import Final

from deploy.grafana.machinery import OWNERSHIP, REDIS, RUNTIME, STREAMS
from deploy.grafana.playing import CALLS, EXCHANGE, FAN_OUT, NOW, SESSIONS
from deploy.grafana.promises import INTEGRITY, PROMISES

ROWS: Final = {
    "Now": NOW,
    "RED per RPC": CALLS,
    "Exchange": EXCHANGE,
    "Streams": STREAMS,
    "Ownership": OWNERSHIP,
    "Sessions": SESSIONS,
    "Fan-out": FAN_OUT,
    "Runtime": RUNTIME,
    "Redis": REDIS,
    "Integrity: must be 0": INTEGRITY,
    "SLO": PROMISES,
}
