"""The `pit` executable. Heavy imports happen inside the commands: `--help` answers at once."""

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from engine.limits import SEATS_MAX
from services.cli.failures import MEANINGS, Exit, Failure, say
from services.cli.load.command import load
from services.cli.numbers import (
    PORT_BASE_MAX,
    PROCESS_MAX,
    SECONDS_MAX,
    SHARDS_MAX,
    TABLES_MAX,
    Seats,
    finite,
)
from services.cli.numbers import speed as speed_of
from services.cli.operate.commands import audit, operate_app, shard_app, token_app
from services.cli.play import play
from services.cli.writing import NO_ROOM, forget_output, not_written

EPILOG = "\b\nExit codes:\n" + "\n".join(
    f"  {int(code):>3}  {meaning}" for code, meaning in MEANINGS.items()
)

app = typer.Typer(
    name="pit",
    help="Pit Exchange: play, run and check an exchange for the card game Pit.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
serve_app = typer.Typer(no_args_is_help=True, help="Run one process of the exchange.")
store_app = typer.Typer(no_args_is_help=True, help="Prepare a store.")
table_app = typer.Typer(no_args_is_help=True, help="Look at tables and games.")
app.add_typer(serve_app, name="serve")
app.add_typer(store_app, name="store")
app.add_typer(table_app, name="table")
app.add_typer(token_app, name="token")
app.add_typer(shard_app, name="shard")
app.add_typer(operate_app, name="operate")
app.command()(audit)

Pace = Literal["human", "max"]
Strategy = Literal["careful", "chaser", "random", "mixed"]
"""Of `services.bots.house.STRATEGIES`."""
ParentOption = Annotated[
    int,
    typer.Option(min=0, max=PROCESS_MAX, hidden=True, help="End when this process is gone."),
]
KeyOption = Annotated[
    Path | None,
    typer.Option("--public-key", help="A pinned public key instead of the one beside the archive."),
]


@app.command()
def demo(
    *,
    tables: Annotated[
        int,
        typer.Option(
            min=1,
            max=TABLES_MAX,
            help="Tables kept in play; those of earlier runs go on beside.",
        ),
    ] = 8,
    seats: Seats = 4,
    rules: Annotated[str, typer.Option(help="Preset of the rules.")] = "blitz",
    duration: Annotated[
        float,
        typer.Option(min=0, max=SECONDS_MAX, callback=finite, help="Seconds; 0: until you quit."),
    ] = 0,
    json: Annotated[bool, typer.Option("--json", help="No screen; one JSON summary.")] = False,
    pace: Annotated[Pace, typer.Option(help="Pace of the bots.")] = "human",
    bots: Annotated[bool, typer.Option(help="Whether bots play.")] = True,
    data: Annotated[
        Path | None, typer.Option(help="Directory for everything; kept between runs.")
    ] = None,
    port_base: Annotated[
        int | None, typer.Option(min=1, max=PORT_BASE_MAX, help="First port.")
    ] = None,
    matchers: Annotated[int, typer.Option(min=1, max=16, help="Matcher processes.")] = 2,
    kill_every: Annotated[
        float,
        typer.Option(
            min=0,
            max=SECONDS_MAX,
            callback=finite,
            help="Kill a matcher every so many seconds; 0: never.",
        ),
    ] = 0,
) -> None:
    """The whole exchange on this machine: embedded Valkey, matchers, gateway, archiver, bots."""
    from services.cli.demo.plan import plan
    from services.cli.demo.run import run

    raise typer.Exit(
        run(
            plan(
                tables=tables,
                seats=seats,
                rules=rules,
                duration_s=duration,
                as_json=json,
                pace=pace,
                bots=bots,
                data=data,
                port_base=port_base,
                matchers=matchers,
                kill_every_s=kill_every,
            )
        )
    )


app.command()(play)
app.command()(load)


@serve_app.command("matcher")
def serve_matcher(with_parent: ParentOption = 0) -> None:
    """Own shards: decide commands, write events."""
    from services.cli.serve import serve

    raise typer.Exit(serve("matcher", with_parent))


@serve_app.command("gateway")
def serve_gateway(with_parent: ParentOption = 0) -> None:
    """Serve players over gRPC."""
    from services.cli.serve import serve

    raise typer.Exit(serve("gateway", with_parent))


@serve_app.command("archiver")
def serve_archiver(with_parent: ParentOption = 0) -> None:
    """Copy the event streams into records on disk, and sign finished games."""
    from services.cli.serve import serve

    raise typer.Exit(serve("archiver", with_parent))


@serve_app.command("bots")
def serve_bots(
    *,
    tables: Annotated[
        int, typer.Option(min=0, max=TABLES_MAX, help="Tables for bots alone, kept in play.")
    ] = 0,
    seats: Seats = 4,
    rules: Annotated[str, typer.Option(help="Preset of those tables.")] = "blitz",
    strategy: Annotated[Strategy, typer.Option(help="How they play.")] = "mixed",
    skill: Annotated[float, typer.Option(min=0, max=1, callback=finite, help="How well.")] = 1.0,
    with_parent: ParentOption = 0,
) -> None:
    """Play wherever a seat wants a bot."""
    from services.cli.common import check_rules
    from services.cli.serve import serve

    if tables:
        check_rules(rules, seats)
    options = {
        "keep_tables": tables,
        "seats": seats,
        "rules": rules,
        "strategy": strategy,
        "skill": skill,
    }
    raise typer.Exit(serve("bots", with_parent, **options))


@store_app.command("init")
def store_init(
    shards: Annotated[
        int, typer.Option(min=1, max=SHARDS_MAX, help="Never changed afterwards.")
    ] = 16,
) -> None:
    """Write `pit:meta` into a new store; harmless when it is there already."""
    from services.cli.store import init

    init(shards)


@table_app.command("list")
def table_list(
    everything: Annotated[bool, typer.Option("--all", help="Games in the archive, too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Tables in play."""
    from services.cli.tables import list_tables

    list_tables(everything, json)


@table_app.command("show")
def table_show(
    game: str,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """One table as a spectator may see it: rules, seats, scores, phase."""
    from services.cli.tables import show_table

    show_table(game, json)


@table_app.command("replay")
def table_replay(
    game: str,
    seat: Annotated[
        int | None, typer.Option(min=0, max=SEATS_MAX - 1, help="As this seat saw it.")
    ] = None,
    all_hands: Annotated[bool, typer.Option("--all-hands", help="With every card.")] = False,
    speed: Annotated[
        float, typer.Option(callback=speed_of, help="1: as fast as it was played; 0: at once.")
    ] = 0,
    facts: Annotated[
        bool, typer.Option("--facts", help="Not the story, but what nobody could see in it.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """A game as it was played, from its records."""
    from services.cli.replay import replay, tell_facts

    if facts:
        if seat is not None or all_hands or speed:
            raise Failure(
                Exit.USAGE,
                "--facts tells no story",
                "it has no view and no speed",
                "give --facts alone, or with --json",
            )
        tell_facts(game, json)
    else:
        replay(game, seat, all_hands, speed, json)


@app.command()
def results(
    games: Annotated[
        list[str] | None, typer.Argument(help="Names of games; none: all finished ones.")
    ] = None,
    since: Annotated[str, typer.Option(help="Games that ended then or later: a date, UTC.")] = "",
    named: Annotated[str, typer.Option(help="Games whose table's name begins so.")] = "",
    as_csv: Annotated[bool, typer.Option("--csv", help="One line a seat, with a head.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a game.")] = False,
) -> None:
    """Who won what: finished games with their corrected scores."""
    from services.cli.results import results as show

    raise typer.Exit(show(games or [], since, named, as_csv=as_csv, as_json=as_json))


@app.command()
def verify(
    game: Annotated[str, typer.Argument(help="Name of a game.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Every game there is.")] = False,
    file: Annotated[Path | None, typer.Option(help="A game that was exported.")] = None,
    key: KeyOption = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Prove deal, order, conservation and score of a game from its records alone."""
    from services.cli.verify import verify_all, verify_file, verify_one

    if [bool(game), everything, file is not None].count(True) != 1:
        raise Failure(
            Exit.USAGE,
            "name one game, or give --all or --file",
            "it must be said what to prove",
            "see `pit verify --help`",
        )
    if file is not None:
        raise typer.Exit(verify_file(file, key, json))
    raise typer.Exit(verify_all(key, json) if everything else verify_one(game, key, json))


@app.command()
def doctor(
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Is this store fit, and is everything at work on it?"""
    from services.cli.doctor.run import examine

    raise typer.Exit(examine(json))


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.", dir_okay=False)],
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Copy store and archive into one file, while everything runs."""
    from services.cli.backup.make import back_up

    back_up(file, json)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `pit backup` wrote.", dir_okay=False)],
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Put a backup back into an empty store, with no process running."""
    from services.cli.backup.restore import restore as put_back

    put_back(file, json)


@app.command()
def config(
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """The settings in force, secrets masked."""
    from services.cli.config import show

    show(json)


def main() -> None:
    """Run `pit`; expected failures become three lines and their exit code."""
    # What grpcio notes of each failed handshake would stand among the lines for a person.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    if isinstance(sys.stdout, TextIOWrapper):
        # A file's name may be no text, and a person's none that this locale has letters for.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:  # it is none where it was closed by whoever started us
                sys.stdout.flush()  # here, where it can still be told what is wrong with it
    except Failure as failure:
        _end(failure)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:
        forget_output()
        sys.exit(Exit.GOOD)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        forget_output()
        _end(not_written(error.filename or "the output", error))


def _end(failure: Failure) -> NoReturn:
    say(failure.text())
    sys.exit(failure.code)


if __name__ == "__main__":
    main()
