"""`pit play`: a person at a table, in this terminal."""

import getpass
import sys
from pathlib import Path

from services.cli.common import load_settings
from services.cli.failures import Exit, Failure

NAME_CHARACTERS_MAX = 64


def play(
    *,
    target: str,
    name: str,
    table: str,
    seat: int | None,
    code: str,
    transfer: str,
    watch: str,
    new: bool,
    rules: str,
    seats: int,
    wait: bool,
    private: bool,
    human_pace: bool,
    switches: list[str],
    transcript: Path | None,
) -> None:
    """Play, or say why that is not possible."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Failure(
            Exit.USAGE,
            "`pit play` needs a terminal",
            "its keys and its screen are one's own terminal; a pipe has neither",
            "run it in a terminal; for programs there is services/client",
        )
    from services.play.main import play as sit_down
    from services.play.wish import Impossible, Wish

    settings = load_settings()
    try:
        sit_down(
            Wish(
                target=target or settings.gateway_target,
                authorities=settings.tls_authorities,
                name=name or _user_name(),
                table=table,
                seat=seat,
                code=code,
                transfer=transfer,
                watch=watch,
                new=new,
                rules=rules,
                seats=seats,
                wait=wait,
                private=private,
                human_pace=human_pace,
                switches=tuple(switches),
                transcript=transcript,
            )
        )
    except Impossible as impossible:
        raise Failure(
            Exit.UNREACHABLE if impossible.unreachable else Exit.USAGE,
            impossible.what,
            impossible.why,
            impossible.remedy,
        ) from None


def _user_name() -> str:
    try:
        return getpass.getuser()[:NAME_CHARACTERS_MAX]
    except (KeyError, OSError):
        return "You"
