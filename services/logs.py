"""Logs of every process: state changes only, to standard error, never tokens, seeds or hands.

A log that cannot be written (its disk is full, whoever read it is gone) costs lines, never the
process: what was dropped is counted, and told by the first line that can be written again.
"""

import logging
import sys
from threading import Lock
from traceback import extract_tb
from typing import Any, Literal, TextIO

import structlog


class Lines:
    """Writes lines, or drops them; as `structlog` wants a logger to be. Never raises."""

    dropped_total = 0
    """Lines of this process that nobody will ever read."""

    def __init__(self, stream: TextIO | None) -> None:
        """`stream` is `None` where whoever started the process has closed it."""
        # Past Python's buffers, which would keep what could not be written and try it again.
        buffer = getattr(stream, "buffer", None)
        self._file: Any = getattr(buffer, "raw", buffer)
        self._lock = Lock()
        self._cut = False
        """Whether only the beginning of the last line was written."""
        self.dropped = 0
        """Lines since one was written."""

    def msg(self, line: str) -> None:
        with self._lock:
            if self._write(line):
                self.dropped = 0
            else:
                self.dropped += 1
                Lines.dropped_total += 1

    log = debug = info = warn = warning = error = exception = critical = fatal = failure = err = msg

    def _write(self, line: str) -> bool:
        """Whether all of it was written."""
        if self._file is None:
            return False
        text = f"\n{line}\n" if self._cut else f"{line}\n"
        rest = memoryview(text.encode(errors="backslashreplace"))
        try:
            while rest:
                count = self._file.write(rest)
                if not count:  # a full pipe that does not wait
                    return False
                rest = rest[count:]
                self._cut = bool(rest)
        except (OSError, ValueError):
            return False
        return True


def configure(log_format: Literal["auto", "json", "console"] = "auto", **fields: str) -> None:
    """Set structlog up once a process; `fields` stand in every line."""
    stream = sys.stderr
    console = log_format == "console" or (
        log_format == "auto" and stream is not None and stream.isatty()
    )
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if console else structlog.processors.JSONRenderer()
    )
    lines = Lines(stream)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _exception_without_its_text,
            _with_dropped,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(**fields)


def _with_dropped(
    logger: structlog.typing.WrappedLogger, method: str, fields: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Say how many lines are missing before this one."""
    if logger.dropped:
        fields["lines_dropped"] = logger.dropped
    return fields


def _exception_without_its_text(
    logger: structlog.typing.WrappedLogger, method: str, fields: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Say what was raised and where, but not its message: that may hold a player's cards."""
    if fields.pop("exc_info", None):
        kind, _, trace = sys.exc_info()
        fields["raised"] = kind.__name__ if kind else ""
        fields["at"] = [f"{at.filename}:{at.lineno} {at.name}" for at in extract_tb(trace)]
    return fields
