"""What several files of this folder start once."""

from collections.abc import Iterator

import pytest

from support.operated import Operated, operated
from support.valkey import emptied, running


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    """A real exchange with two matchers and the internal port, on a server of its own."""
    with running("valkey", tmp_path_factory.mktemp("operated-store")) as server:
        emptied(server)
        with operated(server.url, tmp_path_factory.mktemp("operated"), "m1", "m2") as started:
            yield started
