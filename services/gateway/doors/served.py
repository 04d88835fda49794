"""All methods of a door by path, with the name under which each is counted."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from google.protobuf.message import Message

from engine.value import value
from services.gateway.methods import METHODS, Method
from services.gateway.observer import MethodName


@value
class OpenStream:
    """One request, responses as they come, for who has no token."""

    request: type[Message]
    answers: Callable[[Any, str], AsyncGenerator[Message, None]]
    """Is given the caller's network address, empty where that is not known."""


@value
class Served:
    """One method."""

    method: Method | OpenStream
    name: MethodName | None
    """`None` where nobody counts it."""


_NAMES = {f"/{service}/{name}": (kind, service, name) for kind, service, name in METHODS}


def served(*groups: Mapping[str, Method | OpenStream]) -> dict[str, Served]:
    """What is asked for by `/pit.v1.LobbyService/GetTable`."""
    return {
        path: Served(method, _NAMES.get(path)) for group in groups for path, method in group.items()
    }


def services_of(methods: Mapping[str, object]) -> list[str]:
    """Names of the services that these paths belong to."""
    return sorted({path.split("/")[1] for path in methods})
