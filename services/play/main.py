"""`pit play`: sign in, find or open a table, sit down, play in the terminal."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import fields
from pathlib import Path
from typing import Final

from grpc import StatusCode
from pit.v1 import lobby_pb2, table_pb2

from engine.rules import PRESETS, Rules
from engine.value import value
from services.client.errors import ClientError, Refused
from services.client.exchange import Exchange, Place
from services.client.seat import SeatSession
from services.client.view import TableView
from services.play import transcript
from services.play.app import PlayApp
from services.play.model import Model

SEATS_USUAL: Final = 4
PLAIN_SWITCHES: Final = frozenset(
    field.name
    for field in fields(Rules)
    if field.name not in {"deck", "suits", "next_dealer", "void_penalty"}
)
"""Switches whose value is a number, or yes and no."""


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
    name: str = "Ada"
    table: str = ""
    seat: int | None = None
    code: str = ""
    rules: str = "blitz"
    seats: int = SEATS_USUAL
    wait: bool = False
    """Leave free seats to other people until the person starts the game."""
    private: bool = False
    switches: tuple[str, ...] = ()
    """`name=value` each, over the preset."""
    transcript: Path | None = None


def switched(switches: tuple[str, ...]) -> table_pb2.Rules:
    """The rules message that overrides a preset. Raises `Impossible`."""
    message = table_pb2.Rules()
    for switch in switches:
        name, _, text = switch.partition("=")
        try:
            if name not in PLAIN_SWITCHES:
                raise ValueError(f"{name} is not a switch")
            current = getattr(message, name)
            flag = isinstance(current, bool)
            setattr(message, name, _FLAGS[text] if flag else int(text))
        except (KeyError, ValueError):
            raise Impossible(
                f"{switch!r} is no switch of the rules",
                "a switch is name=number, or name=yes or name=no",
                f"names: {', '.join(sorted(PLAIN_SWITCHES))}",
            ) from None
    return message


_FLAGS: Final[Mapping[str, bool]] = {"yes": True, "no": False}


def play(wish: Wish) -> None:
    """Play until the person leaves. Raises `Impossible`."""
    if wish.rules not in PRESETS:
        raise Impossible(
            f"there is no rule set {wish.rules!r}", "", f"one of: {', '.join(PRESETS)}"
        )
    asyncio.run(_play(wish, switched(wish.switches)))


async def _play(wish: Wish, switches: table_pb2.Rules) -> None:
    print(f"Looking for an exchange at {wish.target} ...", flush=True)
    try:
        async with Exchange([wish.target]) as exchange:
            await exchange.sign_in_guest(wish.name)
            place, invite_code = await _sit_down(exchange, wish, switches)
            async with AsyncExitStack() as seats:
                await _at_the_table(exchange, wish, place, invite_code, seats)
    except Refused as refused:
        raise _impossible(wish, refused) from refused
    except ClientError as error:
        raise Impossible("the seat is lost", str(error)) from error


async def _sit_down(exchange: Exchange, wish: Wish, switches: table_pb2.Rules) -> tuple[Place, str]:
    """The seat, and the invite code of a private table of one's own."""
    if wish.table or wish.code:
        table = (
            wish.table
            if wish.table.startswith("tables/") or not wish.table
            else (f"tables/{wish.table}")
        )
        return await exchange.join_table(table, wish.code, wish.seat), ""
    request = lobby_pb2.CreateTableRequest(
        display_name=f"{wish.name}'s table",
        preset=wish.rules,
        switches=switches,
        seats=wish.seats,
        visibility=(table_pb2.VISIBILITY_PRIVATE if wish.private else table_pb2.VISIBILITY_PUBLIC),
        absent_policy=table_pb2.ABSENT_POLICY_BOT,
        bots=True,
    )
    created = await exchange.create_table(request)
    where = ("", created.invite_code) if wish.private else (created.table.name, "")
    return await exchange.join_table(*where, seat=wish.seat), created.invite_code


async def _at_the_table(
    exchange: Exchange, wish: Wish, place: Place, invite_code: str, seats: AsyncExitStack
) -> None:
    async def attach() -> SeatSession:
        return await seats.enter_async_context(exchange.play(place))

    seat = await attach()
    opened_here = not (wish.table or wish.code)
    if opened_here and not wish.wait:
        await exchange.start_table(place.table)
    app = PlayApp(
        seat,
        start=lambda: exchange.start_table(place.table),
        leave=lambda: exchange.leave_table(place.table),
        take_back=attach,
    )
    app.model.say(f"You sit at {place.table}, seat {place.seat}", seat.log_us)
    if opened_here and wish.wait:
        how = f"--code {invite_code}" if invite_code else f"--table {place.table}"
        app.model.say(f"Others join by: pit play {how}", seat.log_us)
    await app.run_async(mouse=False)
    _say_goodbye(wish, place, app.model, app.view)


def _say_goodbye(wish: Wish, place: Place, model: Model, view: TableView) -> None:
    """What stays on the terminal when the screen is gone."""
    if model.end:
        print(model.end)
    if model.result.places:
        print(transcript.ending(model, view))
    print(f"To prove the game when it is over: pit verify {place.table.split('/')[1]}")
    if wish.transcript is not None:
        wish.transcript.write_text(transcript.whole(model, view))
        print(f"The transcript is in {wish.transcript}.")


def _impossible(wish: Wish, refused: Refused) -> Impossible:
    if refused.code in {StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED}:
        return Impossible(
            f"no exchange answers at {wish.target}",
            refused.message,
            "start one with `make demo`, or name yours with --target HOST:PORT",
            unreachable=True,
        )
    remedies = {
        "TABLE_NOT_FOUND": "see `pit play` without --table for one of your own; names are in full",
        "TABLE_FULL": "choose another table, or open one: `pit play` without --table",
        "SEAT_TAKEN": "give another --seat, or none",
        "TOO_FEW_PLAYERS": "play with --wait until others sit down, then press r",
    }
    return Impossible("the exchange refused", refused.message, remedies.get(refused.reason, ""))
