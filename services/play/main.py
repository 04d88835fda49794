"""`pit play`: sign in, find or open a table, sit down, play in the terminal."""

import asyncio
from typing import Final

from services.client.errors import ClientError, Refused, SignedOut
from services.client.exchange import Exchange
from services.client.seat import SeatSession
from services.client.view import TableView
from services.play import texts, transcript, words
from services.play.app import PlayApp
from services.play.kept import Keeper, keeper
from services.play.model import Model
from services.play.player import Player
from services.play.sitting import OVER, Sitting, sit_down
from services.play.transcript import Transcript, Unwritten
from services.play.watching import Spectator, WatchedTable
from services.play.wish import Impossible, Wish, impossible, switched, table_name

ARRIVAL_PATIENCE_S: Final = 3.0
"""Who waits at a terminal is told so soon that nobody is there; a gateway is back within that
where another is at hand."""


def play(wish: Wish) -> None:
    """Play until the person leaves. Raises `Impossible`, and `Unwritten` before or after a game."""
    wish.check()
    switched(wish.switches)  # what is wrong there is told before anything else
    asyncio.run(_play(wish))


async def _play(wish: Wish) -> None:
    print(f"Looking for an exchange at {wish.target} ...", flush=True)
    try:
        with keeper(wish.target, wish.name) as kept:
            async with Exchange(
                wish.targets,
                keep=kept.save,
                arrival_patience_s=ARRIVAL_PATIENCE_S,
                authorities=wish.authorities,
            ) as exchange:
                if not wish.transfer:  # which is a sign-in itself
                    await _sign_in(exchange, kept, wish.name)
                if wish.watch:
                    await _watch(exchange, table_name(wish.watch), wish)
                    return
                sitting, seat = await sit_down(exchange, wish)
                async with sitting:
                    await _at_the_table(sitting, seat, wish, kept.why_not)
    except Refused as refused:
        raise impossible(wish.target, refused) from refused
    except ClientError as error:
        raise Impossible("the seat is lost", str(error)) from error


async def _sign_in(exchange: Exchange, kept: Keeper, name: str) -> None:
    """As who we were last time, or as somebody new."""
    before = kept.load()
    if before is not None:
        try:
            await exchange.sign_in_again(before)
        except SignedOut:
            pass  # the exchange has forgotten us, or is another one
        else:
            return
    await exchange.sign_in_guest(name)


async def _watch(exchange: Exchange, table: str, wish: Wish) -> None:
    async with exchange.watch(table) as watching:
        seat = WatchedTable(watching, table)
        model = Model(seat.view)
        written = _written(wish, model, seat.log_us)
        model.say(f"You watch {table}", seat.log_us)
        await PlayApp(lambda app: Spectator(watching, seat, app, model)).run_async(mouse=False)
    if model.result.places:
        print(transcript.ending(model, seat.view))
    _keep(written, model)


async def _at_the_table(sitting: Sitting, seat: SeatSession, wish: Wish, why_not_kept: str) -> None:
    model, place = Model(seat.view), sitting.place
    table = place.table.removeprefix("tables/")  # as every command shows and takes it
    written = _written(wish, model, seat.log_us, back_at=table if sitting.back else "")
    if sitting.back:
        model.say(f"Back at your seat {place.seat} of {table}", seat.log_us)
        model.say("For a new game instead: q, then pit play --new", seat.log_us)
    else:
        model.say(f"You sit at {table}, seat {place.seat}", seat.log_us)
    if why_not_kept:
        model.say(f"Not kept after you quit: {why_not_kept}", seat.log_us)
    if not wish.joins and (wish.wait or wish.private):
        how = f"--code {sitting.invite_code}" if wish.private else f"--table {place.table}"
        model.say(f"Others join by: pit play {how}", seat.log_us)
    app = PlayApp(lambda app: Player(seat, sitting, app, model))
    await app.run_async(mouse=False)
    _say_goodbye(sitting, model, app.person.seat.view)
    _keep(written, model)


def _say_goodbye(sitting: Sitting, model: Model, view: TableView) -> None:
    """What stays on the terminal when the screen is gone."""
    game = sitting.place.table.split("/")[1]
    if model.end:
        print(model.end)
    if model.result.places:
        print(transcript.ending(model, view))
    if model.kept and view.phase not in OVER:
        print("Your seat is kept, and a stand-in plays for you: `pit play` brings you back.")
        print(f"(A game without any person ends after {words.span(texts.ALONE_S)}.)")
    print(f"To prove the game when it is over: pit verify {game}")


def _written(wish: Wish, model: Model, log_us: int, *, back_at: str = "") -> Transcript | None:
    """The file that has what is told from now on; opened before anything is played."""
    if wish.transcript is None:
        return None
    written = Transcript(wish.transcript, back_at=back_at)
    model.listener = written.tell
    if written.path != wish.transcript:
        how = "goes on" if back_at else "is written"
        told = f"{wish.transcript.name} has an older game: this one {how} in {written.path.name}"
        model.say(told, log_us)
    return written


def _keep(written: Transcript | None, model: Model) -> None:
    if written is None:
        return
    try:
        written.close()
    except Unwritten:
        print(transcript.whole(model), end="")  # a game is played once
        raise
    print(f"The transcript is in {written.path}.")
