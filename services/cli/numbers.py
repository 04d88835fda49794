"""Numbers as commands take them: each has a range, so that what is mistyped is told at once."""

import re
from math import isfinite
from typing import Annotated, Final

import typer

from engine.limits import ADJUSTMENT_MAX, SEATS_MAX

SEATS_MIN: Final = 3
SHARDS_MAX: Final = 100
"""A table's name has two digits for its shard."""
TABLES_MAX: Final = 100_000
"""More than one machine can play."""
PORT_BASE_MAX: Final = 65_000
"""Leaves room above for the ports of all processes of a demo."""
SECONDS_MAX: Final = 366 * 24 * 3600
"""A year: no clock or timer overflows at that."""
RATE_MAX: Final = 1_000_000
SPEED_MIN: Final = 0.01
"""At less a pause of a minute takes hours."""
SPEED_MAX: Final = 10_000
PROCESS_MAX: Final = 2**22
"""The greatest number of a process that Linux knows."""
SEED_MAX: Final = 2**63 - 1
ROUND_MAX: Final = 2**31 - 1
"""As the API's field."""

_ID: Final = re.compile(r"[0-9a-fA-F]{32}")


def finite(number: float | None) -> float | None:
    """`nan` and `inf` are within no range that they do not pass."""
    if number is not None and not isfinite(number):
        raise typer.BadParameter("a finite number is needed")
    return number


def speed(number: float) -> float:
    if not (number == 0 or SPEED_MIN <= number <= SPEED_MAX):
        raise typer.BadParameter(f"0, or {SPEED_MIN} to {SPEED_MAX}")
    return number


def points(number: int) -> int:
    if number == 0:
        raise typer.BadParameter("a correction of 0 points corrects nothing")
    return number


def request_id_of(text: str) -> bytes:
    """From its hex digits, as `pit audit` and an unclear outcome show it."""
    if _ID.fullmatch(text) is None:
        raise typer.BadParameter("a request id is 32 hex digits, as `pit audit` shows it")
    return bytes.fromhex(text)


Seats = Annotated[int, typer.Option(min=SEATS_MIN, max=SEATS_MAX, help="Seats a table.")]
Tables = Annotated[int, typer.Option(min=1, max=TABLES_MAX, help="Tables kept in play.")]
ShardNumber = Annotated[int, typer.Argument(min=0, max=SHARDS_MAX - 1, help="From 0 on.")]
SeatNumber = Annotated[int, typer.Argument(min=0, max=SEATS_MAX - 1, help="From 0 on.")]
RoundNumber = Annotated[
    int, typer.Argument(metavar="ROUND", min=1, max=ROUND_MAX, help="The one being played.")
]
Points = Annotated[
    int,
    typer.Argument(
        min=-ADJUSTMENT_MAX, max=ADJUSTMENT_MAX, callback=points, help="Up or down: 20 or -20."
    ),
]
