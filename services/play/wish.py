"""What a person asked `pit play` for, and why that cannot be."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

from grpc import StatusCode
from pit.v1 import table_pb2

from engine.rules import PRESETS, Rules
from engine.value import value
from services.client.errors import Refused
from services.client.trust import BadTarget, Untrusted, parse

RULES_USUAL: Final = "blitz"
SEATS_USUAL: Final = 4
NUMBER_MAX: Final = 2**31 - 1
"""Of a switch, as messages hold it; the rules themselves allow less."""
PLAIN_SWITCHES: Final = frozenset(
    field.name
    for field in fields(Rules)
    if field.name not in {"deck", "suits", "next_dealer", "void_penalty"}
)
"""Switches whose value is a number, or yes and no."""
HUMAN_PACE: Final = ("sorting_pause_s=30", "idle_s=120", "round_cap_s=600", "away_grace_s=60")
"""Bots take their time from `idle_s`, too (services/bots)."""
_FLAGS: Final[Mapping[str, bool]] = {"yes": True, "no": False}


class Impossible(Exception):
    """What was asked for cannot be played: what, why, remedy."""

    def __init__(
        self, what: str, why: str = "", remedy: str = "", unreachable: bool = False
    ) -> None:
        super().__init__(what)
        self.what, self.why, self.remedy, self.unreachable = what, why, remedy, unreachable


@value
class Wish:
    """What the person asked for."""

    target: str
    """A gateway, or several with commas between."""
    authorities: Path | None = None
    """Whose certificates are believed at an https:// target; none: the system's."""
    name: str = "Ada"
    table: str = ""
    seat: int | None = None
    code: str = ""
    transfer: str = ""
    """A code made at another device, whose seat goes on here."""
    watch: str = ""
    """A table to watch, not to play at."""
    new: bool = False
    """A new table, even where a seat waits at an old one."""
    rules: str = ""
    """Preset of the own table; empty for the usual one."""
    seats: int = 0
    """Seats of the own table; 0 for the usual number."""
    wait: bool = False
    """Leave free seats to other people until the person starts the game."""
    private: bool = False
    switches: tuple[str, ...] = ()
    """`name=value` each, over the preset."""
    human_pace: bool = False
    """Time to read and to think, whatever the preset says."""
    transcript: Path | None = None

    @property
    def targets(self) -> list[str]:
        return self.target.split(",")

    @property
    def joins(self) -> bool:
        """Whether a table is named that is there already."""
        return bool(self.table or self.code or self.transfer)

    @property
    def opens(self) -> bool:
        """Whether the words of the wish mean a new table."""
        return self.new or self._describes

    @property
    def _describes(self) -> bool:
        """Whether it says what an own table is to be like."""
        told = self.rules or self.seats or self.switches or self.human_pace
        return bool(told or self.wait or self.private)

    @property
    def all_switches(self) -> tuple[str, ...]:
        """What is to differ from the preset. Who names no rules is not to be hurried."""
        calm = self.human_pace or not self.rules
        return (*(HUMAN_PACE if calm else ()), *self.switches)

    def check(self) -> None:
        """Raises `Impossible` for what no exchange could give."""
        try:
            for target in self.targets:
                parse(target)
        except BadTarget as bad:
            raise Impossible(str(bad)) from None
        if self.rules and self.rules not in PRESETS:
            raise Impossible(
                f"there is no rule set {self.rules!r}", "", f"one of: {', '.join(PRESETS)}"
            )
        if self.seat is not None and not (self.table or self.code):
            raise Impossible(
                f"--seat {self.seat} is a seat at no table",
                "it says where to sit at a table that is there already, and none is named",
                "name it with --table or --code, or leave --seat out",
            )
        if self.joins + bool(self.watch) + self.opens > 1:
            raise Impossible(
                "one thing at a time: a new table, one to join, or one to watch",
                "--rules, --seats, --switch, --wait, --private and --new are for a table of "
                "your own; --table, --code and --transfer join one, --watch looks on",
                "leave out what you do not mean",
            )


def switched(switches: tuple[str, ...]) -> table_pb2.Rules:
    """The rules message that overrides a preset. Raises `Impossible`."""
    message = table_pb2.Rules()
    for switch in switches:
        name, _, text = switch.partition("=")
        if name not in PLAIN_SWITCHES:
            raise Impossible(
                f"{switch!r}: there is no switch {name!r}",
                "a switch is name=number, or name=yes or name=no",
                f"names: {', '.join(sorted(PLAIN_SWITCHES))}",
            )
        flag = isinstance(getattr(message, name), bool)
        try:
            setattr(message, name, _FLAGS[text] if flag else int(text))
        except (KeyError, ValueError):  # also of a number that no message holds
            raise Impossible(
                f"{switch!r}: {text!r} is no value of {name}",
                "it is yes or no" if flag else f"it is a whole number, at most {NUMBER_MAX}",
                f"give {name}=yes or {name}=no" if flag else f"such as {name}={_usual(name)}",
            ) from None
    return message


def _usual(name: str) -> int:
    """What the usual preset has for a switch."""
    return int(getattr(PRESETS[RULES_USUAL], name))


def table_name(text: str) -> str:
    """`tables/{table}`, however it was written."""
    return text if text.startswith("tables/") else f"tables/{text}"


def impossible(target: str, refused: Refused) -> Impossible:
    """What the exchange would not do."""
    if isinstance(refused, Untrusted):
        return Impossible(refused.message, "", refused.remedy, unreachable=True)
    if refused.code in {StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED}:
        return Impossible(
            f"no exchange answers at {target}",
            refused.message,
            "start one with `make demo`, or name yours with --target HOST:PORT",
            unreachable=True,
        )
    remedies = {
        "TABLE_NOT_FOUND": "see `pit play` without --table for one of your own; names are in full",
        "TABLE_FULL": "choose another table, or open one: `pit play` without --table",
        "SEAT_TAKEN": "give another --seat, or none",
        "HAND_SEEN": "wait for the next round, or take the seat you left again",
        "TOO_FEW_PLAYERS": "play with --wait until others sit down, then press r",
        "TABLE_LIMIT": "leave one of them first, or join a table: --table, --code",
        "MAINTENANCE": "games in play go on: join one with --table, or come back later",
        "INVALID_TRANSFER_CODE": "make a new one with t at the other device",
        "REMOVED": "you were removed from that table; open one of your own: `pit play --new`",
    }
    return Impossible("the exchange refused", refused.message, remedies.get(refused.reason, ""))
