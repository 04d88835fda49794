"""Logs of every process: state changes only, to standard error, never tokens, seeds or hands."""

import logging
import sys
from traceback import extract_tb
from typing import Literal

import structlog


def configure(log_format: Literal["auto", "json", "console"] = "auto", **fields: str) -> None:
    """Set structlog up once a process; `fields` stand in every line."""
    console = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if console else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _exception_without_its_text,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(**fields)


def _exception_without_its_text(
    logger: structlog.typing.WrappedLogger, method: str, fields: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Say what was raised and where, but not its message: that may hold a player's cards."""
    if fields.pop("exc_info", None):
        kind, _, trace = sys.exc_info()
        fields["raised"] = kind.__name__ if kind else ""
        fields["at"] = [f"{at.filename}:{at.lineno} {at.name}" for at in extract_tb(trace)]
    return fields
