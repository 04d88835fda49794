"""`pit shard`, `pit audit`, `pit operate maintenance` and `dead-letters`."""

import json
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from services.cli.operate.acts import Act
from services.cli.operate.inside import ask, columns, seconds, shown_time

if TYPE_CHECKING:
    from pit.v1 import operate_pb2

    from services.client.operator import Operator


def list_shards(target: str, as_json: bool) -> None:
    shards = ask(target, lambda operator: operator.shards())
    rows = [_shard(shard) for shard in shards]
    if not as_json:
        rows = [row | {"owner": row["owner"] or "- (none)"} for row in rows]
    _print(rows, as_json)


def drain_shard(act: Act, shard: int, reason: str) -> None:
    taken = act.do(lambda operator, own: operator.drain_shard(shard, reason, own))
    print(f"shard {taken.shard} is with {taken.owner} now, epoch {taken.epoch}")


def _shard(shard: "operate_pb2.Shard") -> dict[str, Any]:
    return {
        "shard": shard.shard,
        "owner": shard.owner,
        "epoch": shard.epoch,
        "lag": shard.lag_entries,
        "lag_ms": shard.lag_ms,
        "tables": shard.tables,
    }


def maintenance_on(act: Act, reason: str) -> None:
    act.do(lambda o, own: o.set_maintenance(on=True, reason=reason, request_id=own))
    print("maintenance: no table is opened from now on; those in play go on to their end")


def maintenance_off(act: Act) -> None:
    act.do(lambda o, own: o.set_maintenance(on=False, reason="", request_id=own))
    print("maintenance is over: tables are opened again")


def maintenance_state(target: str) -> None:
    state = ask(target, lambda operator: operator.maintenance())
    print(f"maintenance is on: {state.reason}" if state.on else "maintenance is off")


def dead_letters(target: str, as_json: bool) -> None:
    async def collect(operator: "Operator") -> list[dict[str, Any]]:
        return [
            {
                "time": shown_time(letter.time.ToMilliseconds() / 1000),
                "shard": letter.shard,
                "entry": letter.entry,
                "index": letter.index,
                "reason": letter.reason,
            }
            async for letter in operator.dead_letters()
        ]

    letters = ask(target, collect)
    if letters or as_json:
        _print(letters, as_json)
    else:
        print("there are none")


def audit(target: str, since: str, as_json: bool) -> None:
    since_s = max(0.0, time.time() - seconds(since, "--since"))

    async def collect(operator: "Operator") -> list["operate_pb2.AuditEntry"]:
        return [entry async for entry in operator.audit(since_s)]

    entries = ask(target, collect)
    if as_json:
        for entry in entries:
            print(json.dumps(_entry(entry)))
    elif not entries:
        print(f"nothing in the last {since}; --since 30d looks further back")
    else:
        heads = ("time", "operator", "act", "target", "reason", "figures", "outcome", "request id")
        print(columns(heads, [_line(*one) for one in folded(entries)]))


def folded(
    entries: "Sequence[operate_pb2.AuditEntry]",
) -> "Iterator[tuple[operate_pb2.AuditEntry, operate_pb2.AuditEntry]]":
    """Each act once, in the order in which they were begun: its entry, and the last one that tells
    of its outcome."""
    from services.gateway.operate.repeats import asked

    begun: dict[tuple[object, ...], operate_pb2.AuditEntry] = {}
    last: dict[tuple[object, ...], operate_pb2.AuditEntry] = {}
    for entry in entries:
        key: tuple[object, ...] = (
            entry.operator,
            entry.act,
            entry.target,
            entry.request_id,
            asked(entry.parameters.items()),
        )
        begun.setdefault(key, entry)
        last[key] = entry
    for key, entry in begun.items():
        yield entry, last[key]


def _outcome(entry: "operate_pb2.AuditEntry") -> str:
    """In words for the eye; empty for what was done at once."""
    from pit.v1 import operate_pb2

    if entry.outcome == operate_pb2.AUDIT_OUTCOME_REFUSED:
        return f"REFUSED: {entry.refused}"
    word = operate_pb2.AuditOutcome.Name(entry.outcome).removeprefix("AUDIT_OUTCOME_")
    return "" if entry.outcome == operate_pb2.AUDIT_OUTCOME_UNSPECIFIED else word


def _entry(entry: "operate_pb2.AuditEntry") -> dict[str, Any]:
    return {
        "time": entry.time.ToJsonString(),
        "operator": entry.operator,
        "act": entry.act,
        "target": entry.target,
        "reason": entry.reason,
        "request_id": entry.request_id.hex(),
        "parameters": dict(entry.parameters),
        "outcome": _outcome(entry).partition(":")[0].lower(),
        "refused": entry.refused,
    }


def _line(entry: "operate_pb2.AuditEntry", last: "operate_pb2.AuditEntry") -> tuple[str, ...]:
    figures = " ".join(
        f"{name}={figure}" for name, figure in sorted(entry.parameters.items()) if figure
    )
    at = shown_time(entry.time.ToMilliseconds() / 1000)
    told = (at, entry.operator, entry.act, entry.target, entry.reason, figures)
    return *told, _outcome(last), entry.request_id.hex()


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return
    print(columns(tuple(rows[0]), [tuple(map(str, row.values())) for row in rows]))
