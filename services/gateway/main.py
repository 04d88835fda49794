"""`pit serve gateway`: the process around the gateway."""

import asyncio
import os
import secrets
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import structlog

from engine.rejections import Rejection
from services import logs
from services.collector import settle_collector
from services.gateway.admission import SCOPES
from services.gateway.doors.opening import NativeDoor, new_door
from services.gateway.doors.tls import BadCertificate, Certificate, TlsFiles
from services.gateway.errors import Refusal
from services.gateway.gateway import Gateway
from services.gateway.identity.store import RedisPeopleStore
from services.gateway.identity.tokens import BadKeys, SignedTokens, parse_keys
from services.gateway.methods import METHODS, methods_of
from services.gateway.observer import UNOBSERVED, Observer
from services.gateway.operate.orders import Orders
from services.gateway.operate.service import operate_methods
from services.gateway.operate.store import RedisOperateStore
from services.gateway.session.limits import PROFILES
from services.gateway.session.roles import Role
from services.log.port import LogError, StoreChanged
from services.log.redis import RedisGatewayLog
from services.log.store import Fitness
from services.metrics.gateway import GatewayMetrics
from services.settings import SESSIONS_MAX, Settings, SettingsProblem
from services.starting import fit_store

log: structlog.stdlib.BoundLogger = structlog.get_logger()

EXIT_STORE: Final = 3
"""The store is not the one this process was started on, was never set up, or cannot be reached."""
EXIT_ADDRESS: Final = 7
"""The address is taken."""
EXIT_FORCED: Final = 130
"""A second signal: ended without a word to the clients."""
CLOSE_GRACE_S: Final = 1.0
LOOP_CHECK_S: Final = 0.1


def run(settings: Settings) -> int:
    """Serve until told to stop; the exit code. Raises `SettingsProblem`, `Unfit`, and `Unavailable`
    at start."""
    name = settings.name or f"{socket.gethostname()}-{os.getpid()}"
    logs.configure(settings.log_format, process="gateway", name=name)
    orders = Orders()
    try:
        keys = parse_keys(settings.token_keys.get_secret_value())
        tokens = SignedTokens(keys, orders.check)
        certificate = _certificate(settings)
    except (BadKeys, BadCertificate) as bad:
        raise SettingsProblem(str(bad)) from None
    fit = fit_store(settings.redis_url)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_serve(settings, name, fit, tokens, orders, certificate))


def _certificate(settings: Settings) -> Certificate | None:
    """Raises `BadCertificate`."""
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    return Certificate(TlsFiles(settings.tls_certificate, settings.tls_key))


def _loop_factory() -> "type[asyncio.AbstractEventLoop] | None":
    with suppress(ImportError):
        import uvloop  # noqa: PLC0415 - not on every platform

        return uvloop.Loop
    return None


async def _serve(
    settings: Settings,
    name: str,
    fit: Fitness,
    tokens: SignedTokens,
    orders: Orders,
    certificate: Certificate | None,
) -> int:
    log_port = RedisGatewayLog(settings.redis_url)
    store = RedisPeopleStore(settings.redis_url)
    operate = RedisOperateStore(settings.redis_url)
    try:
        meta = await log_port.meta()
        with _measured(settings) as observer:
            gateway = Gateway(
                log_port,
                store,
                tokens,
                # A new name for every start: streams of an earlier one of this name are lost.
                f"{name}.{secrets.token_hex(3)}",
                meta.shards,
                PROFILES[settings.profile],
                observer=observer,
                sessions_max=settings.sessions_max,
                allowed=settings.allowed_networks,
                archive=settings.archive_directory,
                archive_days=settings.archive_days,
                orders=orders,
            )
            door = new_door(settings.native_door, gateway, methods_of(gateway), certificate)
            inner = None
            if settings.operate_port:
                # Calls of operators are in the audit, and not among the players' figures.
                methods = operate_methods(gateway, operate, meta.store_id)
                shown = certificate if settings.operate_tls else None
                inner = new_door(settings.native_door, gateway, methods, shown)
            return await _serve_gateway(gateway, operate, door, inner, settings, fit)
    except StoreChanged as changed:
        log.error("wrong store", what=str(changed), fix="see `pit store init`")
        return EXIT_STORE
    except LogError as error:
        log.error("store not reached", what=str(error), fix="is PIT_REDIS_URL right?")
        return EXIT_STORE
    finally:
        await log_port.close()
        await store.close()
        await operate.close()


@contextmanager
def _measured(settings: Settings) -> Iterator[Observer]:
    """Who is told of what the gateway does, and serves it as figures where they are wanted."""
    if not settings.metrics_port:
        yield UNOBSERVED
        return
    metrics = new_metrics(settings.sessions_max)
    metrics.serve(settings)
    watching = asyncio.create_task(_watch_loop(metrics))
    try:
        yield metrics
    finally:
        watching.cancel()


def new_metrics(sessions_max: int = SESSIONS_MAX) -> GatewayMetrics:
    """The gateway's figures, at 0."""
    ends = [each.name for kind in (Refusal, Rejection) for each in kind]
    return GatewayMetrics([role.value for role in Role], ends, METHODS, SCOPES, sessions_max)


async def _watch_loop(metrics: GatewayMetrics) -> None:
    """How late the loop is: by how much a sleep is longer than asked for."""
    while True:
        begun_s = time.monotonic()
        await asyncio.sleep(LOOP_CHECK_S)
        metrics.loop_lag.observe(max(0.0, time.monotonic() - begun_s - LOOP_CHECK_S))


async def _serve_gateway(
    gateway: Gateway,
    operate: RedisOperateStore,
    door: NativeDoor,
    inner: NativeDoor | None,
    settings: Settings,
    fit: Fitness,
) -> int:
    stopping = _stop_signal()
    await gateway.begin()
    await gateway.obey(operate)
    address = f"{settings.bind}:{settings.port_base}"
    inside = f"{settings.operate_bind}:{settings.operate_port}"
    try:
        if inner is not None:
            await inner.open(settings.operate_bind, settings.operate_port)
    except OSError:
        log.error("address taken", address=inside, fix="PIT_OPERATE_PORT names another port")
        return EXIT_ADDRESS
    try:
        port = await door.open(settings.bind, settings.port_base)
    except OSError:
        if inner is not None:
            await inner.close(0)
        log.error("address taken", address=address, fix="PIT_PORT_BASE moves all ports")
        return EXIT_ADDRESS
    log.info(
        "gateway started",
        address=address,
        port=port,
        door=settings.native_door,
        store=fit.server,
        durability=fit.durability,
        promise=fit.promise,
    )
    settle_collector()
    serving = asyncio.create_task(gateway.run(operate))
    await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
    await door.not_serving()
    if inner is not None:
        await inner.close(0)
    failure = serving.exception() if serving.done() and not serving.cancelled() else None
    if failure is None:
        await gateway.drain()
    await door.close(CLOSE_GRACE_S)
    serving.cancel()
    with suppress(asyncio.CancelledError, BaseExceptionGroup):
        await serving
    if isinstance(failure, BaseExceptionGroup):
        for error in failure.exceptions:
            raise error
    log.info("gateway stopped")
    return 0


def _stop_signal() -> "asyncio.Future[None]":
    """Done by the first SIGTERM or SIGINT; the second ends the process at once."""
    loop = asyncio.get_running_loop()
    asked: asyncio.Future[None] = loop.create_future()

    def on_signal() -> None:
        if asked.done():
            os._exit(EXIT_FORCED)
        asked.set_result(None)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    return asked
