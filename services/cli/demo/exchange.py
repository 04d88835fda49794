"""The exchange itself: server and child processes, started and ended in the right order."""

import fcntl
import os
import time
from pathlib import Path
from typing import IO

from services.cli.common import explained_store, opened_log
from services.cli.demo import secrets
from services.cli.demo.children import Child, end_all
from services.cli.demo.plan import Plan
from services.cli.demo.room import disk_is_full, full_disk
from services.cli.failures import Exit, Failure
from services.cli.writing import NO_ROOM
from services.log.port import Meta
from services.log.redis import RedisOwnerLog
from services.log.server import EmbeddedServer, ServerNotStarted
from services.log.store import init_store, require_fit

START_S = 20.0
"""All processes together are up in about two seconds; a loaded machine takes longer."""
POLL_S = 0.05


class Exchange:
    """Everything that runs besides the demo itself."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.url = plan.settings.redis_url
        self.meta = Meta(0, 0, "")
        self.banner = ""
        """Which server is used, and what it promises."""
        self._durability = "unknown"
        self.archive_root = plan.data / "archive"
        self.report_path = plan.data / "bots.json"
        self.matchers: dict[str, Child] = {}
        self._logs = plan.data / "logs"
        self._lock: IO[bytes] | None = None
        self._server: EmbeddedServer | None = None
        self._gateway: Child | None = None
        self._archiver: Child | None = None
        self._bots: Child | None = None

    def start(self) -> None:
        """Start all but the bots, and wait until players can be served."""
        try:
            self._start()
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise full_disk(self.plan, f"{self.plan.begun} cannot begin") from None

    def _start(self) -> None:
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            raise Failure(
                Exit.USAGE,
                f"{self.plan.data} cannot be the data directory",
                error.strerror or type(error).__name__,
                "give --data a directory that can be made or written",
            ) from None
        self._lock = _lock(self.plan.data)
        self.report_path.unlink(missing_ok=True)
        self.banner = self._start_server()
        environment = self._environment()
        for number in range(1, self.plan.matchers + 1):
            name = f"matcher-{number}"
            child = self._child(name, ["matcher"], environment | {"PIT_NAME": name})
            self.matchers[name] = child
        self._gateway = self._child("gateway", ["gateway"], environment)
        self._archiver = self._child("archiver", ["archiver"], environment)
        for child in self._running():
            child.start()
        self._wait_until_served()

    def start_bots(self) -> None:
        if not self.plan.bots:
            return
        plan = self.plan
        arguments = ["bots", "--tables", str(plan.tables), "--seats", str(plan.seats)]
        environment = self._environment() | {
            "PIT_PACE": plan.pace,
            "PIT_REPORT": str(self.report_path),
        }
        self._bots = self._child("bots", [*arguments, "--rules", plan.rules], environment)
        self._bots.start()

    def check_children(self) -> None:
        """Raises `Failure` when one of them, or the embedded server, has ended."""
        if self._server is not None and self._server.ended:
            raise Failure(
                Exit.CHILD_ENDED,
                "the embedded server ended by itself",
                "it was killed, or ran out of memory or disk",
                f"look into {self.plan.data / 'server'}, then start the demo again. Durability "
                f"{self._durability}",
            )
        for child in self._running():
            if child.ended() is not None:
                failure = child.failure()
                if disk_is_full(self.plan.data):
                    raise full_disk(self.plan, failure.what)
                raise failure

    def processes(self) -> dict[str, list[int]]:
        """Process ids by role, the store's among them if it was started here."""
        found: dict[str, list[Child | None]] = {
            "gateway": [self._gateway],
            "matcher": [*self.matchers.values()],
            "archiver": [self._archiver],
        }
        pids = {role: [child.pid for child in one if child] for role, one in found.items()}
        return pids | {"store": [self._server.pid] if self._server is not None else []}

    def kill(self, role: str) -> str:
        """Kill the `gateway` or the first `matcher`, start it again, and give its name."""
        child = self._gateway if role == "gateway" else next(iter(self.matchers.values()))
        assert child is not None
        child.kill()
        child.start()
        return child.name

    def owners(self) -> dict[int, bytes]:
        """The nonce under which each shard is owned just now."""
        log = RedisOwnerLog(self.url)
        try:
            leases = log.leases(range(self.meta.shards))
        finally:
            log.close()
        return {shard: lease.owner for shard, lease in enumerate(leases) if lease is not None}

    def end_players(self) -> None:
        """End in order: bots, gateway, matchers, and last the archiver, which copies the rest."""
        for rank in ([self._bots], [self._gateway], [*self.matchers.values()], [self._archiver]):
            end_all([child for child in rank if child is not None])

    def end(self) -> None:
        """End whatever still runs; harmless when nothing does."""
        self.end_players()
        if self._server is not None:
            self._server.stop()
        if self._lock is not None:
            self._lock.close()

    def _start_server(self) -> str:
        plan = self.plan
        if not self.url:
            durability = plan.settings.durability
            try:
                server = EmbeddedServer(plan.data / "server", plan.store_port, durability)
                self._server = server.start()
            except ServerNotStarted as error:
                if disk_is_full(plan.data):
                    raise full_disk(plan, "the embedded server cannot start") from None
                raise Failure(Exit.UNREACHABLE, "no embedded server", str(error)) from None
            self.url = server.url
        with explained_store():
            fit = require_fit(self.url)
            self.meta = self._meta()
        self._durability = f"{fit.durability}: {fit.promise}"
        kind = "embedded " if self._server is not None else ""
        return f"{kind}{fit.server}, durability {self._durability}"

    def _meta(self) -> Meta:
        try:
            return init_store(self.url, self.plan.shards)
        except ValueError:  # set up before, with another number of shards: as good
            with opened_log(self.url) as log:
                assert log is not None
                return log.meta()

    def _environment(self) -> dict[str, str]:
        plan = self.plan
        own = {name: text for name, text in os.environ.items() if not name.startswith("PIT_")}
        return (
            own
            | secrets.environment(plan.data, plan.settings)
            | {
                "PIT_REDIS_URL": self.url,
                "PIT_DATA": str(plan.data),
                "PIT_BIND": plan.settings.bind,
                "PIT_METRICS_BIND": plan.settings.metrics_bind,
                "PIT_PORT_BASE": str(plan.port_base),
                "PIT_OPERATE_BIND": plan.settings.operate_bind,
                "PIT_OPERATE_PORT": str(plan.operate_port),
                "PIT_PROFILE": plan.settings.profile,
                "PIT_NATIVE_DOOR": plan.settings.native_door,
            }
        )

    def _child(self, name: str, arguments: list[str], environment: dict[str, str]) -> Child:
        port = str(self.plan.metrics_ports[name])
        return Child(name, arguments, environment | {"PIT_METRICS_PORT": port}, self._logs)

    def _running(self) -> list[Child]:
        others = (self._gateway, self._archiver, self._bots)
        return [*self.matchers.values(), *(child for child in others if child is not None)]

    def _wait_until_served(self) -> None:
        until_s = time.monotonic() + START_S
        waiting_for = "the matchers to own all shards"
        while time.monotonic() < until_s:
            self.check_children()
            if len(self.owners()) == self.meta.shards:
                waiting_for = "the gateway to serve"
                if self._gateway_serves():
                    return
            time.sleep(POLL_S)
        raise Failure(
            Exit.CHILD_ENDED,
            f"waited {START_S:.0f} s in vain for {waiting_for}",
            "",
            f"the logs are in {self._logs}",
        )

    def _gateway_serves(self) -> bool:
        import grpc
        from grpc_health.v1 import health_pb2, health_pb2_grpc

        target = f"{self.plan.settings.bind}:{self.plan.gateway_port}"
        with grpc.insecure_channel(target) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            try:
                answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=1.0)
            except grpc.RpcError:
                return False
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def _lock(data: Path) -> IO[bytes]:
    """Two servers on one append-only file would ruin it. Held until closed, or until we die."""
    lock = (data / ".lock").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise Failure(
            Exit.IN_USE,
            f"another demo works in {data}",
            "its server's files cannot be shared",
            "stop it, or give another --data",
        ) from None
    return lock
