"""What every process asks of its store before it begins."""

import structlog

from services.log.store import Fitness, require_fit

log: structlog.stdlib.BoundLogger = structlog.get_logger()


def fit_store(url: str) -> Fitness:
    """What the server promises, for the line that says that a process has started; a warning of its
    own where that is nothing. Raises `Unfit`, `Unavailable`."""
    found = require_fit(url, quietly=True)
    if found.durability == "memory":
        log.warning(
            "nothing is durable", store=found.server, promise=found.promise, fix=found.warnings[0]
        )
    return found
