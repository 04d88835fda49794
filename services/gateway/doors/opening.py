"""Which door a gateway has."""

from collections.abc import Mapping
from typing import Literal, Protocol

from services.gateway.doors.tls import Certificate
from services.gateway.gateway import Gateway
from services.gateway.methods import Method

Kind = Literal["h2", "grpc.aio"]


class NativeDoor(Protocol):
    """One port, and the methods served there."""

    async def open(self, host: str, port: int) -> int:
        """Listen; the port. Raises `OSError` where the address is taken."""

    async def not_serving(self) -> None:
        """Tell whoever asks for its health that this gateway takes nothing new."""

    async def close(self, grace_s: float) -> None:
        """Take nothing new, and end what there is within the grace."""


def new_door(
    kind: Kind, gateway: Gateway, methods: Mapping[str, Method], tls: Certificate | None = None
) -> NativeDoor:
    """Loads only the door that is asked for: `grpc` alone takes 20 MB and 0.2 s."""
    if kind == "h2":
        from services.gateway.doors.h2.door import H2Door  # noqa: PLC0415

        return H2Door(gateway, methods, tls)
    from services.gateway.doors.grpc_aio.server import GrpcDoor  # noqa: PLC0415

    return GrpcDoor(gateway, methods, tls)
