"""The generator's processes, as seen by the one that starts them: none is lost without a word."""

import socket
from collections.abc import Mapping

import pytest

from loadtest import run
from loadtest.null.process import NullExchange
from loadtest.options import Options, Stage
from loadtest.screen import Lines
from loadtest.workers import WorkerFailed, Workers
from support.small_load import orders

WAIT_S = 30.0


def test_a_process_that_is_killed_is_not_taken_for_done() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        wanted = orders(f"127.0.0.1:{silent.getsockname()[1]}", 1, 10, 1)
        with Workers([wanted]) as workers:
            workers._processes[0].kill()
            with pytest.raises(WorkerFailed, match="process 0 of the generator ended with code -9"):
                list(workers.hear(WAIT_S))


class InterruptedOnce(NullExchange):
    """As if Ctrl-C came while it is played at."""

    interrupted = False

    def rss_bytes(self) -> Mapping[str, int]:
        if not self.interrupted:
            self.interrupted = True
            raise KeyboardInterrupt
        return {}


def test_an_interrupt_while_the_ceiling_is_tried_ends_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "NullExchange", InterruptedOnce)
    options = Options(
        "", "blitz", b"", (), 1, 4, "steady", (Stage(4.0, 100.0),), 0.0, 1.0, 7, (), 1, 50, "lean",
        "shared",
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        run.reached_at_most(options, Lines(options))
