"""`pit operate` at tables: announce, create, freeze, resume, void, correct, close, export."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from services.cli.names import bare
from services.cli.operate.acts import Act
from services.cli.operate.inside import ask, columns, moment
from services.cli.writing import new_file

if TYPE_CHECKING:
    from pit.v1 import lobby_pb2, record_pb2

    from services.client.operator import Operator


def list_tables(target: str, as_json: bool) -> None:
    async def collect(operator: "Operator") -> list["lobby_pb2.Table"]:
        return [table async for table in operator.tables()]

    from pit.v1 import table_pb2

    tables = ask(target, collect)
    rows = [
        {
            "table": bare(table.name),
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


def announce(act: Act, text: str, tables: list[str], key: str) -> None:
    async def say(operator: "Operator", request_id: bytes) -> int:
        names = [await act.whole(operator, table) for table in tables]
        return await operator.announce(text, names, key, request_id=request_id)

    print(f"said at {act.do(say)} table(s)")


def create(
    act: Act, *, count: int, seats: int, rules: str, name: str, start_at: str, bots: bool
) -> None:
    from pit.v1.lobby_pb2 import CreateTableRequest

    start_at_s = moment(start_at, "--start-at") if start_at else 0

    async def open_them(operator: "Operator", own: bytes) -> "Sequence[str]":
        template = CreateTableRequest(display_name=name, preset=rules, seats=seats, bots=bots)
        return await operator.create_tables(template, count, start_at_s, own)

    for table in act.do(open_them):
        print(bare(table))


def freeze(act: Act, table: str, reason: str) -> None:
    act.at(table, lambda operator, name, own: operator.freeze(name, reason, own))
    print("frozen: its time stands still until `pit operate resume`")


def resume(act: Act, table: str, reason: str) -> None:
    act.at(table, lambda operator, name, own: operator.resume(name, reason, own))
    print("it goes on; everybody has what remained of every deadline")


def void_round(act: Act, table: str, round_: int, reason: str) -> None:
    act.at(table, lambda operator, name, own: operator.void_round(name, round_, reason, own))
    print(f"round {round_} is void; the same dealer deals again")


def adjust_score(act: Act, table: str, seat: int, points: int, reason: str) -> None:
    act.at(
        table, lambda operator, name, own: operator.adjust_score(name, seat, points, reason, own)
    )
    print(f"seat {seat} is corrected by {points:+}")


def close(act: Act, table: str, reason: str) -> None:
    act.at(table, lambda operator, name, own: operator.close_table(name, reason, own))
    print("closed")


def export(act: Act, game: str, file: Path, reason: str) -> None:
    """Write the game's file, whole or not at all."""
    with new_file(file, "an export is never written over what is there") as unfinished:

        async def copy(operator: "Operator", name: str, own: bytes) -> "record_pb2.Game":
            return await operator.export_game(name, unfinished, reason, own)

        known = act.at(game, copy)
    print(f"{bare(known.name)}: {file.stat().st_size} bytes in {file}")
