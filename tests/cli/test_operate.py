"""The commands of operators: what they refuse by themselves, and each over a real exchange."""

import asyncio
import json
import secrets
import stat
import time
from pathlib import Path

import grpc
import pytest

from services.cli.failures import Exit
from services.gateway.doors.tls import TlsFiles
from services.gateway.identity.tokens import SignedTokens, parse_keys
from services.log.server import free_port
from support.certificates import write_pair
from support.gatewayd import gateway
from support.operated import NAME, Operated, operated, people, table_of
from support.pit import Here, Outcome

KEYS = f"k:{secrets.token_hex(32)}"


# -------------------------------------------------------------------- without an exchange


def test_a_token_names_a_person_and_ends(here: Here) -> None:
    made = here(
        "token", "operator", "--name", NAME, "--for", "2h", settings={"PIT_TOKEN_KEYS": KEYS}
    )
    assert made.code == 0, made.err
    caller = SignedTokens(parse_keys(KEYS)).caller(made.out.strip())
    assert caller.name == NAME
    assert abs(caller.expires_s - time.time() - 7200) < 60
    assert "until" in made.err


def test_a_demos_keys_are_found_by_its_directory(here: Here, tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text(json.dumps({"PIT_TOKEN_KEYS": KEYS}))
    made = here("token", "operator", "--name", NAME, settings={"PIT_DATA": str(tmp_path)})
    assert SignedTokens(parse_keys(KEYS)).caller(made.out.strip()).name == NAME


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (("--name", NAME, "--for", "25h"), {"PIT_TOKEN_KEYS": KEYS}, "24h"),
        (("--name", NAME, "--for", "10s"), {"PIT_TOKEN_KEYS": KEYS}, "1m"),
        (("--name", NAME, "--for", "soon"), {"PIT_TOKEN_KEYS": KEYS}, "such as 90s"),
        (("--name", " ", "--for", "8h"), {"PIT_TOKEN_KEYS": KEYS}, "visible characters"),
        (("--name", NAME), {"PIT_DATA": "/nowhere"}, "PIT_TOKEN_KEYS"),
    ],
)
def test_a_token_that_is_not_made_says_why(
    here: Here, arguments: tuple[str, ...], settings: dict[str, str], said: str
) -> None:
    refused = here("token", "operator", *arguments, settings=settings)
    assert (refused.code, refused.out) == (Exit.USAGE, "")
    assert said in refused.err


def test_without_a_token_it_says_how_to_get_one(here: Here) -> None:
    refused = here("shard", "list")
    assert refused.code == Exit.USAGE
    assert "pit token operator" in refused.err


def test_where_nobody_answers_it_says_what_to_start(here: Here) -> None:
    target = f"127.0.0.1:{free_port()}"
    refused = here("audit", "--target", target, settings={"PIT_OPERATOR_TOKEN": "x"})
    assert refused.code == Exit.UNREACHABLE
    assert target in refused.err
    assert "PIT_OPERATE_PORT" in refused.err


# -------------------------------------------------------------------- over a real exchange


def test_the_port_for_operators_speaks_tls_where_it_is_told_to(
    here: Here, valkey_url: str, tmp_path: Path
) -> None:
    files = TlsFiles(tmp_path / "certificate.pem", tmp_path / "key.pem")
    trusted = write_pair(files)
    port = free_port()
    tls = {
        "PIT_TLS_CERTIFICATE": str(files.certificate),
        "PIT_TLS_KEY": str(files.key),
        "PIT_OPERATE_TLS": "true",
        "PIT_OPERATE_PORT": str(port),
    }
    with gateway(valkey_url, tmp_path, **tls) as started:
        with grpc.secure_channel(
            f"127.0.0.1:{port}", grpc.ssl_channel_credentials(trusted)
        ) as channel:
            grpc.channel_ready_future(channel).result(20)
        token = SignedTokens(parse_keys(started.keys)).operator(NAME, 3600)
        settings = {"PIT_OPERATOR_TOKEN": token, "PIT_TLS_AUTHORITIES": str(files.certificate)}
        named = here("audit", "--target", f"https://127.0.0.1:{port}", settings=settings)
        assert named.code == 0, named.err
        assert here("audit", settings=settings | tls).code == 0, "it is found as it is set"
        plain = here("audit", "--target", f"127.0.0.1:{port}", settings=settings)
        assert plain.code == Exit.UNREACHABLE


