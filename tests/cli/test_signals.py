"""A command that `nohup` started outlives its terminal."""

import signal

import pytest

from services.cli.signals import ending


@pytest.mark.parametrize(
    ("before", "ends"),
    [
        (signal.SIG_DFL, [signal.SIGTERM, signal.SIGHUP]),
        (signal.default_int_handler, [signal.SIGTERM, signal.SIGHUP]),
        (signal.SIG_IGN, [signal.SIGTERM]),
    ],
)
def test_a_hangup_that_is_ignored_stays_so(before, ends) -> None:  # type: ignore[no-untyped-def]
    earlier = signal.signal(signal.SIGHUP, before)
    try:
        assert ending() == ends
    finally:
        signal.signal(signal.SIGHUP, earlier)
