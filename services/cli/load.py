"""`pit load`: what was asked for, settled; the exchange it runs on, where it is to start one."""

import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.rules import PRESETS
from loadtest import options as wanted
from loadtest import scenarios, slo
from loadtest.local import LocalExchange
from loadtest.null.process import NullExchange
from loadtest.usage import Unreachable, Unusable
from services.cli.demo import secrets
from services.cli.demo.exchange import Exchange
from services.cli.demo.plan import Plan
from services.cli.demo.plan import plan as demo_plan
from services.cli.failures import Exit, Failure
from services.gateway.identity.tokens import SignedTokens, parse_keys

PORT_BASES = range(17_700, 27_700, 100)
"""Where an exchange of our own looks for free ports, away from a demo's."""
DEFAULT_DUE_S = 2.0
"""Without --rate each seat acts so often."""
ACTS_BEFORE_IDLE = 3
"""A seat must be due so often within `idle_s`, or many would count as away by chance."""
OPERATOR_S = 3600
"""Life of the token that opens tables for an opening bell."""
CLOCK_TICKS_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class OwnExchange:
    """An exchange in a directory that goes away with it."""

    def __init__(self, matchers: int) -> None:
        self._matchers = matchers
        self._data = Path(tempfile.mkdtemp(prefix="pit-load-"))
        self._exchange: Exchange | None = None
        self._cpu_gone_s: dict[str, float] = {}
        """Used by processes that were killed."""

    @property
    def target(self) -> str:
        plan = self._running.plan
        return f"{plan.settings.bind}:{plan.gateway_port}"

    @property
    def operators(self) -> tuple[str, str]:
        plan = self._running.plan
        keys = secrets.environment(plan.data, plan.settings)["PIT_TOKEN_KEYS"]
        token = SignedTokens(parse_keys(keys)).operator("pit load", OPERATOR_S)
        return f"{plan.settings.operate_bind}:{plan.operate_port}", token

    @property
    def banner(self) -> str:
        plan = self._running.plan
        return (
            f"{self._running.banner}; {self._matchers} matcher, 1 gateway "
            f"(door {plan.settings.native_door}, limits {plan.settings.profile}), 1 archiver"
        )

    def start(self) -> None:
        self._exchange = Exchange(_demo_plan(self._data, self._matchers))
        self._exchange.start()

    def check(self) -> None:
        self._running.check_children()

    def kill(self, role: str) -> str:
        before = self.cpu_s()[role]
        name = self._running.kill(role)
        self._cpu_gone_s[role] = before - sum(map(_cpu_s, self._running.processes()[role]))
        return name

    def cpu_s(self) -> Mapping[str, float]:
        return {
            role: round(sum(map(_cpu_s, pids)) + self._cpu_gone_s.get(role, 0.0), 2)
            for role, pids in self._running.processes().items()
        }

    def rss_bytes(self) -> Mapping[str, int]:
        return {
            role: sum(map(_rss_bytes, pids)) for role, pids in self._running.processes().items()
        }

    def end(self) -> None:
        if self._exchange is not None:
            self._exchange.end()
        shutil.rmtree(self._data, ignore_errors=True)

    @property
    def _running(self) -> Exchange:
        assert self._exchange is not None
        return self._exchange


def load(
    *,
    target: str,
    local: bool,
    null: bool,
    rules: str,
    switches: list[str],
    tables: int,
    seats: int,
    rate: float,
    think_time: str,
    stages: str,
    warmup: str,
    duration: str,
    seed: int,
    scenario: str,
    slos: list[str],
    workers: int,
    streams_per_connection: int,
    client: str,
    sign_ins: str,
    out: Path | None,
    html: Path | None,
    hdr: Path | None,
    compare: Path | None,
    max_regress: str,
    control: Path | None,
    ceiling: bool,
    as_json: bool,
) -> int:
    """Run a load test; its exit code. Raises `Failure`."""
    try:
        settled = _settled(
            target, local, null, rules, switches, tables, seats, rate, think_time, stages, warmup,
            duration, seed, scenario, slos, workers, streams_per_connection, client, sign_ins,
            out, html, hdr, compare, max_regress,
        )  # fmt: skip
    except Unusable as problem:
        raise Failure(Exit.USAGE, problem.what, "", problem.remedy) from None
    own: LocalExchange | None = None
    if null:
        own = NullExchange()
    elif local:
        own = OwnExchange(_matchers(scenario))
    return _run(settled, own, as_json, control, ceiling)


def _run(
    options: wanted.Options,
    own: LocalExchange | None,
    as_json: bool,
    control: Path | None,
    ceiling: bool,
) -> int:
    from rich.console import Console

    from loadtest import compare, run, text
    from loadtest.screen import watcher

    command = shlex.join(["pit", *sys.argv[1:]])
    console = Console(stderr=as_json, highlight=False)
    try:
        beside = compare.read(control) if control is not None else None
        then = compare.read(options.compare) if options.compare is not None else None
        if then is not None:
            compare.comparable(then, options)
        with watcher(console, options) as watching:
            most = run.reached_at_most(options, watching) if ceiling else None
            result = run.run(options, command, own, watching, beside, most)
    except Unusable as problem:
        raise Failure(Exit.USAGE, problem.what, "", problem.remedy) from None
    except Unreachable as failure:
        raise Failure(
            Exit.UNREACHABLE,
            f"the exchange at {options.target or 'this machine'} does not play",
            str(failure),
            "see that a gateway listens there, and with which limits (PIT_PROFILE=load)",
        ) from None
    finally:
        if own is not None:
            own.end()
    if then is not None:
        result["run"]["compared"] = compare.compared(then, result, options.max_regress)
    _write(result, options)
    text.show(console, result)
    if as_json:
        print(json.dumps(result))
    return run.exit_code(result)


