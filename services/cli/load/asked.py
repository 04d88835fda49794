"""What was asked of `pit load`, and what that comes to."""

import resource
from dataclasses import dataclass, replace
from math import ceil, isfinite
from pathlib import Path

from engine.limits import IDLE_MAX_S
from engine.rules import PRESETS, problems
from loadtest import options as wanted
from loadtest import scenarios, slo
from loadtest.usage import Unusable
from services.cli.common import load_settings
from services.cli.writing import check_writable
from services.client.trust import BadTarget, parse

DEFAULT_DUE_S = 2.0
"""Without --rate each seat acts so often."""
ACTS_BEFORE_IDLE = 3
"""A seat must be due so often within `idle_s`, or many would count as away by chance."""
FILES_BESIDE = 256
"""Files that a process has open besides its connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of the command line, as they were given."""

    target: str
    local: bool
    null: bool
    rules: str
    switches: list[str]
    tables: int
    seats: int
    rate: float
    think_time: str
    stages: str
    warmup: str
    duration: str
    seed: int
    scenario: str
    slos: list[str]
    workers: int
    streams_per_connection: int
    client: str
    sign_ins: str
    addresses: int
    out: Path | None
    html: Path | None
    hdr: Path | None
    compare: Path | None
    max_regress: str
    control: Path | None
    ceiling: bool
    as_json: bool


def settle(asked: Asked) -> wanted.Options:
    """A run that is possible. Raises `Unusable`, `Failure`."""
    _check_where(asked)
    for path in (asked.out, asked.html, asked.hdr):
        if path is not None:
            check_writable(path)
    scenario = _scenario(asked.scenario)
    thinks_s = wanted.seconds_of(asked.think_time, "--think-time") if asked.think_time else 0.0
    if asked.think_time and not thinks_s:
        raise Unusable(
            f"--think-time {asked.think_time} is no time to think",
            "give it some, such as 500ms, or a plan with --rate",
        )
    if thinks_s and (asked.rate or asked.stages):
        raise Unusable("--think-time goes without --rate and --stages", "choose one of them")
    stages = _stages(asked, scenario)
    _allow_connections(asked.tables * asked.seats, asked.streams_per_connection)
    return wanted.Options(
        target=asked.target,
        rules=asked.rules,
        switches=_check_rules(asked, stages, thinks_s),
        switches_text=tuple(asked.switches),
        tables=asked.tables,
        seats=asked.seats,
        scenario=scenario,
        stages=stages,
        think_time_s=thinks_s,
        warmup_s=wanted.seconds_of(asked.warmup, "--warmup"),
        seed=asked.seed,
        slos=tuple(slo.parse(one) for one in asked.slos),
        workers=asked.workers,
        streams_per_connection=asked.streams_per_connection,
        client="lean" if asked.client == "lean" else "grpcio",
        sign_ins="each" if asked.sign_ins == "each" else "shared",
        addresses=asked.addresses,
        authorities=load_settings().tls_authorities,
        out=asked.out,
        html=asked.html,
        hdr=asked.hdr,
        compare=asked.compare,
        max_regress=wanted.share_of(asked.max_regress, "--max-regress"),
    )


def _check_where(asked: Asked) -> None:
    """Raises `Unusable`."""
    target = asked.target
    if bool(target) + asked.local + asked.null != 1:
        raise Unusable(
            "give --target HOST:PORT, or --local, or --null",
            "--local starts an exchange, --null a server that does nothing",
        )
    try:
        host = parse(target).host if target else ""
    except BadTarget as bad:
        raise Unusable(f"--target: {bad}", "write it like 127.0.0.1:7700") from None
    if asked.scenario in wanted.KILLS and not asked.local:
        raise Unusable(
            f"{asked.scenario} needs --local",
            "only who started a process can kill it and start it again",
        )
    near = not target or host.startswith("127.")
    if asked.addresses > 1 and (asked.client != "lean" or not near):
        raise Unusable(
            "--addresses needs --client lean and a target at 127.0.0.1",
            "other machines have the addresses they have",
        )


