"""Acts that nobody answers in time: said to be unclear, given again as they were, done once."""

import asyncio
import json
import os
import shlex
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pit.v1 import lobby_pb2, operate_pb2

from services.cli.failures import Exit
from services.cli.operate.acts import repeated
from services.cli.operate.exchange import folded
from services.client import operator as operator_module
from support.operated import Operated, operated, people, table_of
from support.pit import Here, Outcome

WHY = ("--reason", "the bell counts")
OTHER = "another one"


@contextmanager
def stopped(system: Operated) -> Iterator[None]:
    """All matchers stand still; then one of them is gone for good, and the other has its shards."""
    first, second = (matcher.process for matcher in system.matchers)
    for process in (first, second):
        os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        first.kill()
        os.kill(second.pid, signal.SIGCONT)


def acts(tables: list[str], person: str) -> list[tuple[str, ...]]:
    """One of each kind that matchers have to do with."""
    frozen, scored, closed, removed = tables
    return [
        ("freeze", frozen, *WHY),
        ("adjust-score", scored, "1", "20", *WHY),
        ("close", closed[:12], *WHY),
        ("remove", person, removed, *WHY),
        ("announce", "Lunch", "--table", scored),
        ("create", "--count", "2", "--name", "Hall", "--rules", "blitz"),
    ]


async def opened(system: Operated) -> tuple[list[str], str]:
    async with people(system.gateway.target, "Ada") as [ada]:
        names = [await table_of(ada, bots=True) for _ in range(4)]
        await ada.join_table(names[3])
        return [name.removeprefix("tables/") for name in names], ada.person


@pytest.mark.all
def test_an_unclear_act_is_given_again_as_it_is_told_and_done_once(
    here: Here, valkey_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with operated(valkey_url, tmp_path, "m1", "m2") as system:
        settings = {
            "PIT_OPERATOR_TOKEN": system.token,
            "PIT_OPERATE_PORT": system.inside.rpartition(":")[2],
            "PIT_REDIS_URL": system.url,
        }

        def pit(*words: str) -> Outcome:
            return here(*words, settings=settings)

        tables, person = asyncio.run(opened(system))
        with stopped(system), monkeypatch.context() as hasty:
            hasty.setattr(operator_module, "PATIENCE_S", 0.0)
            told = [unclear(pit("operate", *act), act) for act in acts(tables, person)]
        audited = [line for line in audit(pit) if line["outcome"]]
        assert {line["outcome"] for line in audited} == {"unknown"}
        assert "UNKNOWN" in pit("audit").out
        for command in told * 2:
            again = pit(*command[1:])
            assert again.code == 0, again.err
        check_done_once(pit, tables)
        check_audit(pit, told)


def unclear(outcome: Outcome, act: tuple[str, ...]) -> list[str]:
    """The command that is to be given again."""
    assert (outcome.code, outcome.out) == (Exit.UNREACHABLE, "")
    assert outcome.err.startswith("pit: outcome unknown"), outcome.err
    assert "`pit audit" in outcome.err
    [line] = [line for line in outcome.err.splitlines() if "--request-id" in line]
    words = shlex.split(line)
    assert len(words) == len(act) + 4
    for word, typed in zip(words[2:-2], act, strict=True):
        assert word.startswith(typed)  # a name is told in full
    return words


def audit(pit: Callable[..., Outcome]) -> list[dict[str, str]]:
    return [json.loads(line) for line in pit("audit", "--json").out.splitlines()]


def check_done_once(pit: Callable[..., Outcome], tables: list[str]) -> None:
    """Each table's record has one event of the kind, and proves it."""
    kinds = ["Frozen", "ScoreAdjusted", "TableClosed", "SeatLeft"]
    for table, kind in zip(tables, kinds, strict=True):
        events = [
            json.loads(line)
            for line in pit("table", "replay", f"tables/{table}", "--json").out.splitlines()
        ]
        assert [event["event"] for event in events].count(kind) == 1, (kind, events)
        assert pit("verify", table[:12]).code == 0
    halls = [json.loads(line) for line in pit("operate", "tables", "--json").out.splitlines()]
    names = [hall["name"] for hall in halls if hall["name"].startswith("Hall")]
    assert sorted(names) == ["Hall 1", "Hall 2"]


def check_audit(pit: Callable[..., Outcome], told: list[list[str]]) -> None:
    """Of each request one line for the act, one that it was unclear, one that it was done."""
    lines = audit(pit)
    for command in told:
        of_it = [line["outcome"] for line in lines if line["request_id"] == command[-1]]
        assert of_it == ["", "unknown", "done"], (command, of_it)
    shown = pit("audit").out.splitlines()
    assert len(shown) == 1 + len(told)
    assert all(
        line.split()[-1] == command[-1] for line, command in zip(shown[1:], told, strict=True)
    )
    assert "DONE" in shown[1]


def test_who_interrupts_an_act_is_told_how_to_be_sure(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(operator_module.Operator, "close_table", interrupted)
    table = "00" + "a" * 20
    outcome = here("operate", "close", table, *WHY, settings={"PIT_OPERATOR_TOKEN": "t"})
    assert outcome.code == Exit.INTERRUPTED
    assert f"pit operate close {table} --reason 'the bell counts' --request-id " in outcome.err


@pytest.mark.parametrize("option", [("--table", "{}"), ("--table={}",)])
def test_an_announcement_is_told_with_its_tables_in_full(
    here: Here, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...]
) -> None:
    table = "00" + "a" * 20

    async def tables(_: object) -> AsyncIterator[lobby_pb2.Table]:
        yield lobby_pb2.Table(name=f"tables/{table}")

    async def interrupted(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(operator_module.Operator, "tables", tables)
    monkeypatch.setattr(operator_module.Operator, "announce", interrupted)
    words = [word.format(table[:8]) for word in option]
    outcome = here("operate", "announce", "Lunch", *words, settings={"PIT_OPERATOR_TOKEN": "t"})
    told = " ".join(word.format(table) for word in option)
    assert f"pit operate announce Lunch {told} --request-id " in outcome.err


@pytest.mark.parametrize(
    ("act", "first", "again"),
    [
        ("rename", {"before": "Rude", "now": "Ada"}, {"before": "Ada", "now": "Ada"}),
        ("ban", {"until": "1000"}, {"until": "1007"}),
    ],
)
def test_what_differs_in_a_repeat_makes_no_other_act(
    act: str, first: dict[str, str], again: dict[str, str]
) -> None:
    begun, other, done = (
        operate_pb2.AuditEntry(act=act, request_id=bytes(16), parameters=parameters)
        for parameters in (first, {"until": "0"}, again)
    )
    assert list(folded([begun, other, done])) == [(begun, done), (other, other)]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["operate", "x", "-1"], f"pit operate x -1 --request-id {'00' * 16}"),
        (["operate", "x", "--", "-1"], f"pit operate x --request-id {'00' * 16} -- -1"),
        (["x", "--request-id=ab", "a b"], "pit x --request-id=ab 'a b'"),
        (["x", "--request-id", "ab"], "pit x --request-id ab"),
    ],
)
def test_the_command_to_be_given_again(typed: list[str], told: str) -> None:
    assert repeated(typed, bytes(16)) == told
