"""The commands of operators as `pit` knows them. What they do is imported when they run."""

from pathlib import Path
from typing import Annotated

import typer

from services.cli.numbers import (
    Points,
    RoundNumber,
    SeatNumber,
    Seats,
    ShardNumber,
    request_id_of,
)
from services.cli.operate.acts import Act

token_app = typer.Typer(no_args_is_help=True, help="Make tokens.")
shard_app = typer.Typer(no_args_is_help=True, help="Who owns what, and hand-overs.")
operate_app = typer.Typer(no_args_is_help=True, help="Run an exchange: tables, people, events.")
maintenance_app = typer.Typer(no_args_is_help=True, help="No new tables; games in play finish.")
operate_app.add_typer(maintenance_app, name="maintenance")

Target = Annotated[
    str, typer.Option(help="[https://]HOST:PORT of the internal port; else by PIT_OPERATE_*.")
]
Reason = Annotated[str, typer.Option(help="Why; for the audit, and shown to those concerned.")]
Note = Annotated[str, typer.Option("--reason", help="Why; for the audit.")]
RequestId = Annotated[
    bytes | None,
    typer.Option(
        "--request-id",
        parser=request_id_of,
        metavar="HEX",
        help="Of an act whose outcome was unknown: given again under its id it is done once.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
TableName = Annotated[str, typer.Argument(help="A table, such as 01pckv5mgkj6plk7hgmb7v.")]
PersonName = Annotated[str, typer.Argument(help="A person, as `pit operate find` shows.")]


@token_app.command("operator")
def token_operator(
    name: Annotated[str, typer.Option(help="Whose acts they are: a person's name.")],
    life: Annotated[str, typer.Option("--for", help="How long it is good, 24h at most.")] = "8h",
) -> None:
    """A token for PIT_OPERATOR_TOKEN, signed with PIT_TOKEN_KEYS."""
    from services.cli.operate.token import operator_token

    operator_token(name, life)


def audit(
    since: Annotated[str, typer.Option(help="How far back: 2h, 7d.")] = "1d",
    json: Json = False,
    target: Target = "",
) -> None:
    """What operators have done: who, what, to whom, why."""
    from services.cli.operate.exchange import audit as show

    show(target, since, json)


@shard_app.command("list")
def shard_list(json: Json = False, target: Target = "") -> None:
    """Each shard's owner, epoch, lag and tables."""
    from services.cli.operate.exchange import list_shards

    list_shards(target, json)


@shard_app.command("drain")
def shard_drain(
    shard: ShardNumber,
    reason: Note = "",
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Hand a shard over to another matcher; waits until it is there."""
    from services.cli.operate.exchange import drain_shard

    drain_shard(Act(target, request_id), shard, reason)


@maintenance_app.command("on")
def maintenance_on(
    reason: Reason,
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Open no table from now on."""
    from services.cli.operate.exchange import maintenance_on as turn_on

    turn_on(Act(target, request_id), reason)


@maintenance_app.command("off")
def maintenance_off(
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Open tables again."""
    from services.cli.operate.exchange import maintenance_off as turn_off

    turn_off(Act(target, request_id))


@maintenance_app.command("show")
def maintenance_show(target: Target = "") -> None:
    """Is it on, and why?"""
    from services.cli.operate.exchange import maintenance_state

    maintenance_state(target)


@operate_app.command("tables")
def tables(json: Json = False, target: Target = "") -> None:
    """All tables, private ones among them."""
    from services.cli.operate.tables import list_tables

    list_tables(target, json)


@operate_app.command("announce")
def announce(
    text: str,
    table: Annotated[list[str], typer.Option(help="Only there; repeat it for more.")] = [],  # noqa: B006 (typer copies it)
    key: Annotated[str, typer.Option(help="Key of the text in clients' languages.")] = "",
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Say something at all tables, or at some."""
    from services.cli.operate.tables import announce as say

    say(Act(target, request_id), text, table, key)


@operate_app.command("create")
def create(
    *,
    count: Annotated[int, typer.Option(min=1, max=500, help="Tables.")],
    seats: Seats = 4,
    rules: Annotated[str, typer.Option(help="Preset of the rules.")] = "tournament",
    name: Annotated[str, typer.Option(help="Their name; a number follows it.")] = "Table",
    start_at: Annotated[
        str, typer.Option(help="When all start, local time unless it has an offset.")
    ] = "",
    bots: Annotated[bool, typer.Option(help="Whether bots fill empty seats.")] = False,
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Tables for an event, all starting at one time."""
    from services.cli.operate.tables import create as open_them

    open_them(
        Act(target, request_id),
        count=count,
        seats=seats,
        rules=rules,
        name=name,
        start_at=start_at,
        bots=bots,
    )


@operate_app.command("freeze")
def freeze(
    table: TableName,
    reason: Reason,
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Let a table's time stand still."""
    from services.cli.operate.tables import freeze as stop_time

    stop_time(Act(target, request_id), table, reason)


@operate_app.command("resume")
def resume(
    table: TableName,
    reason: Note = "",
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Let a frozen table go on."""
    from services.cli.operate.tables import resume as go_on

    go_on(Act(target, request_id), table, reason)


@operate_app.command("void-round")
def void_round(
    table: TableName,
    round_: RoundNumber,
    reason: Reason,
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Deal the round being played again."""
    from services.cli.operate.tables import void_round as void

    void(Act(target, request_id), table, round_, reason)


@operate_app.command("adjust-score", context_settings={"ignore_unknown_options": True})
def adjust_score(
    table: TableName,
    seat: SeatNumber,
    points: Points,
    reason: Reason,
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Correct a seat's score."""
    from services.cli.operate.tables import adjust_score as adjust

    adjust(Act(target, request_id), table, seat, points, reason)


@operate_app.command("close")
def close(
    table: TableName,
    reason: Reason,
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Close a table; a game being played is broken off."""
    from services.cli.operate.tables import close as close_it

    close_it(Act(target, request_id), table, reason)


@operate_app.command("export")
def export(
    game: TableName,
    file: Annotated[Path, typer.Argument(help="The file to write.", dir_okay=False)],
    reason: Note = "",
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """A game's records, as a file that `pit verify --file` proves."""
    from services.cli.operate.tables import export as write

    write(Act(target, request_id), game, file, reason)


@operate_app.command("find")
def find(query: str, json: Json = False, target: Target = "") -> None:
    """Persons by the beginning of their name, or one by people/ID."""
    from services.cli.operate.people import find as look_up

    look_up(target, query, json)


@operate_app.command("remove")
def remove(
    person: PersonName,
    table: TableName,
    reason: Reason,
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Free a person's seat at a table, for good."""
    from services.cli.operate.people import remove as take_away

    take_away(Act(target, request_id), person, table, reason)


@operate_app.command("ban")
def ban(
    person: PersonName,
    reason: Reason,
    life: Annotated[str, typer.Option("--for", help="How long: 30m, 24h, 365d.")] = "24h",
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Let a person in no more, and end what streams run."""
    from services.cli.operate.people import ban as ban_them

    ban_them(Act(target, request_id), person, life, reason)


@operate_app.command("unban")
def unban(
    person: PersonName,
    reason: Reason,
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Let a person in again."""
    from services.cli.operate.people import unban as let_in

    let_in(Act(target, request_id), person, reason)


@operate_app.command("rename")
def rename(
    person: PersonName,
    name: str,
    reason: Reason,
    target: Target = "",
    request_id: RequestId = None,
) -> None:
    """Give a person another name."""
    from services.cli.operate.people import rename as call_them

    call_them(Act(target, request_id), person, name, reason)


@operate_app.command("dead-letters")
def dead_letters(json: Json = False, target: Target = "") -> None:
    """Commands that could not be decoded or decided."""
    from services.cli.operate.exchange import dead_letters as show

    show(target, json)
