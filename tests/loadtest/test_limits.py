"""An exchange that lets in less than was asked for: told so, with the fix; no seat is left behind."""

import signal
from collections import Counter
from collections.abc import Iterator

import pytest
from grpc import StatusCode

from engine.evolve import evolve
from engine.table import Table
from loadtest.opening import Persons
from services.client.errors import Refused
from services.client.exchange import Exchange
from services.log.codec import unpack_record
from services.log.redis import RedisReaderLog
from services.log.server import EmbeddedServer
from services.log.store import init_store
from support.gatewayd import GatewayProcess, exchange
from support.pipes import whole_out
from support.pit import pit, start
from support.valkey import SHARDS
from support.waiting import wait_until

FEW = ("--seats", "3", "--rate", "20", "--no-ceiling", "--warmup", "0s", "--duration", "60s")


class Public:
    """An exchange with the limits that it has for people, and all its tables."""

    def __init__(self, url: str, gateway: GatewayProcess) -> None:
        self.url = url
        self.target = gateway.target

    def seats(self) -> list[int]:
        """Seats that somebody has, of each table there ever was."""
        tables: dict[str, Table] = {}
        reader = RedisReaderLog(self.url)
        try:
            for entry in (each for shard in range(SHARDS) for each in whole_out(reader, shard)):
                for chunk in entry.chunks:
                    table = tables.setdefault(chunk.table, Table(chunk.table))
                    for item in unpack_record(chunk.table, chunk.body).items:
                        evolve(table, item)
        finally:
            reader.close()
        return [sum(bool(seat.person) for seat in table.seats) for table in tables.values()]


@pytest.fixture
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Public]:
    directory = tmp_path_factory.mktemp("limits")
    with EmbeddedServer(directory / "store") as server:
        init_store(server.url, SHARDS)
        with exchange(server.url, directory, PIT_PROFILE="public") as gateway:
            yield Public(server.url, gateway)


@pytest.mark.all
def test_a_limit_is_named_with_what_to_do_and_no_seat_is_left(public: Public) -> None:
    outcome = pit("load", "--target", public.target, "--tables", "12", *FEW)
    assert outcome.code == 9
    assert f"the exchange at {public.target} refuses what this run needs" in outcome.err
    assert "never retrieved" not in outcome.err
    assert "TABLE_LIMIT: table limit (max 10 open tables a person)" in outcome.err
    assert "PIT_PROFILE=load" in outcome.err
    assert "--sign-ins each" in outcome.err
    assert Counter(public.seats())[0] >= 10
    assert not any(public.seats())


@pytest.mark.all
def test_an_interrupted_run_leaves_no_seat(public: Public) -> None:
    options = ("--target", public.target, "--sign-ins", "each", "--tables", "3", "--workers", "2")
    running = start("load", *options, *FEW)
    try:
        wait_until(lambda: public.seats() == [3, 3, 3])
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130, out
    assert not any(public.seats())


async def test_guests_are_signed_in_as_fast_as_the_exchange_lets_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    async def sign_in(self: Exchange, display_name: str) -> str:
        asked.append(display_name)
        if asked.count(display_name) < 3:
            limited = "rate limit (new-people)"
            raise Refused(StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED", limited, 0.001)
        return "people/p"

    monkeypatch.setattr(Exchange, "sign_in_guest", sign_in)
    persons = Persons("127.0.0.1:1", "Load", "each", seats=4)
    told: list[tuple[int, int]] = []
    await persons.sign_in(5, lambda guests, total: told.append((guests, total)))
    assert told == [(number + 1, 20) for number in range(20)]
    assert Counter(asked) == {f"Load {number}": 3 for number in range(20)}
    people = {await persons.person(slot, seat) for slot in range(5) for seat in range(4)}
    assert len(people) == 20
    await persons.close()


async def test_a_limit_that_waiting_does_not_lift_ends_the_sign_ins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def sign_in(self: Exchange, display_name: str) -> str:
        raise Refused(StatusCode.FAILED_PRECONDITION, "MAINTENANCE", "no new tables")

    monkeypatch.setattr(Exchange, "sign_in_guest", sign_in)
    persons = Persons("127.0.0.1:1", "Load", "shared", seats=4)
    with pytest.raises(Refused, match="MAINTENANCE"):
        await persons.sign_in(5, lambda guests, total: None)
    await persons.close()
