"""The course of `pit load`."""

import json
import shlex
import signal
import sys
from typing import Any

from rich.console import Console

from loadtest import compare, files, run, text
from loadtest.local import LocalExchange
from loadtest.null.process import NullExchange
from loadtest.options import Options
from loadtest.screen import watcher
from loadtest.usage import Limited, Unreachable, Unusable
from services.cli import signals
from services.cli.failures import Exit, Failure, say
from services.cli.load.asked import Asked, settle
from services.cli.load.own import OwnExchange
from services.cli.writing import forget_output, not_written


def load(asked: Asked) -> int:
    """Run a load test; its exit code. Raises `Failure`."""
    # A shell starts what runs in the background with interrupts ignored; ours are to be reported.
    # The others are as good: nothing is left behind.
    for number in (signal.SIGINT, *signals.ending()):
        signal.signal(number, signal.default_int_handler)
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
            played = run.run(options, _command(), own, watching, beside, most)
    except Unusable as problem:
        raise Failure(Exit.USAGE, problem.what, "", problem.remedy) from None
    except Limited as limited:
        raise Failure(
            Exit.REFUSED,
            f"the exchange at {asked.target or 'this machine'} refuses what this run needs",
            str(limited),
            limited.remedy,
        ) from None
    except Unreachable as failure:
        raise Failure(
            Exit.UNREACHABLE,
            f"the exchange at {asked.target or 'this machine'} does not play",
            str(failure),
            failure.remedy or "see that a gateway of this version listens there",
        ) from None
    finally:
        if own is not None:
            own.end()
    return _tell(console, options, played, then, as_json=asked.as_json)


def _tell(
    console: Console,
    options: Options,
    played: run.Played,
    then: dict[str, Any] | None,
    *,
    as_json: bool,
) -> int:
    """Files, then figures, then what is wrong with the files; the exit code."""
    result = played.result
    try:
        if then is not None:
            result["run"]["compared"] = compare.compared(then, result, options.max_regress)
    finally:  # a run is long: what it measured is kept, whatever fails
        unwritten = files.save(options, result, played.histograms)
    code = run.exit_code(result) or (Exit.NOT_WRITTEN if unwritten else Exit.GOOD)
    try:
        _show(console, result, as_json=as_json)
    except BrokenPipeError:  # whoever read it has seen enough
        forget_output()
    except OSError as full:
        forget_output()
        say(not_written("the output", full).text())
        code = code or Exit.NOT_WRITTEN
    for path, error in unwritten:
        say(not_written(path, error).text())
    return code


def _show(console: Console, result: dict[str, Any], *, as_json: bool) -> None:
    """Written in one piece: rich would end the program where nobody reads it."""
    with console.capture() as captured:
        text.show(console, result)
    if as_json:
        say(captured.get().rstrip("\n"))
        print(json.dumps(result), flush=True)
    else:
        print(captured.get(), end="", flush=True)


def _command() -> str:
    """What repeats this run."""
    return shlex.join(["pit", *sys.argv[1:]])


def _matchers(scenario: str) -> int:
    """One, which then has the most to put into each turn; two where one is killed."""
    return 2 if scenario == "matcher-kill" else 1
