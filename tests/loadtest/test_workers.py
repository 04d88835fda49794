"""The generator's processes, as seen by the one that starts them: none is lost without a word."""

import socket

import pytest

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
