"""The three stores the contract holds on."""

from collections.abc import Iterator

import pytest

from support.stores import Backend, MemoryBackend, ServerBackend, closing
from support.valkey import emptied


@pytest.fixture(params=["memory", "valkey", "redis"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Each test that asks for it runs on the twin, on Valkey and on Debian's redis 7.0."""
    if request.param == "memory":
        yield MemoryBackend()
        return
    server = request.getfixturevalue(f"{request.param}_server")
    emptied(server)
    with closing(ServerBackend(server)) as found:
        yield found