@pytest.mark.all
def test_every_command_over_a_real_exchange(here: Here, valkey_url: str, tmp_path: Path) -> None:
    with operated(valkey_url, tmp_path, "m1", "m2") as system:
        settings = {
            "PIT_OPERATOR_TOKEN": system.token,
            "PIT_OPERATE_PORT": system.inside.rpartition(":")[2],
        }
        person, table = asyncio.run(opened(system))

        def pit(*arguments: str, code: int = 0) -> Outcome:
            done = here(*arguments, settings=settings)
            assert done.code == code, (arguments, done.out, done.err)
            return done

        def refused(*arguments: str, code: int, said: str) -> None:
            assert said in pit(*arguments, code=code).err

        why = ("--reason", "a dispute")
        tables(pit, refused, table, why)
        persons(pit, refused, person, table, why)
        exchange(pit, refused, why)
        exported = tmp_path / "game.pit"
        assert table in pit("operate", "export", table[:8], str(exported)).out
        assert stat.S_IMODE(exported.stat().st_mode) == 0o600
        before = exported.read_bytes()
        refused("operate", "export", table, str(exported), code=Exit.USAGE, said="never written")
        refused(
            "operate",
            "export",
            "00" + "a" * 20,
            str(tmp_path / "none"),
            code=Exit.NOT_FOUND,
            said="not found",
        )
        assert exported.read_bytes() == before
        assert [path.name for path in tmp_path.iterdir() if "game" in path.name] == ["game.pit"]
        assert here("verify", "--file", str(exported)).code == 0
        pit("operate", "close", table, *why)
        acts = [json.loads(line) for line in pit("audit", "--json").out.splitlines()]
        assert {act["operator"] for act in acts} == {NAME}
        assert {act["act"] for act in acts} == {
            "freeze", "resume", "void-round", "adjust-score", "announce", "create-tables",
            "ban", "rename", "remove", "drain-shard", "maintenance-on", "maintenance-off",
            "export", "close",
        }  # fmt: skip
        shown = pit("audit", "--since", "1h").out
        assert "REFUSED: NOT_STARTED" in shown
        assert NAME in shown
        old = {**settings, "PIT_OPERATOR_TOKEN": system.token + "x"}
        stale = here("shard", "list", settings=old)
        assert (stale.code, "pit token operator" in stale.err) == (Exit.REFUSED, True)
        astray = here("shard", "list", "--target", system.gateway.target, settings=settings)
        assert (astray.code, "not an internal port" in astray.err) == (Exit.UNREACHABLE, True)


async def opened(system: Operated) -> tuple[str, str]:
    """A person's id, and that of a table at which the person sits."""
    async with people(system.gateway.target, "Ada") as [ada]:
        table = await table_of(ada, bots=True)
        await ada.join_table(table)
        return ada.person.removeprefix("people/"), table.removeprefix("tables/")


def tables(pit, refused, table: str, why: tuple[str, str]) -> None:  # type: ignore[no-untyped-def]
    listed = json.loads(pit("operate", "tables", "--json").out)
    assert (listed["table"], listed["people"], listed["phase"]) == (table, 1, "seating")
    assert table in pit("operate", "tables").out
    pit("operate", "freeze", table, *why)
    refused("operate", "freeze", table, *why, code=Exit.REFUSED, said="the table is frozen")
    pit("operate", "resume", table)
    said = "the game has not started"
    refused("operate", "void-round", table, "1", *why, code=Exit.REFUSED, said=said)
    assert "-20" in pit("operate", "adjust-score", table, "0", "-20", *why).out
    refused("operate", "adjust-score", table, "0", "0", *why, code=Exit.USAGE, said="points")
    nowhere = "00" + "a" * 20
    refused("operate", "freeze", nowhere, *why, code=Exit.NOT_FOUND, said="table not found")
    assert "1 table" in pit("operate", "announce", "Lunch", "--table", table).out
    made = pit("operate", "create", "--count", "3", "--name", "Hall", "--rules", "blitz").out
    assert len(made.split()) == 3
    late = ("--count", "1", "--start-at", "yesterday")
    refused("operate", "create", *late, code=Exit.USAGE, said="is no time")


def persons(pit, refused, person: str, table: str, why: tuple[str, str]) -> None:  # type: ignore[no-untyped-def]
    found = json.loads(pit("operate", "find", "ad", "--json").out)
    assert (found["person"], found["tables"]) == (f"people/{person}", [f"tables/{table}"])
    pit("operate", "ban", person, "--for", "30m", *why)
    assert "a dispute" in pit("operate", "find", "Ada").out
    pit("operate", "unban", person, *why)
    pit("operate", "rename", person, "Adele", *why)
    assert json.loads(pit("operate", "find", "Adele", "--json").out)["name"] == "Adele"
    assert "seat 0 is free" in pit("operate", "remove", person, table, *why).out
    said = "person not found"
    refused("operate", "remove", person, table, *why, code=Exit.NOT_FOUND, said=said)
    assert "nobody" in pit("operate", "find", "Zacharias").out


def exchange(pit, refused, why: tuple[str, str]) -> None:  # type: ignore[no-untyped-def]
    shards = [json.loads(line) for line in pit("shard", "list", "--json").out.splitlines()]
    assert {shard["owner"] for shard in shards} == {"m1", "m2"}
    assert "epoch" in pit("shard", "list").out
    other = {"m1": "m2", "m2": "m1"}[shards[0]["owner"]]
    assert f"is with {other} now" in pit("shard", "drain", "0").out
    refused("shard", "drain", "77", code=Exit.USAGE, said="shard: 0 to 3")
    pit("operate", "maintenance", "on", *why)
    assert "is on: a dispute" in pit("operate", "maintenance", "show").out
    pit("operate", "maintenance", "off")
    assert "is off" in pit("operate", "maintenance", "show").out
    assert "none" in pit("operate", "dead-letters").out
    assert pit("operate", "dead-letters", "--json").out == ""
