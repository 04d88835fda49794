"""Compiles the hot modules with mypyc where `COMPILE_HOT=1` asks for it; else there is no building.

The source tree is always run as it is; `make compiled` makes an environment with the compiled
package beside it. Compiled modules behave the same but for two things: a class of theirs cannot be
inherited from in a module that is not compiled, and their attributes cannot be replaced.
"""

import os
from glob import glob

from setuptools import setup

HOT = (
    "engine/cards.py",
    "engine/commands.py",
    "engine/deadlines.py",
    "engine/deal.py",
    "engine/decide/*.py",
    "engine/events/*.py",
    "engine/evolve/*.py",
    "engine/lots.py",
    "engine/rules.py",
    "engine/score.py",
    "engine/shown.py",
    "engine/state.py",
    "engine/table.py",
    "engine/view.py",
    "services/http2/*.py",
    "services/log/chain.py",
    "services/log/codec.py",
    "services/log/entry.py",
    "services/log/linger.py",
    "services/log/redis_owner.py",
    "services/log/redis_gateway.py",
    "services/log/replies.py",
    "services/metrics/gateway.py",
    "services/matcher/clock.py",
    "services/matcher/crash.py",
    "services/matcher/lobby.py",
    "services/matcher/matcher.py",
    "services/matcher/ownership.py",
    "services/matcher/presence.py",
    "services/matcher/saving.py",
    "services/matcher/shard.py",
    "services/matcher/timers.py",
    "services/matcher/turn.py",
    "services/metrics/lean.py",
    "services/metrics/matcher.py",
    "services/gateway/admission.py",
    "services/gateway/appender.py",
    "services/gateway/feed.py",
    "services/gateway/gateway.py",
    "services/gateway/hub.py",
    "services/gateway/names.py",
    "services/gateway/resource_names.py",
    "services/gateway/ring.py",
    "services/gateway/wire.py",
    "services/gateway/convert/*.py",
    "services/gateway/doors/entry.py",
    "services/gateway/doors/observed.py",
    "services/gateway/doors/h2/*.py",
    "services/gateway/session/*.py",
    "services/bots/acts.py",
    "services/bots/careful.py",
    "services/bots/hands.py",
    "services/bots/strategy.py",
    "services/client/acting.py",
    "services/client/backoff.py",
    "services/client/deck.py",
    "services/client/happenings.py",
    "services/client/items.py",
    "services/client/protocol.py",
    "services/client/view.py",
    "loadtest/acts.py",
    "loadtest/checks.py",
    "loadtest/connections/lean.py",
    "loadtest/course.py",
    "loadtest/crowd.py",
    "loadtest/outcomes.py",
    "loadtest/plan.py",
    "loadtest/record.py",
    "loadtest/remembered.py",
    "loadtest/samples.py",
    "loadtest/scrutiny.py",
    "loadtest/seat.py",
    "loadtest/shared.py",
    "loadtest/slot.py",
    "loadtest/table.py",
    "loadtest/view.py",
)
"""Modules that each action passes through."""


def compiled_modules() -> list:
    if os.environ.get("COMPILE_HOT") != "1":
        return []
    from mypyc.build import mypycify  # noqa: PLC0415 - needed for this alone

    paths = sorted({path for pattern in HOT for path in glob(pattern)})
    return mypycify(
        ["--always-true=NATIVE", *(path for path in paths if not path.endswith("__init__.py"))],
        opt_level=os.environ.get("COMPILE_LEVEL", "3"),
        debug_level="0",
        multi_file=True,  # a single file of all modules keeps a compiler busy for many minutes
    )


setup(ext_modules=compiled_modules())
