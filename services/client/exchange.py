"""The way in: sign in, find a table, sit down, play.

async with Exchange(["127.0.0.1:7700"]) as exchange:
    await exchange.sign_in_guest("Ada")
    place = await exchange.quick_join()
    async with exchange.play(place) as table:
        async for happening in table:
            ...
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Final, Self, TypeVar

from google.protobuf.message import Message
from grpc import StatusCode, aio
from pit.v1 import (
    identity_pb2,
    identity_pb2_grpc,
    lobby_pb2,
    lobby_pb2_grpc,
    table_pb2,
)

from engine.value import value
from services.client.acting import WatchProtocol
from services.client.backoff import Backoff
from services.client.channels import Channels
from services.client.credentials import CLIENT, Credentials
from services.client.errors import Refused, SignedOut, details_of, refused
from services.client.happenings import Happening
from services.client.items import PublicItems
from services.client.protocol import SeatProtocol
from services.client.records import Records
from services.client.seat import SeatSession
from services.client.stream import SeatStream
from services.client.table_list import watched_tables
from services.client.watch import ActSeatStream, WatchStream
from services.client.watching import Watching

CALL_TIMEOUT_S: Final = 5.0
CALL_PATIENCE_S: Final = 20.0
"""How long a short call that found no gateway or no owner is tried again: several takeovers."""

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
Method = Callable[[aio.Channel], aio.UnaryUnaryMultiCallable[Request, Response]]


@value
class Place:
    """A seat at a table, and the token that opens it."""

    table: str
    seat: int
    seat_token: str


@value
class SignIn:
    """What lets a person come back later as who it was. A secret, and good once: each renewal
    gives a new one."""

    person: str
    refresh_token: str


class Exchange:
    """One sign-in at the exchange, over one or more gateways.

    `keep` is called with every new `SignIn`, at the latest before the old one is worth nothing.
    `arrival_patience_s`: how long anybody at all is looked for. A person who waits at a screen
    wants to know soon; once the exchange has answered, `CALL_PATIENCE_S` holds. `authorities`: PEM
    file of those whose certificates are believed at an https:// target; none: the system's.
    """

    def __init__(
        self,
        targets: Sequence[str],
        credentials: Credentials | None = None,
        keep: Callable[[SignIn], None] | None = None,
        arrival_patience_s: float = CALL_PATIENCE_S,
        authorities: Path | None = None,
    ) -> None:
        self._keep = keep
        self._arrival_patience_s = arrival_patience_s
        self._answered = False
        """Whether there is an exchange."""
        self.channels = Channels(tuple(targets), authorities=authorities)
        self.person = ""
        """`people/{person}` after a sign-in."""
        self._credentials = credentials
        self._refresh_token = ""
        self.records = Records(self._call)
        self._items = PublicItems()
        self._fresh: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._credentials is not None:
            self._start_renewing(self._credentials)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._fresh is not None:
            self._fresh.cancel()
            await asyncio.gather(self._fresh, return_exceptions=True)
        await self.channels.close()

    @property
    def credentials(self) -> Credentials:
        if self._credentials is None:
            raise SignedOut("sign in first")
        return self._credentials

    # ------------------------------------------------------------------ who we are

    async def sign_in_guest(self, display_name: str) -> str:
        """Sign in as a new person; returns `people/{person}`."""
        request = identity_pb2.SignInGuestRequest(
            display_name=display_name, request_id=os.urandom(16)
        )
        signed_in = await self._call(
            lambda channel: identity_pb2_grpc.IdentityServiceStub(channel).SignInGuest, request
        )
        self._signed_in(signed_in)
        return self.person

    def _signed_in(
        self, given: identity_pb2.SignInGuestResponse | lobby_pb2.RedeemTransferCodeResponse
    ) -> None:
        self.person = given.person
        self._remember(given.refresh_token)
        self._start(given.access_token, _seconds(given.access_expires_in))

    async def sign_in_again(self, kept: SignIn) -> str:
        """Be again who one was; returns `people/{person}`. Raises `SignedOut` where the exchange
        does not know the sign-in any more."""
        self.person, self._refresh_token = kept.person, kept.refresh_token
        self._start(*await self._refresh())
        return self.person

    def _start(self, access_token: str, life_s: float) -> None:
        self._credentials = Credentials(access_token, life_s, self._refresh)
        self._start_renewing(self._credentials)

    def _remember(self, refresh_token: str) -> None:
        self._refresh_token = refresh_token
        if self._keep is not None:
            self._keep(SignIn(self.person, refresh_token))

    async def _refresh(self) -> tuple[str, float]:
        request = identity_pb2.RefreshRequest(refresh_token=self._refresh_token)
        try:
            renewed = await self._call(
                lambda channel: identity_pb2_grpc.IdentityServiceStub(channel).Refresh, request
            )
        except Refused as failure:
            if failure.code == StatusCode.UNAUTHENTICATED:
                raise SignedOut(failure.reason) from failure
            raise
        self._remember(renewed.refresh_token)
        return renewed.access_token, _seconds(renewed.access_expires_in)

    def _start_renewing(self, credentials: Credentials) -> None:
        if self._fresh is not None:
            self._fresh.cancel()
        self._fresh = asyncio.get_running_loop().create_task(credentials.keep_fresh())

    # ------------------------------------------------------------------ the lobby

    async def create_table(
        self, request: lobby_pb2.CreateTableRequest
    ) -> lobby_pb2.CreateTableResponse:
        """Open a table. The request id makes a repeat harmless; it is filled in if absent.

        The invite code of a private table stands in the answer, and nowhere else.
        """
        if not request.request_id:
            request.request_id = os.urandom(16)
        return await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).CreateTable, request
        )

    async def list_tables(
        self, preset: str = "", joinable: bool = False, page_token: str = ""
    ) -> lobby_pb2.ListTablesResponse:
        filter_ = lobby_pb2.TableFilter(preset=preset, joinable=joinable)
        request = lobby_pb2.ListTablesRequest(filter=filter_, page_size=100, page_token=page_token)
        return await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).ListTables, request
        )

    async def get_table(self, name: str) -> lobby_pb2.GetTableResponse:
        request = lobby_pb2.GetTableRequest(name=name)
        return await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).GetTable, request
        )

    async def list_rules(self) -> Sequence[table_pb2.RuleSet]:
        request = lobby_pb2.ListRulesRequest()
        listed = await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).ListRules, request
        )
        return listed.rule_sets

    async def join_table(
        self, table: str = "", invite_code: str = "", seat: int | None = None
    ) -> Place:
        """Sit down at a table, found by its name or by an invite code."""
        request = lobby_pb2.JoinTableRequest(request_id=os.urandom(16))
        if invite_code:
            request.invite_code = invite_code
        else:
            request.table = table
        if seat is not None:
            request.seat = seat
        joined = await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).JoinTable, request
        )
        return Place(joined.table.name, joined.seat, joined.seat_token)

    async def quick_join(self, preset: str = "") -> Place:
        """Sit down at any table that has a free seat."""
        request = lobby_pb2.QuickJoinRequest(preset=preset, request_id=os.urandom(16))
        joined = await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).QuickJoin, request
        )
        return Place(joined.table.name, joined.seat, joined.seat_token)

    async def start_table(self, table: str) -> None:
        """Start with the seats taken so far; the table's owner only."""
        request = lobby_pb2.StartTableRequest(table=table, request_id=os.urandom(16))
        await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).StartTable, request
        )

    async def leave_table(self, table: str) -> None:
        """Give the seat up for good."""
        request = lobby_pb2.LeaveTableRequest(table=table, request_id=os.urandom(16))
        await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).LeaveTable, request
        )

    async def rematch(self, table: str, yes: bool = True) -> Place | None:
        """Vote for playing again with the same people, when the game is over. Our seat at the new
        table once all have said yes: ask again when the table's `rematch_agreed` comes."""
        request = lobby_pb2.RematchRequest(table=table, yes=yes, request_id=os.urandom(16))
        voted = await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).Rematch, request
        )
        if not voted.HasField("table"):
            return None
        return Place(voted.table.name, voted.seat, voted.seat_token)

    async def my_seats(self) -> list[Place]:
        """Every seat we hold, with a fresh token for each."""
        request = lobby_pb2.ListMySeatsRequest()
        listed = await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).ListMySeats, request
        )
        return [Place(seat.table, seat.seat, seat.seat_token) for seat in listed.seats]

    async def rotate_invite(self, table: str) -> str:
        """A new invite code for a private table; earlier ones no longer work. The owner only."""
        request = lobby_pb2.RotateInviteRequest(table=table, request_id=os.urandom(16))
        rotated = await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).RotateInvite, request
        )
        return rotated.invite_code

    async def remove_seat(self, table: str, seat: int, reason: str = "", person: str = "") -> None:
        """Free somebody else's seat; the table's owner only. Players are shown the reason. With
        `person` (`people/...`) it is refused where another sits there by now."""
        request = lobby_pb2.RemoveSeatRequest(
            table=table, seat=seat, reason=reason, person=person, request_id=os.urandom(16)
        )
        await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).RemoveSeat, request
        )

    def watch_tables(
        self, preset: str = "", joinable: bool = False
    ) -> AsyncGenerator[lobby_pb2.WatchTablesResponse, None]:
        """The list of tables as it changes: what it holds comes first."""
        wanted = lobby_pb2.TableFilter(preset=preset, joinable=joinable)
        return watched_tables(self.channels, self.credentials, wanted)

    # ------------------------------------------------------------------ a second device

    async def create_transfer_code(self, table: str) -> str:
        """A code that lets another device have our seat; whoever has it can sign in as we."""
        request = lobby_pb2.CreateTransferCodeRequest(table=table)
        created = await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).CreateTransferCode, request
        )
        return created.code

    async def redeem_transfer_code(self, code: str) -> Place:
        """Sign in as the person who made the code; that person's seat."""
        request = lobby_pb2.RedeemTransferCodeRequest(code=code, request_id=os.urandom(16))
        redeemed = await self._call(
            lambda channel: lobby_pb2_grpc.LobbyServiceStub(channel).RedeemTransferCode, request
        )
        self._signed_in(redeemed)
        return Place(redeemed.table, redeemed.seat, redeemed.seat_token)

    # ------------------------------------------------------------------ play

    def stream(self, place: Place, listener: Callable[[Happening], None]) -> SeatStream:
        """A seat driven by call-backs: for programs that play many seats."""
        protocol = SeatProtocol(place.table, place.seat_token, self._items)
        return SeatStream(protocol, self.channels, self.credentials, listener)

    def play(self, place: Place) -> SeatSession:
        """A seat to play at: `async with` it, and `async for` over what happens."""
        return SeatSession(lambda listener: self.stream(place, listener))

    def play_by_acts(self, place: Place) -> SeatSession:
        """The same without a stream of our own messages, as a browser plays: Watch and Act."""
        return SeatSession(
            lambda listener: ActSeatStream(
                self._watched(place), self.channels, self.credentials, listener
            )
        )

    def watch(self, *tables: str | Place) -> Watching:
        """Up to eight tables in one stream: by name or invite code as a spectator, by place from
        the own seat."""
        return Watching(
            [self._watched(table) for table in tables],
            lambda watched: WatchStream(watched, self.channels, self.credentials),
        )

    def _watched(self, table: str | Place) -> WatchProtocol:
        if isinstance(table, str) and table.startswith("tables/"):
            return WatchProtocol(table, "", self._items)
        if isinstance(table, str):
            protocol = WatchProtocol("tables/" + table.partition("-")[0], "", self._items)
            protocol.invite_code = table
            return protocol
        return WatchProtocol(table.table, table.seat_token, self._items)

    async def _call(self, method: "Method[Request, Response]", request: Request) -> Response:
        """A short call, tried again where it found nobody to answer. Raises `Refused`, and
        `Untrusted` where nobody has answered yet and TLS is the reason.

        Repeats are harmless: what changes something carries a request id, and a used refresh
        token gives its successor again for longer than we try.
        """
        backoff = Backoff()
        begun_at = time.monotonic()
        while True:
            connection = self.channels.unary()
            metadata = (
                self._credentials.metadata() if self._credentials else (("pit-client", CLIENT),)
            )
            try:
                response = await method(connection.channel)(
                    request, metadata=metadata, timeout=CALL_TIMEOUT_S
                )
                self._answered = True
                return response
            except aio.AioRpcError as error:
                code = error.code()
                if code not in {StatusCode.UNAVAILABLE, StatusCode.RESOURCE_EXHAUSTED}:
                    raise refused(error) from error
                reason, wait_s = details_of(error)
                self._answered = self._answered or bool(reason)
                if code == StatusCode.UNAVAILABLE:
                    self.channels.failed(connection.target)
                    await self._check_trust(connection.target)
                elif not wait_s:  # a limit that waiting does not lift
                    raise refused(error) from error
                patience_s = CALL_PATIENCE_S if self._answered else self._arrival_patience_s
                if time.monotonic() + wait_s > begun_at + patience_s:
                    raise refused(error) from error
                await asyncio.sleep(backoff.delay_s(wait_s))

    async def _check_trust(self, target: str) -> None:
        """Waiting mends no certificate. Raises `Untrusted`."""
        untrusted = None if self._answered else await self.channels.why_not(target)
        if untrusted is not None:
            raise untrusted


def _seconds(duration: Message) -> float:
    return float(duration.ToTimedelta().total_seconds())  # type: ignore[attr-defined]
