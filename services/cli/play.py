"""`pit play`: a person at a table, in this terminal."""

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.limits import SEATS_MAX
from services.cli.common import load_settings
from services.cli.failures import Exit, Failure
from services.cli.names import NAME_LENGTH, bare, is_whole
from services.cli.numbers import SEATS_MIN
from services.cli.writing import check_writable, not_written

if TYPE_CHECKING:
    from services.play.wish import Wish

NAME_CHARACTERS_MAX = 64

Target = Annotated[
    str, typer.Option(help="HOST:PORT of a gateway; https://HOST:PORT where it speaks TLS.")
]
Name = Annotated[str, typer.Option(help="Your name at the table.")]

Table = Annotated[str, typer.Option(help="A table to join; none: one of your own.")]
Seat = Annotated[
    int | None, typer.Option(min=0, max=SEATS_MAX - 1, help="A seat there; none: any.")
]
Code = Annotated[str, typer.Option(help="Invite code of a private table.")]
Transfer = Annotated[
    str, typer.Option(help="Code of a seat of yours, made with t at another device.")
]
Watch = Annotated[str, typer.Option(help="A table to watch, without a seat.")]

New = Annotated[bool, typer.Option("--new", help="Not back to the seat you kept.")]
Rules = Annotated[str, typer.Option(help="Preset of your own table; none: blitz at human pace.")]
Seats = Annotated[
    int | None,
    typer.Option(min=SEATS_MIN, max=SEATS_MAX, help="Its seats, else 4; bots fill them."),
]
Wait = Annotated[bool, typer.Option("--wait", help="Let people join; r starts.")]
Private = Annotated[bool, typer.Option("--private", help="By invite code only; waits.")]
HumanPace = Annotated[bool, typer.Option("--human-pace", help="Time to read and think; calm bots.")]
Switch = Annotated[list[str], typer.Option(help="NAME=VALUE over the preset, such as target=100.")]

Transcript = Annotated[Path | None, typer.Option(help="Write the game as text.")]


def play(
    *,
    target: Target = "",
    name: Name = "",
    table: Table = "",
    seat: Seat = None,
    code: Code = "",
    transfer: Transfer = "",
    watch: Watch = "",
    new: New = False,
    rules: Rules = "",
    seats: Seats = None,
    wait: Wait = False,
    private: Private = False,
    human_pace: HumanPace = False,
    switch: Switch = [],  # noqa: B006 (typer copies it)
    transcript: Transcript = None,
) -> None:
    """Play in this terminal, against bots or others."""
    _need_terminal()
    from services.play.wish import Wish

    settings = load_settings()
    _sit_down(
        Wish(
            target=target or settings.gateway_target,
            authorities=settings.tls_authorities,
            name=name or _user_name(),
            table=_whole_name(table, "--table"),
            seat=seat,
            code=code,
            transfer=transfer,
            watch=_whole_name(watch, "--watch"),
            new=new,
            rules=rules,
            seats=seats or 0,
            wait=wait,
            private=private,
            human_pace=human_pace,
            switches=tuple(switch),
            transcript=transcript,
        )
    )


def _whole_name(typed: str, option: str) -> str:
    """Raises `Failure` for the beginning of a name."""
    if not typed or is_whole(bare(typed)):
        return typed
    raise Failure(
        Exit.USAGE,
        f"{option} {typed} is no whole name of a table",
        "what a player may see of the lobby is not all of it, so beginnings are not looked up",
        f"give all its {NAME_LENGTH} digits and letters, such as {option} 01pckv5mgkj6plk7hgmb7v",
    )


def _need_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Failure(
            Exit.USAGE,
            "`pit play` needs a terminal",
            "its keys and its screen are one's own terminal; a pipe has neither",
            "run it in a terminal; for programs there is services/client",
        )


def _sit_down(wish: "Wish") -> None:
    """Play, or say why that is not possible."""
    from services.play.main import play as sit_down
    from services.play.transcript import Unwritten
    from services.play.wish import Impossible

    if wish.transcript is not None:
        check_writable(wish.transcript)
    try:
        sit_down(wish)
    except Impossible as impossible:
        raise Failure(
            Exit.UNREACHABLE if impossible.unreachable else Exit.USAGE,
            impossible.what,
            impossible.why,
            impossible.remedy,
        ) from None
    except Unwritten as unwritten:
        raise not_written(unwritten.path, unwritten.error) from None


def _user_name() -> str:
    try:
        return getpass.getuser()[:NAME_CHARACTERS_MAX]
    except (KeyError, OSError):
        return "You"