def _write(result: dict[str, Any], options: wanted.Options) -> None:
    from loadtest import report

    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    if options.html is not None:
        report.write(result, options.html)


def _settled(
    target: str,
    local: bool,
    null: bool,
    rules: str,
    switches: list[str],
    tables: int,
    seats: int,
    rate: float,
    think_time: str,
    stages: str,
    warmup: str,
    duration: str,
    seed: int,
    scenario: str,
    slos: list[str],
    workers: int,
    streams_per_connection: int,
    client: str,
    sign_ins: str,
    out: Path | None,
    html: Path | None,
    hdr: Path | None,
    compare: Path | None,
    max_regress: str,
) -> wanted.Options:
    if bool(target) + local + null != 1:
        raise Unusable(
            "give --target HOST:PORT, or --local, or --null",
            "--local starts an exchange, --null a server that does nothing",
        )
    if target and not target.rpartition(":")[2].isdigit():
        raise Unusable(f"--target {target!r} names no port", "write it like 127.0.0.1:7700")
    if scenario in wanted.KILLS and not local:
        raise Unusable(
            f"{scenario} needs --local", "only who started a process can kill it and start it again"
        )
    name = _scenario(scenario)
    thinks_s = wanted.seconds_of(think_time, "--think-time") if think_time else 0.0
    if thinks_s and (rate or stages):
        raise Unusable("--think-time goes without --rate and --stages", "choose one of them")
    seconds = wanted.seconds_of(duration, "--duration")
    rate = rate or tables * seats / DEFAULT_DUE_S
    planned = wanted.stages_of(stages) if stages else scenarios.stages(name, rate, seconds)
    if not sum(stage.seconds for stage in planned):
        raise Unusable("nothing would be measured", "give --duration or --stages some time")
    message = _check_rules(rules, switches, tables, seats, planned, thinks_s)
    return wanted.Options(
        target,
        rules,
        message,
        tuple(switches),
        tables,
        seats,
        name,
        planned,
        thinks_s,
        wanted.seconds_of(warmup, "--warmup"),
        seed,
        tuple(slo.parse(one) for one in slos),
        workers,
        streams_per_connection,
        "lean" if client == "lean" else "grpcio",
        "each" if sign_ins == "each" else "shared",
        out,
        html,
        hdr,
        compare,
        wanted.share_of(max_regress, "--max-regress"),
    )


def _scenario(name: str) -> wanted.Scenario:
    for known in wanted.SCENARIOS:
        if known == name:
            return known
    raise Unusable(f"there is no scenario {name!r}", f"one of {', '.join(wanted.SCENARIOS)}")


def _check_rules(
    rules: str,
    switches: list[str],
    tables: int,
    seats: int,
    stages: tuple[wanted.Stage, ...],
    thinks_s: float,
) -> bytes:
    """The switches as a message, if these tables can be played at this rate."""
    from services.play.wish import Impossible, switched

    preset = PRESETS.get(rules)
    if preset is None:
        raise Unusable(f"there is no rule set {rules!r}", f"one of: {', '.join(PRESETS)}")
    try:
        message = switched(tuple(switches))
    except Impossible as impossible:
        raise Unusable(impossible.what, impossible.remedy) from None
    seats_min = message.seats_min or preset.seats_min
    seats_max = message.seats_max or preset.seats_max
    if not seats_min <= seats <= seats_max:
        raise Unusable(
            f"{seats} seats are not possible with {rules}",
            f"give --seats {seats_min} to {seats_max}",
        )
    idle_s = message.idle_s or preset.idle_s
    slowest = min(stage.rate for stage in stages) if not thinks_s else tables * seats / thinks_s
    due_s = tables * seats / slowest if slowest else float("inf")
    if due_s * ACTS_BEFORE_IDLE > idle_s:
        raise Unusable(
            f"each seat would act every {due_s:.1f} s, and {rules} counts a seat that does "
            f"nothing for {idle_s} s as away",
            f"at least --rate {tables * seats * ACTS_BEFORE_IDLE / idle_s:.0f}, fewer --tables, "
            f"or --switch idle_s={int(due_s * ACTS_BEFORE_IDLE) + 1 if slowest else 600}",
        )
    return message.SerializeToString()


def _matchers(scenario: str) -> int:
    """One, which then has the most to put into each turn; two where one is killed."""
    return 2 if scenario == "matcher-kill" else 1


def _demo_plan(data: Path, matchers: int) -> Plan:
    """The first ports that are all free. Limits are those for measuring unless set otherwise."""
    os.environ.setdefault("PIT_PROFILE", "load")
    for port_base in PORT_BASES:
        try:
            return demo_plan(
                tables=0, seats=4, rules="blitz", duration_s=0, as_json=True, pace="max",
                bots=False, data=data, port_base=port_base, matchers=matchers, kill_every_s=0,
            )  # fmt: skip
        except Failure as failure:
            if failure.code != Exit.IN_USE:
                raise
    raise Failure(
        Exit.IN_USE, f"no free ports between {PORT_BASES[0]} and {PORT_BASES[-1]}", "", "free some"
    )


def _cpu_s(pid: int) -> float:
    """Processor seconds of a process so far; 0 where this cannot be known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS_S


def _rss_bytes(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
