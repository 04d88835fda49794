"""Every method of the lobby and of signing in, by the client library, on real processes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from grpc import StatusCode
from pit.v1 import identity_pb2, identity_pb2_grpc, lobby_pb2, table_pb2

from services.client.errors import Refused, Superseded
from services.client.exchange import Exchange
from services.client.happenings import Happened
from services.client.seat import SeatSession
from support.gatewayd import GatewayProcess, exchange
from support.valkey import emptied
from support.valkey import running as running_server

WAIT_S = 20.0
LISTED, QUICKLY_JOINED = "household", "classic"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """On a server of its own. A test that lists or joins tables of any kind has a kind for itself."""
    directory = tmp_path_factory.mktemp("lobby")
    with (
        running_server("valkey", directory / "server") as server,
        exchange(emptied(server), directory, PIT_PROFILE="event") as started,
    ):
        yield started


@pytest.fixture
async def people(running: GatewayProcess) -> AsyncIterator[Callable[[], Exchange]]:
    """Makes devices that are not signed in yet."""
    devices: list[Exchange] = []

    def device() -> Exchange:
        devices.append(Exchange([running.target]))
        return devices[-1]

    yield device
    for each in devices:
        await each.close()


async def signed_in(people: Callable[[], Exchange], name: str) -> Exchange:
    device = people()
    await device.sign_in_guest(name)
    return device


def wanted(**fields: object) -> lobby_pb2.CreateTableRequest:
    return lobby_pb2.CreateTableRequest(
        **{"display_name": "A table", "preset": "blitz", "seats": 3, **fields}
    )


async def event(table: SeatSession, kind: str) -> table_pb2.Event:
    """The next event of this kind."""
    async with asyncio.timeout(WAIT_S):
        async for happening in table:
            if type(happening) is Happened and happening.event.WhichOneof("kind") == kind:
                return happening.event
    raise AssertionError("the stream ended")


async def test_a_table_from_the_list_to_its_last_seat(people: Callable[[], Exchange]) -> None:
    ada, ben = await signed_in(people, "Ada"), await signed_in(people, "Ben")
    assert LISTED in {rules.preset for rules in await ada.list_rules()}
    news = ada.watch_tables(preset=LISTED, joinable=True)
    async with asyncio.timeout(WAIT_S):
        first = await anext(news)
        assert (list(first.changed), first.complete) == ([], True)
        name = (await ben.create_table(wanted(preset=LISTED, bots=True))).table.name
        assert [table.name for table in (await anext(news)).changed] == [name]
        seats = [await each.join_table(name) for each in (ben, ada)]
        while not (told := await anext(news)).changed[0].taken[1:]:
            pass
        assert [seat.display_name for seat in told.changed[0].taken] == ["Ben", "Ada"]
        listed = (await ada.list_tables(preset=LISTED)).tables
        assert [table.name for table in listed] == [name]
        assert (await ada.get_table(name)).rule_set.preset == LISTED
        assert [place.seat for place in await ada.my_seats()] == [seats[1].seat]
        async with ada.play(seats[1]) as playing:
            await ben.remove_seat(name, seats[1].seat, "asleep")
            left = (await event(playing, "seat_left")).seat_left
            assert (left.removed, left.reason) == (True, "asleep")
        await ben.start_table(name)
        while not (told := await anext(news)).gone:
            pass
        assert list(told.gone) == [name]
        await news.aclose()
        await ben.leave_table(name)
        assert await ben.my_seats() == []


async def test_a_private_table_and_its_codes(people: Callable[[], Exchange]) -> None:
    ada, ben = await signed_in(people, "Ada"), await signed_in(people, "Ben")
    request = wanted(visibility=table_pb2.VISIBILITY_PRIVATE)
    made = await ada.create_table(request)
    assert await ada.create_table(request) == made
    new = await ada.rotate_invite(made.table.name)
    with pytest.raises(Refused, match="TABLE_NOT_FOUND"):
        await ben.join_table(invite_code=made.invite_code)
    assert (await ben.join_table(invite_code=new)).table == made.table.name
    with pytest.raises(Refused, match="TABLE_NOT_FOUND"):
        await (await signed_in(people, "Cy")).join_table(invite_code=new[:-1] + "9")


async def test_quick_joins_and_an_eleventh_table(people: Callable[[], Exchange]) -> None:
    ada, ben = await signed_in(people, "Ada"), await signed_in(people, "Ben")
    place = await ada.quick_join(QUICKLY_JOINED)
    assert (await ben.quick_join(QUICKLY_JOINED)).table == place.table
    made = [await ada.create_table(wanted()) for _ in range(9)]
    assert len({each.table.name for each in made}) == 9
    with pytest.raises(Refused, match="TABLE_LIMIT") as refused:
        await ada.create_table(wanted())
    assert refused.value.code == StatusCode.RESOURCE_EXHAUSTED


async def test_a_seat_moves_to_a_second_device(people: Callable[[], Exchange]) -> None:
    phone, tablet = await signed_in(people, "Ada"), people()
    name = (await phone.create_table(wanted())).table.name
    async with phone.play(await phone.join_table(name)) as on_phone:
        code = await phone.create_transfer_code(name)
        place = await tablet.redeem_transfer_code(code)
        assert (place.table, tablet.person) == (name, phone.person)
        async with tablet.play(place) as on_tablet:
            assert on_tablet.view.seats[place.seat].display_name == "Ada"
            with pytest.raises(Superseded):
                await event(on_phone, "game_ended")
    with pytest.raises(Refused, match="INVALID_TRANSFER_CODE"):
        await people().redeem_transfer_code(code)


async def test_a_rematch(people: Callable[[], Exchange]) -> None:
    players = [await signed_in(people, name) for name in ("Ada", "Ben", "Cy")]
    ada, ben, cy = players
    name = (await ada.create_table(wanted())).table.name
    places = [await each.join_table(name) for each in players]
    async with ada.play(places[0]) as one, ben.play(places[1]) as two:
        await ada.start_table(name)
        with pytest.raises(Refused, match="NOT_NOW"):
            await ada.rematch(name)
        await cy.leave_table(name)
        await event(two, "game_ended")
        assert await ada.rematch(name) is None
        assert await ben.rematch(name, yes=False) is None
        await event(one, "rematch_failed")
        assert await ben.rematch(name) is None
        agreed = await ada.rematch(name)
        told = (await event(two, "rematch_agreed")).rematch_agreed.table
        again = await ben.rematch(name)
    assert agreed is not None
    assert again is not None
    assert (agreed.table, agreed.seat, again.table, again.seat) == (told, 0, told, 1)
    assert told != name
    async with ada.play(agreed) as table:
        assert [seat.display_name for seat in table.view.seats] == ["Ada", "Ben", ""]


async def test_lost_answers_are_asked_for_again(people: Callable[[], Exchange]) -> None:
    channel = people().channels.unary().channel
    identity = identity_pb2_grpc.IdentityServiceStub(channel)
    request = identity_pb2.SignInGuestRequest(display_name="Ada", request_id=b"r" * 16)
    first, again = [await identity.SignInGuest(request, wait_for_ready=True) for _ in range(2)]
    assert (first.person, first.refresh_token) == (again.person, again.refresh_token)
    refresh = identity_pb2.RefreshRequest(refresh_token=first.refresh_token)
    renewed = [(await identity.Refresh(refresh)).refresh_token for _ in range(2)]
    assert renewed[0] == renewed[1] != first.refresh_token
