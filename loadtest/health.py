"""Whether the generator itself kept up: one that is late measures itself."""

from typing import Final

LATE_S: Final = 0.010
"""A send so much after its intended time is late."""
LATE_SHARE_MAX: Final = 0.01
"""More late sends than this, and the run is not valid."""
LOOP_LAG_P99_MAX_MS: Final = 5.0
"""A loop that runs so late now and then adds it to what it measures."""


def valid(sent: float, late_share: float, loop_lag_p99_ms: float) -> bool:
    """Whether a run that sent so many actions while it was measured says anything."""
    kept_up = late_share <= LATE_SHARE_MAX and loop_lag_p99_ms <= LOOP_LAG_P99_MAX_MS
    return sent > 0 and kept_up


def problems(sent: int, late_share: float, loop_lag_p99_ms: float) -> list[str]:
    """Why a run is not valid, in words."""
    said = []
    if not sent:
        said.append("no action was sent while it was measured")
    if late_share > LATE_SHARE_MAX:
        said.append(f"{late_share:.1%} of the sends were over {LATE_S * 1000:.0f} ms late")
    if loop_lag_p99_ms > LOOP_LAG_P99_MAX_MS:
        said.append(f"the generator's loop ran {loop_lag_p99_ms:.1f} ms late (p99)")
    return said
