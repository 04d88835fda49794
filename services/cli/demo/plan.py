"""What a demo is to do, checked before anything is started."""

import socket
import tempfile
from dataclasses import replace
from pathlib import Path

from engine.value import value
from services.cli.common import check_rules, load_settings
from services.cli.failures import Exit, Failure
from services.cli.numbers import PORT_BASE_MAX
from services.cli.operate.inside import DEMO_PORT
from services.log.store import SHARDS
from services.settings import Settings

STORE_PORT = 79
"""Distance of the embedded server's port from the first."""
OPERATE_PORT = DEMO_PORT
"""Of the gateway's internal port."""
METRICS_PORT = 90
"""Of the gateway's metrics; archiver, bots and matchers follow in this order."""


@value
class Plan:
    """A demo, settled: everything below is possible."""

    settings: Settings
    data: Path
    temporary: bool
    """Whether `data` goes away at the end: a timed run of its own leaves nothing behind."""
    port_base: int
    tables: int
    seats: int
    rules: str
    duration_s: float
    """0: until the person at the terminal quits."""
    as_json: bool
    pace: str
    bots: bool
    matchers: int
    kill_every_s: float
    shards: int = SHARDS
    """Of a store that is new."""
    begun: str = "the demo"
    """What cannot begin where there is no room for it."""
    elsewhere: str = (
        "give --data a directory on a larger one; nothing that was acknowledged is lost"
    )
    """How whoever asked can name another disk."""

    @property
    def gateway_port(self) -> int:
        return self.port_base

    @property
    def store_port(self) -> int:
        return self.port_base + STORE_PORT

    @property
    def operate_port(self) -> int:
        return self.settings.operate_port or self.port_base + OPERATE_PORT

    @property
    def metrics_ports(self) -> dict[str, int]:
        """By child."""
        matchers = (f"matcher-{number}" for number in range(1, self.matchers + 1))
        first = self.port_base + METRICS_PORT
        return {
            name: first + place
            for place, name in enumerate(("gateway", "archiver", "bots", *matchers))
        }


def plan(
    *,
    tables: int,
    seats: int,
    rules: str,
    duration_s: float,
    as_json: bool,
    pace: str,
    bots: bool,
    data: Path | None,
    port_base: int | None,
    matchers: int,
    kill_every_s: float,
) -> Plan:
    """Settle a demo. Raises `Failure` where it could not run."""
    settings = load_settings()
    check_rules(rules, seats)
    # A store that outlives the demo must not lose its archive with it.
    temporary = data is None and duration_s > 0 and not settings.redis_url
    settled = Plan(
        settings=settings,
        data=(data or settings.data).absolute(),
        temporary=temporary,
        port_base=settings.port_base if port_base is None else port_base,
        tables=tables,
        seats=seats,
        rules=rules,
        duration_s=duration_s,
        as_json=as_json,
        pace=pace,
        bots=bots,
        matchers=matchers,
        kill_every_s=kill_every_s,
    )
    _check_ports(settled)
    if temporary:  # made last: whatever fails before leaves nothing behind
        settled = replace(settled, data=Path(tempfile.mkdtemp(prefix="pit-demo-")))
    return settled


def _check_ports(plan: Plan) -> None:
    """Raises `Failure`."""
    settings = plan.settings
    if not 1 <= plan.port_base <= PORT_BASE_MAX:
        raise Failure(
            Exit.USAGE,
            f"there is no port {plan.port_base}, or none above it for the others",
            f"the ports of a demo begin at 1 to {PORT_BASE_MAX}",
            "give --port-base a number in that range, for example 7700",
        )
    _check_port(settings.bind, plan.port_base, "gRPC")
    if not settings.redis_url:
        _check_port(settings.bind, plan.store_port, "the embedded server")
    _check_port(settings.operate_bind, plan.operate_port, "for operators")
    for name, port in plan.metrics_ports.items():
        _check_port(settings.metrics_bind, port, f"metrics of {name}")


def _check_port(host: str, port: int, purpose: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise Failure(
                Exit.IN_USE,
                f"port {port} ({purpose}) is not free on {host}",
                str(error),
                "stop what uses it, or give another --port-base (for example "
                f"--port-base {port // 100 * 100 + 1_000})",
            ) from None