def _stages(asked: Asked, scenario: wanted.Scenario) -> tuple[wanted.Stage, ...]:
    """Raises `Unusable`."""
    if asked.stages:
        stages = wanted.stages_of(asked.stages)
    else:
        rate = asked.rate or asked.tables * asked.seats / DEFAULT_DUE_S
        seconds = wanted.seconds_of(asked.duration, "--duration")
        stages = scenarios.stages(scenario, rate, seconds)
    if not sum(stage.seconds for stage in stages):
        raise Unusable("nothing would be measured", "give --duration or --stages some time")
    if not all(isfinite(stage.rate) and isfinite(stage.seconds) for stage in stages):
        raise Unusable(
            "a rate and a time must be finite numbers", "write them like --rate 500 --duration 30s"
        )
    return stages


def _scenario(name: str) -> wanted.Scenario:
    for known in wanted.SCENARIOS:
        if known == name:
            return known
    raise Unusable(f"there is no scenario {name!r}", f"one of {', '.join(wanted.SCENARIOS)}")


def _check_rules(asked: Asked, stages: tuple[wanted.Stage, ...], thinks_s: float) -> bytes:
    """The switches as a message, if these tables can be played at this rate."""
    from services.play.wish import Impossible, switched

    rules, seats = asked.rules, asked.seats
    preset = PRESETS.get(rules)
    if preset is None:
        raise Unusable(f"there is no rule set {rules!r}", f"one of: {', '.join(PRESETS)}")
    try:
        message = switched(tuple(asked.switches))
    except Impossible as impossible:
        raise Unusable(impossible.what, impossible.remedy) from None
    seats_min = message.seats_min or preset.seats_min
    seats_max = message.seats_max or preset.seats_max
    if not seats_min <= seats <= seats_max:
        raise Unusable(
            f"{seats} seats are not possible with {rules}",
            f"give --seats {seats_min} to {seats_max}",
        )
    changed = {one.name: getattr(message, one.name) for one, _ in message.ListFields()}
    wrong = problems(replace(preset, **changed))
    if wrong:
        raise Unusable(f"these switches make no rules: {'; '.join(wrong)}", "change them")
    _check_awake(asked, stages, thinks_s, message.idle_s or preset.idle_s)
    return message.SerializeToString()


def _check_awake(
    asked: Asked, stages: tuple[wanted.Stage, ...], thinks_s: float, idle_s: int
) -> None:
    """Raises `Unusable` where seats would count as away for want of actions."""
    seats, slowest = asked.tables * asked.seats, min(stage.rate for stage in stages)
    if not thinks_s and not slowest:
        raise Unusable(
            "in a stage without actions every seat would come to count as away",
            "give each of --stages a rate above 0",
        )
    due_s = thinks_s or seats / slowest
    if due_s * ACTS_BEFORE_IDLE <= idle_s:
        return
    needed = seats * ACTS_BEFORE_IDLE / idle_s
    if thinks_s:
        remedy = f"a --think-time of at most {int(10 * idle_s / ACTS_BEFORE_IDLE) / 10:g}s"
    elif asked.stages:
        remedy = f"a rate of at least {ceil(needed)} in each of --stages, or fewer --tables"
    else:
        most = max(stage.rate for stage in stages)
        remedy = f"at least --rate {ceil(needed * most / slowest)}"
        remedy += ", or fewer --tables" if asked.rate else ""
    if (longer_s := int(due_s * ACTS_BEFORE_IDLE) + 1) <= IDLE_MAX_S:
        remedy += f", or --switch idle_s={longer_s}"
    raise Unusable(
        f"each seat would act every {due_s:.1f} s, and {asked.rules} counts a seat that does "
        f"nothing for {idle_s} s as away",
        remedy,
    )


def _allow_connections(streams: int, each: int) -> None:
    """Raise the limit of open files as far as it may be, here and for what is started here."""
    needed = streams // each + FILES_BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise Unusable(
            f"{streams // each} connections need {needed} open files, {hard} are allowed",
            f"ulimit -Hn {needed}, fewer --tables, or more --streams-per-connection",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
