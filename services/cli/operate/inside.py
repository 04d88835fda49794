"""The way to the internal port: where it is, who asks, and what its refusals mean to a person."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from services.cli.common import load_settings
from services.cli.failures import Exit, Failure

if TYPE_CHECKING:
    from services.client.errors import Refused
    from services.client.operator import Operator
    from services.settings import Settings

DEMO_PORT = 81
"""Distance of the demo's internal port from its first one."""
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}
_DURATION = re.compile(r"(\d{1,6})([smhd])")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
"""What may stand after `Bearer` (RFC 6750)."""

Answer = TypeVar("Answer")


def target_of(settings: "Settings", given: str) -> str:
    """The internal port's `host:port`, `https://` before it where it speaks TLS; or what was given
    instead."""
    port = settings.operate_port or settings.port_base + DEMO_PORT
    scheme = "https://" if settings.operate_tls else ""
    return given or f"{scheme}{settings.operate_bind}:{port}"


def ask(target: str, work: "Callable[[Operator], Awaitable[Answer]]") -> Answer:
    """Do something as an operator; refusals become failures that say what to do.

    Raises `OutcomeUnknown` of acts, which `Act` explains.
    """
    from services.client.errors import OutcomeUnknown, Refused
    from services.client.operator import Operator
    from services.client.trust import BadTarget

    settings = load_settings()
    token = settings.operator_token.get_secret_value()
    if not token:
        raise Failure(
            Exit.USAGE,
            "who are you?",
            "PIT_OPERATOR_TOKEN is not set",
            'export PIT_OPERATOR_TOKEN="$(pit token operator --name NAME --for 8h)"',
        )
    if _TOKEN.fullmatch(token) is None:
        raise Failure(
            Exit.USAGE,
            "PIT_OPERATOR_TOKEN is no token",
            "a token is one line of letters, digits and the signs - _ . =",
            'export PIT_OPERATOR_TOKEN="$(pit token operator --name NAME --for 8h)"',
        )
    where = target_of(settings, target)

    async def run() -> Answer:
        async with Operator(where, token, settings.tls_authorities) as operator:
            return await work(operator)

    try:
        return asyncio.run(run())
    except BadTarget as bad:
        raise Failure(Exit.USAGE, f"--target: {bad}") from None
    except OutcomeUnknown:
        raise
    except Refused as refused:
        raise failure_of(refused, where) from None
    except UnicodeEncodeError:
        raise Failure(
            Exit.USAGE,
            "a text is not UTF-8",
            "what was typed holds bytes that no letter has",
            "type it in a terminal whose encoding is UTF-8",
        ) from None


def failure_of(refused: "Refused", where: str) -> Failure:
    """What a refusal means at a terminal."""
    from grpc import StatusCode

    from services.client.trust import Untrusted

    if isinstance(refused, Untrusted):
        return Failure(Exit.UNREACHABLE, refused.message, "", refused.remedy)
    what = f"refused: {refused.message}" if refused.reason else refused.message
    match refused.code:
        case StatusCode.UNAUTHENTICATED:
            return Failure(
                Exit.REFUSED,
                what,
                "PIT_OPERATOR_TOKEN is old, or signed by another key than the gateway's",
                "`pit token operator` makes a new one, with the gateway's PIT_TOKEN_KEYS",
            )
        case StatusCode.PERMISSION_DENIED:
            return Failure(Exit.REFUSED, what, "", "`pit token operator` makes a token for this")
        case StatusCode.NOT_FOUND:
            remedy = "`pit operate tables` and `pit operate find` show what there is"
            return Failure(Exit.NOT_FOUND, what, "", remedy)
        case StatusCode.INVALID_ARGUMENT:
            return Failure(
                Exit.USAGE, what, "nothing was done", "give another value; `--help` tells of each"
            )
        case StatusCode.UNIMPLEMENTED:
            return Failure(
                Exit.UNREACHABLE,
                f"{where} is not an internal port",
                "another service, or the port for players, answers there",
                "give --target the gateway's PIT_OPERATE_BIND and PIT_OPERATE_PORT",
            )
        case StatusCode.UNAVAILABLE if not refused.reason:
            return Failure(
                Exit.UNREACHABLE,
                f"nobody answers at {where}",
                refused.message,
                "start a gateway with PIT_OPERATE_PORT, or give --target its HOST:PORT",
            )
        case StatusCode.UNAVAILABLE:
            remedy = "`pit doctor` says what is wrong; then give the same command again"
            return Failure(Exit.UNREACHABLE, what, "nothing was done", remedy)
        case _:
            return Failure(Exit.REFUSED, what, "", "nothing was changed")


def seconds(text: str, option: str) -> int:
    """A duration such as 90s, 30m, 8h or 2d. Raises `Failure`."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise Failure(
            Exit.USAGE, f"{option} {text} is no duration", "", "such as 90s, 30m, 8h or 2d"
        )
    return int(found[1]) * _UNITS_S[found[2]]


def moment(text: str, option: str) -> float:
    """A point of time in ISO form, local unless it says otherwise. Raises `Failure`."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):  # an offset may lead out of the calendar
        raise Failure(
            Exit.USAGE, f"{option} {text} is no time", "", "such as 2026-12-01T20:00:00+01:00"
        ) from None


def shown_time(at_s: float) -> str:
    """In this machine's time zone, to the second."""
    return datetime.fromtimestamp(at_s).astimezone().isoformat(sep=" ", timespec="seconds")


def columns(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table for the eye."""
    lines = [heads, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
