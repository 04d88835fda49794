"""The course of `pit load`."""

import json
import shlex
import signal
import sys
from typing import Any

from loadtest import compare, report, run, text
from loadtest.local import LocalExchange
from loadtest.null.process import NullExchange
from loadtest.options import Options
from loadtest.screen import watcher
from loadtest.usage import Unreachable, Unusable
from services.cli.failures import Exit, Failure
from services.cli.load.asked import Asked, settle
from services.cli.load.own import OwnExchange


def load(asked: Asked) -> int:
    """Run a load test; its exit code. Raises `Failure`."""
    # A shell starts what runs in the background with interrupts ignored; ours are to be reported.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    console = text.console(stderr=asked.as_json)
    own: LocalExchange | None = None
    try:
        options = settle(asked)
        beside = compare.read(asked.control, compare.SHOWN) if asked.control else None
        then = compare.read(options.compare, compare.JUDGED) if options.compare else None
        if then is not None:
            compare.comparable(then, options)
        if asked.null:
            own = NullExchange()
        elif asked.local:
            own = OwnExchange(_matchers(options.scenario))
        with watcher(console, options) as watching:
            most = run.reached_at_most(options, watching) if asked.ceiling else None
            result = run.run(options, _command(), own, watching, beside, most)
    except Unusable as problem:
        raise Failure(Exit.USAGE, problem.what, "", problem.remedy) from None
    except Unreachable as failure:
        raise Failure(
            Exit.UNREACHABLE,
            f"the exchange at {asked.target or 'this machine'} does not play",
            str(failure),
            failure.remedy
            or "see that a gateway listens there, and with which limits (PIT_PROFILE=load)",
        ) from None
    finally:
        if own is not None:
            own.end()
    _write_out(result, options)  # before anything else can fail
    if then is not None:
        result["run"]["compared"] = compare.compared(then, result, options.max_regress)
        _write_out(result, options)
    if options.html is not None:
        report.write(result, options.html)
    text.show(console, result)
    if asked.as_json:
        print(json.dumps(result))
    return run.exit_code(result)


def _write_out(result: dict[str, Any], options: Options) -> None:
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


def _command() -> str:
    """What repeats this run."""
    return shlex.join(["pit", *sys.argv[1:]])


def _matchers(scenario: str) -> int:
    """One, which then has the most to put into each turn; two where one is killed."""
    return 2 if scenario == "matcher-kill" else 1
