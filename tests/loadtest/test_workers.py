"""The generator's processes, as seen by the one that starts them: none is lost without a word."""

import socket
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing import Pipe

import pytest

from loadtest import run
from loadtest.connections.lean import LeanConnections
from loadtest.crowd import Crowd
from loadtest.null.process import NullExchange
from loadtest.opening import Opener, Persons
from loadtest.options import Options, Stage
from loadtest.screen import Lines
from loadtest.worker import _Worker
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


async def test_a_run_stopped_while_guests_are_signed_in_has_no_slow_readers() -> None:
    ours, _ = Pipe()
    wanted = replace(orders("127.0.0.1:1", 1, 10, 1), scenario="slow-readers")
    worker, persons = _Worker(wanted, ours), Persons(wanted.target, "Load", "shared", 4)
    crowd = Crowd(wanted, Opener(persons, wanted.wish), LeanConnections(wanted.target, 1))
    worker._stopped.set()
    assert await worker._slow_readers(crowd, persons) is None
    await persons.close()
