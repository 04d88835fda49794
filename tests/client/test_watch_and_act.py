"""Watching and acting over the whole exchange: real store, matcher, two gateways, sockets."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from pit.v1 import lobby_pb2, play_pb2, table_pb2

from engine import events
from engine.cards import BEAR, ONE, counts
from engine.commands import NOBODY
from engine.score import corner
from engine.table import Table
from services.client.acts import Acts
from services.client.credentials import JUST_RENEWED_S
from services.client.errors import Refused, Superseded
from services.client.exchange import Exchange
from services.client.happenings import Effective, Happened, Over, Rejected, Started
from services.client.seat import SeatSession
from services.gateway.session.roles import Role
from services.log.redis import RedisReaderLog
from services.log.server import EmbeddedServer
from services.log.store import init_store
from support.gatewayd import GatewayProcess, exchange, gateway
from support.leaks import Eavesdropper, Found, Truth
from support.pipes import whole_out
from support.processes import MatcherProcess, matchers
from support.valkey import SHARDS
from support.waiting import until

WAIT_S = 60.0
PATIENT = table_pb2.Rules(idle_s=600, round_cap_s=900, sorting_pause_s=60, away_grace_s=60)
"""Nothing happens because a busy machine is late."""


class Given(NamedTuple):
    url: str
    first: GatewayProcess
    second: GatewayProcess

    @property
    def targets(self) -> list[str]:
        return [self.first.target, self.second.target]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    directory = tmp_path_factory.mktemp("acts")
    with EmbeddedServer(directory / "store") as server:
        init_store(server.url, SHARDS)
        with exchange(server.url, directory, PIT_PROFILE="load") as first:
            settings = {"PIT_TOKEN_KEYS": first.keys, "PIT_PROFILE": "load"}
            with gateway(server.url, directory, **settings) as second:
                grpc.channel_ready_future(grpc.insecure_channel(second.target)).result(20)
                yield Given(server.url, first, second)


@asynccontextmanager
async def people(targets: list[str], *names: str) -> AsyncIterator[list[Exchange]]:
    async with AsyncExitStack() as stack:
        found = [await stack.enter_async_context(Exchange(targets)) for _ in names]
        for person, name in zip(found, names, strict=True):
            await person.sign_in_guest(name)
        yield found


async def opened(owner: Exchange, seats: int, switches: table_pb2.Rules) -> str:
    created = await owner.create_table(
        lobby_pb2.CreateTableRequest(
            display_name="A table", preset="blitz", seats=seats, switches=switches
        )
    )
    return str(created.table.name)


async def play(session: SeatSession, chance: random.Random, may_trade: asyncio.Event) -> None:
    """Give away at random what one has less of, until somebody has won."""
    await effective(session.ready(table_pb2.READY_FOR_START))
    async for happening in session:
        if not isinstance(happening, Happened):
            continue
        kind = happening.event.WhichOneof("kind")
        if kind == "dealt":
            await effective(session.ready(table_pb2.READY_FOR_OPEN))
        elif kind == "round_scored":
            await session.ready(table_pb2.READY_FOR_NEXT)  # refused where the game is over
        elif kind == "exchange_opened":
            await may_trade.wait()
            await ring_or_offer(session, chance)
        elif kind == "traded" and happening.received.ByteSize():
            await ring_or_offer(session, chance)
        elif kind == "game_ended":
            return


async def effective(act: Any) -> None:
    assert isinstance(await act, Effective)


async def ring_or_offer(session: Acts, chance: random.Random) -> None:
    view = session.view
    for lane in view.suits:
        if corner(view.hand, lane, view.rules)[1]:
            outcome = await session.ring_bell(lane)
            assert isinstance(outcome, Effective) or outcome.reason in {"ROUND_OVER", "STALE_ROUND"}
            return
    held = counts(view.hand)
    most = max(view.suits, key=lambda lane: held[lane])
    others = [lane for lane in (*view.suits, BEAR) if held[lane] and lane != most]
    outcome = await session.offer(ONE[chance.choice(others)])
    assert isinstance(outcome, Effective | Rejected)
    assert not isinstance(outcome, Effective) or outcome.traded is not None


# -------------------------------------------------------------------- a whole game


class Spectator:
    """Keeps every byte of a Watch, by plain gRPC."""

    def __init__(self, person: Exchange, target: str, table: str) -> None:
        self.raw: list[bytes] = []
        self._channel = grpc.aio.insecure_channel(target)
        self._metadata = person.credentials.metadata()
        wanted = play_pb2.WatchedTable(table=table)
        self._request = play_pb2.WatchRequest(tables=[wanted]).SerializeToString()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        method: Any = self._channel.unary_stream("/pit.v1.PlayService/Watch")
        async for data in method(self._request, metadata=self._metadata):
            self.raw.append(bytes(data))

    def saw(self, kind: str) -> bool:
        return any(
            play_pb2.PublicItem.FromString(item.public).event.HasField(kind)
            for message in self.raw
            for table in play_pb2.WatchResponse.FromString(message).batch.tables
            for item in table.items
        )

    async def until(self, true: Callable[[], bool]) -> None:
        await until(lambda: true() or self._task.done())
        assert true(), self._task

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._channel.close()


def truth_of(url: str, table: str) -> Truth:
    name = table.partition("/")[2]
    truth = Truth(Table(name))
    reader = RedisReaderLog(url)
    try:
        for entry in whole_out(reader, int(name[:2])):
            truth.hear(entry)
    finally:
        reader.close()
    return truth


@pytest.mark.parametrize(
    ("seats", "target"), [(3, 40), pytest.param(4, 300, marks=pytest.mark.all)]
)
async def test_a_game_by_watch_and_act_whose_spectators_learn_no_card(
    given: Given, seats: int, target: int
) -> None:
    """Commands go to both gateways in turn, wherever the seats' streams are. In the shorter game
    any corner wins."""
    async with (
        asyncio.timeout(WAIT_S),
        people(given.targets, *"ABCDEFG"[: seats + 1]) as [*players, dot],
        AsyncExitStack() as stack,
    ):
        rules = table_pb2.Rules(target=target)
        rules.MergeFrom(PATIENT)
        table = await opened(dot, seats, rules)
        early = Spectator(dot, given.second.target, table)
        sessions = [
            await stack.enter_async_context(person.play_by_acts(await person.join_table(table)))
            for person in players
        ]
        chance, may_trade = random.Random("acts"), asyncio.Event()
        playing = [asyncio.create_task(play(session, chance, may_trade)) for session in sessions]
        await early.until(lambda: early.saw("exchange_opened"))
        late = Spectator(dot, given.first.target, table)
        await late.until(lambda: bool(late.raw))
        may_trade.set()
        await asyncio.gather(*playing)
        for spectator in (early, late):
            await spectator.until(lambda it=spectator: it.saw("game_ended"))  # type: ignore[misc]
            await spectator.close()
        truth = truth_of(given.url, table)
        scores = [seat.score for seat in truth.table.seats]
        for session in sessions:
            assert [seat.score for seat in session.view.seats] == scores
    found = Found()
    for spectator in (early, late):
        eavesdropper = Eavesdropper(truth, NOBODY, found)
        for message in spectator.raw:
            eavesdropper.read(message)
    assert found.items > truth.table.seq
    corners = sum(type(event) is events.Cornered for event in truth.told.values())
    assert found.cards == 2 * corners  # the winners' hands, once each
    assert found.deals >= corners  # by who saw the whole of it


# -------------------------------------------------------------------- one seat


async def test_a_seat_goes_on_at_another_gateway_under_the_same_numbers(
    given: Given, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = {"PIT_TOKEN_KEYS": given.first.keys, "PIT_PROFILE": "load"}
    with gateway(given.url, tmp_path_factory.mktemp("third"), **settings) as third:
        grpc.channel_ready_future(grpc.insecure_channel(third.target)).result(20)
        async with asyncio.timeout(WAIT_S), people([third.target], "Ada") as [ada]:
            table = await opened(ada, 3, PATIENT)
            place = await ada.join_table(table)
            async with ada.play_by_acts(place) as session:
                assert isinstance(await session.call(table_pb2.PHRASE_HURRY), Effective)
                ada.channels.targets = tuple(given.targets)
                third.process.kill()
                second = await session.call(table_pb2.PHRASE_THANKS)
                assert isinstance(second, Effective)
                numbers, started = [], []
                while len(numbers) < 2:
                    happening = await anext(session)
                    if isinstance(happening, Started):
                        started.append(happening.resumed)
                    elif isinstance(happening, Happened) and happening.number:
                        numbers.append(happening.number)
                assert numbers == [1, 2]
                assert started == [False, True]


async def test_a_token_that_has_expired_is_renewed_and_the_command_sent_again(
    given: Given,
) -> None:
    async with asyncio.timeout(WAIT_S), people(given.targets, "Ada") as [ada]:
        place = await ada.join_table(await opened(ada, 3, PATIENT))
        async with ada.play_by_acts(place) as session:
            credentials, person = ada.credentials, ada.person.partition("/")[2]
            expired = given.first.tokens.access(person, "sid", Role.PLAYER, for_s=-1)
            credentials._access_token = expired
            credentials._renewed_at -= JUST_RENEWED_S
            await effective(session.call(table_pb2.PHRASE_HURRY))
            assert credentials._access_token != expired


async def test_a_seat_taken_elsewhere_stays_taken(given: Given) -> None:
    async with asyncio.timeout(WAIT_S), people(given.targets, "Ada") as [ada]:
        place = await ada.join_table(await opened(ada, 3, PATIENT))
        async with ada.play_by_acts(place) as older, ada.play(place) as newer:
            with pytest.raises(Superseded):
                async for _ in older:
                    pass
            with pytest.raises(Superseded):
                await older.call(table_pb2.PHRASE_HURRY)
            assert isinstance(await newer.call(table_pb2.PHRASE_HURRY), Effective)


async def test_what_the_table_refuses_comes_as_it_does_in_play(given: Given) -> None:
    async with asyncio.timeout(WAIT_S), people(given.targets, "Ada") as [ada]:
        place = await ada.join_table(await opened(ada, 3, PATIENT))
        async with ada.play_by_acts(place) as session:
            acts = [session.withdraw(), session.call(99), session.call(table_pb2.PHRASE_HURRY)]  # type: ignore[arg-type]
            withdrawn, called, hurried = await asyncio.gather(*acts)
            assert isinstance(withdrawn, Rejected)
            assert withdrawn.reason == "NOT_STARTED"
            assert isinstance(called, Rejected)
            assert called.reason == "NO_SUCH_PHRASE"
            assert isinstance(hurried, Effective)


class Caller:
    """Calls out again and again, one call after the other."""

    def __init__(self, session: SeatSession) -> None:
        self.done = 0
        self.stopping = False
        self._session = session
        self.task = asyncio.create_task(self._call())

    async def _call(self) -> None:
        while not self.stopping:
            await effective(self._session.call(table_pb2.PHRASE_HURRY))
            self.done += 1

    async def more(self, calls: int) -> None:
        enough = self.done + calls
        await until(lambda: self.done >= enough or self.task.done())
        assert self.done >= enough, self.task


@pytest.mark.all
async def test_killed_matchers_lose_no_act_and_do_none_twice(
    valkey_url: str, tmp_path: Path
) -> None:
    with (
        matchers(valkey_url, "m0", "m1") as owners,
        gateway(valkey_url, tmp_path, PIT_PROFILE="load") as front,
    ):
        grpc.channel_ready_future(grpc.insecure_channel(front.target)).result(20)
        async with asyncio.timeout(WAIT_S), people([front.target], "Ada") as [ada]:
            table = await opened(ada, 3, PATIENT)
            shard = int(table.partition("/")[2][:2])
            async with ada.play_by_acts(await ada.join_table(table)) as session:
                caller = Caller(session)
                for name in ("m2", "m3"):
                    await caller.more(5)
                    owner = next(matcher for matcher in owners if shard in matcher.owns())
                    owners.remove(owner)
                    owner.__exit__()
                    owners.append(MatcherProcess(valkey_url, name))
                    await caller.more(5)
                caller.stopping = True
                await caller.task
    told = truth_of(valkey_url, table).told.values()
    assert sum(type(event) is events.Called for event in told) == caller.done


# -------------------------------------------------------------------- several tables


async def test_several_tables_in_one_stream_and_a_seat_among_them(given: Given) -> None:
    gone = "tables/00" + "a" * 20
    async with asyncio.timeout(WAIT_S), people(given.targets, "Ada", "Ben") as [ada, ben]:
        one, two = [await opened(ada, 3, PATIENT) for _ in range(2)]
        place = await ben.join_table(two)
        async with ben.watch(one, gone, place) as watching:
            with pytest.raises(ValueError, match="without a seat"):
                watching.seat(one)
            assert watching.view(one).seat == NOBODY
            assert watching.view(two).seat == place.seat
            outcome = await watching.seat(two).call(table_pb2.PHRASE_HURRY)
            assert isinstance(outcome, Effective)
            await ada.join_table(one)
            told: dict[str, list[str]] = {one: [], two: [], gone: []}
            async for table, happening in watching:
                told[table].append(
                    str(happening.event.WhichOneof("kind"))
                    if isinstance(happening, Happened)
                    else type(happening).__name__
                )
                if told[one] and told[one][-1] == "seat_taken":
                    break
            assert told == {
                one: ["Started", "seat_taken"],
                two: ["Started", "called"],
                gone: ["Over"],
            }
            await ben.leave_table(two)
            async for table, happening in watching:
                if isinstance(happening, Over):
                    assert (table, happening.reason) == (two, "NOT_SEATED")
                    break
            with pytest.raises(Refused, match="NOT_SEATED"):
                await watching.seat(two).call(table_pb2.PHRASE_HURRY)


async def test_a_stream_of_which_no_table_can_be_shown_says_why(given: Given) -> None:
    async with people(given.targets, "Ada") as [ada]:
        with pytest.raises(Refused, match="TABLE_NOT_FOUND"):
            async with ada.watch("tables/00" + "a" * 20, "tables/01" + "a" * 20):
                pass
