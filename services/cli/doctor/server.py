"""The server by itself: version, eviction, persistence, memory, role, clock."""

import time
from collections.abc import Mapping
from typing import Final

from services.cli.doctor.findings import Finding, Verdict, graded, ok
from services.log.connection import SyncConnection
from services.log.store import Fitness

MEMORY_WARN: Final = 0.75
MEMORY_FAIL: Final = 0.9
"""Of what the server may use. Appending stops when it is full; nothing is evicted."""
CLOCK_WARN_S: Final = 2.0
"""Tokens expire by the gateways' clocks, ids and dead letters tell the server's time."""


def fitness_findings(fitness: Fitness) -> list[Finding]:
    """Can this server hold the log, and what does a crash of it cost?"""
    evicts_nothing = ", evicts nothing" if fitness.policy else ""
    found = [
        Finding("server", Verdict.FAIL, f"{fitness.server}: {problem}")
        for problem in fitness.problems
    ] or [ok("server", fitness.server + evicts_nothing)]
    text = f"{fitness.durability}: {fitness.promise}"
    if fitness.durability in ("everysec", "always"):
        found.append(ok("persistence", text))
    else:
        found.append(Finding("persistence", Verdict.WARNING, text, "; ".join(fitness.warnings)))
    return found


def info_findings(info: Mapping[str, str]) -> list[Finding]:
    """What the server says of its disk, its memory and its place among others."""
    return [_disk_writes(info), _memory(info), _role(info)]


def _disk_writes(info: Mapping[str, str]) -> Finding:
    failed = [
        name
        for name in ("aof_last_write_status", "aof_last_bgrewrite_status")
        if info.get(name, "ok") != "ok"
    ]
    if failed:
        return Finding(
            "disk writes",
            Verdict.FAIL,
            f"the server cannot write its append-only file ({', '.join(failed)})",
            "make room on its disk, and see its log",
        )
    late = int(info.get("aof_delayed_fsync", "0"))
    if late:
        return Finding(
            "disk writes",
            Verdict.WARNING,
            f"{late} fsyncs came late since the server started: a crash then loses more",
            "give it a quicker disk, or one of its own",
        )
    return ok("disk writes", "no failure, no fsync late")


def _memory(info: Mapping[str, str]) -> Finding:
    used, limit = int(info["used_memory"]), int(info["maxmemory"])
    text = f"{_mib(used)} of {_mib(limit)} used (maxmemory)"
    if not limit:
        limit = int(info.get("total_system_memory", "0"))
        text = f"{_mib(used)} of the machine's {_mib(limit)} used, no maxmemory"
    return graded(
        "memory",
        used / limit if limit else 0.0,
        MEMORY_WARN,
        MEMORY_FAIL,
        text,
        "raise maxmemory or add memory; see that the archiver works: the log keeps what it has not "
        "copied",
    )


def _mib(count: int) -> str:
    return f"{count / 2**20:,.1f} MiB"


def _role(info: Mapping[str, str]) -> Finding:
    if info.get("role") == "master":
        replicas = info.get("connected_slaves", "0")
        return ok("role", f"primary with {replicas} replicas")
    return Finding(
        "role", Verdict.FAIL, "this is a replica: nothing can be written", "name the primary"
    )


def clock(server: SyncConnection) -> tuple[Finding, int]:
    """How far the server's clock is from this machine's; and its time in milliseconds."""
    asked_s = time.time()
    seconds, micros = server.ask("TIME")
    told_s = time.time()
    server_s = int(seconds) + int(micros) / 1e6
    ahead_s = server_s - (asked_s + told_s) / 2
    finding = graded(
        "clock",
        max(0.0, abs(ahead_s) - (told_s - asked_s) / 2),
        CLOCK_WARN_S,
        float("inf"),
        f"the server's clock is {abs(ahead_s):.2f} s {'ahead' if ahead_s > 0 else 'behind'}",
        "let both machines keep time (NTP); play does not depend on it, expiry of tokens does",
    )
    return finding, int(server_s * 1000)
