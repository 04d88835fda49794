"""`pit operate` at tables: announce, create, freeze, resume, void, correct, close, export."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from services.cli.operate.inside import ask, columns, moment
from services.cli.writing import check_writable, not_written

if TYPE_CHECKING:
    from pit.v1 import lobby_pb2, record_pb2

    from services.client.operator import Operator


def table_name(given: str) -> str:
    """`tables/{table}`, from that or from the id alone."""
    return given if given.startswith("tables/") else f"tables/{given}"


def list_tables(target: str, as_json: bool) -> None:
    async def collect(operator: "Operator") -> list["lobby_pb2.Table"]:
        return [table async for table in operator.tables()]

    from pit.v1 import table_pb2

    tables = ask(target, collect)
    rows = [
        {
            "table": table.name.removeprefix("tables/"),
            "phase": table_pb2.Phase.Name(table.phase).removeprefix("PHASE_").lower(),
            "round": table.round,
            "seats": table.seats,
            "people": sum(bool(seat.person) for seat in table.taken),
            "rules": table.preset or table.rules_hash,
            "name": table.display_name,
        }
        for table in tables
    ]
    if as_json:
        for row in rows:
            print(json.dumps(row))
    elif rows:
        print(columns(tuple(rows[0]), [tuple(map(str, row.values())) for row in rows]))
    else:
        print("there is no table")


def announce(target: str, text: str, tables: list[str], key: str) -> None:
    names = [table_name(table) for table in tables]
    told = ask(target, lambda operator: operator.announce(text, names, key))
    print(f"said at {told} table(s)")


def create(
    target: str, *, count: int, seats: int, rules: str, name: str, start_at: str, bots: bool
) -> None:
    from pit.v1 import lobby_pb2

    template = lobby_pb2.CreateTableRequest(display_name=name, preset=rules, seats=seats, bots=bots)
    start_at_s = moment(start_at, "--start-at") if start_at else 0
    for table in ask(target, lambda o: o.create_tables(template, count, start_at_s)):
        print(table.removeprefix("tables/"))


def freeze(target: str, table: str, reason: str) -> None:
    ask(target, lambda operator: operator.freeze(table_name(table), reason))
    print("frozen: its time stands still until `pit operate resume`")


def resume(target: str, table: str, reason: str) -> None:
    ask(target, lambda operator: operator.resume(table_name(table), reason))
    print("it goes on; everybody has what remained of every deadline")


def void_round(target: str, table: str, round_: int, reason: str) -> None:
    ask(target, lambda operator: operator.void_round(table_name(table), round_, reason))
    print(f"round {round_} is void; the same dealer deals again")


def adjust_score(target: str, table: str, seat: int, points: int, reason: str) -> None:
    ask(target, lambda operator: operator.adjust_score(table_name(table), seat, points, reason))
    print(f"seat {seat} is corrected by {points:+}")


def close(target: str, table: str, reason: str) -> None:
    ask(target, lambda operator: operator.close_table(table_name(table), reason))
    print("closed")


def export(target: str, game: str, file: Path, reason: str) -> None:
    """Write the game's file, whole or not at all."""
    check_writable(file, plain=True)
    unfinished = file.with_name(file.name + ".part")

    async def collect(operator: "Operator") -> "record_pb2.Game":
        return await operator.export_game(table_name(game), unfinished, reason)

    try:
        known = ask(target, collect)
        unfinished.replace(file)
    except OSError as error:
        raise not_written(file, error) from None
    finally:
        unfinished.unlink(missing_ok=True)
    print(f"{known.name}: {file.stat().st_size} bytes in {file}")
