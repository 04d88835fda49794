"""`grpc.health.v1`: what load balancers and `pit demo` ask before they send anybody."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import Final

from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from services.gateway.doors.ends import UnknownService
from services.gateway.doors.served import OpenStream
from services.gateway.errors import Refusal, Refused
from services.gateway.methods import Open

WATCHERS_PER_ADDRESS_MAX: Final = 20
"""Anybody may watch without a token; a load balancer does so once for each service."""


class Health:
    """One state for all services of a door, and for the empty name, the door itself."""

    def __init__(self, services: Iterable[str]) -> None:
        self._services = frozenset(("", *services))
        self._serving = True
        self._watchers: dict[asyncio.Event, str] = {}
        """What wakes each, and from which address it came."""

    def methods(self) -> dict[str, Open | OpenStream]:
        """By path."""
        return {
            "/grpc.health.v1.Health/Check": Open(HealthCheckRequest, self._check),
            "/grpc.health.v1.Health/Watch": OpenStream(HealthCheckRequest, self._watch),
        }

    def not_serving(self) -> None:
        """From now on, and for good."""
        self._serving = False
        for watcher in self._watchers:
            watcher.set()

    @property
    def _status(self) -> HealthCheckResponse:
        return HealthCheckResponse(
            status=HealthCheckResponse.SERVING if self._serving else HealthCheckResponse.NOT_SERVING
        )

    async def _check(self, request: HealthCheckRequest, address: str) -> HealthCheckResponse:
        if request.service not in self._services:
            raise UnknownService
        return self._status

    async def _watch(
        self, request: HealthCheckRequest, address: str
    ) -> AsyncGenerator[HealthCheckResponse, None]:
        """The state now, and again when it changes. Never ends of itself."""
        if list(self._watchers.values()).count(address) >= WATCHERS_PER_ADDRESS_MAX:
            raise Refused(Refusal.TOO_MANY_STREAMS, max=WATCHERS_PER_ADDRESS_MAX)
        changed = asyncio.Event()
        self._watchers[changed] = address
        try:
            if request.service not in self._services:
                yield HealthCheckResponse(status=HealthCheckResponse.SERVICE_UNKNOWN)
                await asyncio.Event().wait()  # a service that is not here never comes
            if self._serving:
                yield self._status
                await changed.wait()
            yield self._status
            await asyncio.Event().wait()
        finally:
            del self._watchers[changed]
