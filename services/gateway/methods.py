"""Every method of the public port, by its path, whatever door it is asked through."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Any, Final

from google.protobuf.descriptor import FileDescriptor, MethodDescriptor
from google.protobuf.message import Message
from pit.v1 import identity_pb2, lobby_pb2, play_pb2, record_pb2

from engine.value import value
from services.gateway.bot_seats import News
from services.gateway.convert.rules import rule_set_message
from services.gateway.errors import Refusal, Refused
from services.gateway.gateway import Gateway
from services.gateway.observer import MethodName
from services.gateway.resource_names import table_name
from services.gateway.session.limits import EXPIRY_GRACE_S
from services.gateway.session.roles import Caller, Role, SeatClaim, refuse_operators

PUBLIC_FILES: Final[tuple[FileDescriptor, ...]] = (
    identity_pb2.DESCRIPTOR,
    lobby_pb2.DESCRIPTOR,
    play_pb2.DESCRIPTOR,
    record_pb2.DESCRIPTOR,
)
"""`operate.proto` is served on the internal port only."""


@value
class Unary:
    """One request, one response."""

    request: type[Message]
    answer: Callable[[Caller, Any], Awaitable[Message]]


@value
class Open:
    """The same for who has no token yet."""

    request: type[Message]
    answer: Callable[[Any, str], Awaitable[Message]]
    """Is given the caller's network address, empty where that is not known."""


@value
class Stream:
    """One request, responses as they come."""

    request: type[Message]
    answers: Callable[[Caller, Any], AsyncGenerator[Message, None]]


@value
class Play:
    """The bidirectional stream, which a session serves."""


@value
class Watch:
    """The stream of up to eight tables, which a `WatchStream` serves."""


def _kind(method: MethodDescriptor) -> str:
    """In the words of go-grpc-middleware."""
    if method.client_streaming:
        return "bidi_stream" if method.server_streaming else "client_stream"
    return "server_stream" if method.server_streaming else "unary"


def names_of(files: Iterable[FileDescriptor]) -> tuple[MethodName, ...]:
    """Every method of these files."""
    return tuple(
        (_kind(method), service.full_name, method.name)
        for file in files
        for service in file.services_by_name.values()
        for method in service.methods
    )


METHODS: Final[tuple[MethodName, ...]] = names_of(PUBLIC_FILES)

FOR_THOSE_WHO_PLAY: Final = frozenset(
    {
        "LobbyService/JoinTable",
        "LobbyService/QuickJoin",
        "LobbyService/LeaveTable",
        "LobbyService/ListMySeats",
        "LobbyService/CreateTransferCode",
        "LobbyService/Rematch",
        "PlayService/Act",
    }
)
"""Methods that make no sense for an operator, who holds no seat. (`Play` is refused by itself.)"""

Method = Unary | Open | Stream | Play | Watch


def methods_of(gateway: Gateway) -> dict[str, Method]:
    """All methods of the public port by path, `/pit.v1.LobbyService/GetTable`."""
    lobby = gateway.lobby
    served: dict[str, Method] = {
        "IdentityService/SignInGuest": Open(
            identity_pb2.SignInGuestRequest, gateway.identity.sign_in_guest
        ),
        "IdentityService/Refresh": Open(identity_pb2.RefreshRequest, gateway.identity.refresh),
        "LobbyService/ListRules": Unary(lobby_pb2.ListRulesRequest, lobby.list_rules),
        "LobbyService/CreateTable": Unary(lobby_pb2.CreateTableRequest, lobby.create_table),
        "LobbyService/ListTables": Unary(lobby_pb2.ListTablesRequest, lobby.list_tables),
        "LobbyService/GetTable": Unary(lobby_pb2.GetTableRequest, lobby.get_table),
        "LobbyService/JoinTable": Unary(lobby_pb2.JoinTableRequest, lobby.join_table),
        "LobbyService/QuickJoin": Unary(lobby_pb2.QuickJoinRequest, lobby.quick_join),
        "LobbyService/LeaveTable": Unary(lobby_pb2.LeaveTableRequest, lobby.leave_table),
        "LobbyService/StartTable": Unary(lobby_pb2.StartTableRequest, lobby.start_table),
        "LobbyService/Rematch": Unary(lobby_pb2.RematchRequest, lobby.rematch),
        "LobbyService/ListMySeats": Unary(lobby_pb2.ListMySeatsRequest, lobby.list_my_seats),
        "LobbyService/RotateInvite": Unary(lobby_pb2.RotateInviteRequest, lobby.rotate_invite),
        "LobbyService/RemoveSeat": Unary(lobby_pb2.RemoveSeatRequest, lobby.remove_seat),
        "LobbyService/CreateTransferCode": Unary(
            lobby_pb2.CreateTransferCodeRequest, lobby.create_transfer_code
        ),
        "LobbyService/RedeemTransferCode": Open(
            lobby_pb2.RedeemTransferCodeRequest, lobby.redeem_transfer_code
        ),
        "LobbyService/WatchTables": Stream(lobby_pb2.WatchTablesRequest, _TableStream(gateway)),
        "LobbyService/WatchBotSeats": Stream(
            lobby_pb2.WatchBotSeatsRequest, _BotSeatStream(gateway)
        ),
        "PlayService/Play": Play(),
        "PlayService/Watch": Watch(),
        "PlayService/Act": Unary(play_pb2.ActRequest, gateway.acts.act),
        "RecordService/ListGames": Unary(record_pb2.ListGamesRequest, gateway.records.list_games),
        "RecordService/GetGame": Unary(record_pb2.GetGameRequest, gateway.records.get_game),
        "PlayService/Ping": Unary(play_pb2.PingRequest, _Ping(gateway)),
    }
    for name in FOR_THOSE_WHO_PLAY & served.keys():
        served[name] = _not_for_operators(served[name])
    return complete(PUBLIC_FILES, served)


def complete(files: Iterable[FileDescriptor], served: dict[str, Method]) -> dict[str, Method]:
    """Methods by path: all that the files have, and no others."""
    names = [
        f"{service.name}/{method.name}"
        for file in files
        for service in file.services_by_name.values()
        for method in service.methods
    ]
    assert set(names) == served.keys(), f"{set(names) ^ served.keys()} in one of the two alone"
    return {"/pit.v1." + name: served[name] for name in names}


def _not_for_operators(method: Method) -> Method:
    assert isinstance(method, Unary)
    answer = method.answer

    async def refuse_or_answer(caller: Caller, request: Any) -> Message:
        refuse_operators(caller)
        return await answer(caller, request)

    return Unary(method.request, refuse_or_answer)


class _Ping:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(
        self, caller: Caller, request: play_pb2.PingRequest
    ) -> play_pb2.PingResponse:
        server_us = int(self._gateway.wall_s() * 1_000_000)
        return play_pb2.PingResponse(client_us=request.client_us, server_us=server_us)


class _TableStream:
    """The list of tables as it changes."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(
        self, caller: Caller, request: lobby_pb2.WatchTablesRequest
    ) -> AsyncGenerator[lobby_pb2.WatchTablesResponse, None]:
        watch = self._gateway.open_table_watch(caller, request.filter)
        try:
            await self._gateway.table_news.begin(watch)
            while True:
                yield await watch.next_news()
        finally:
            self._gateway.table_watch_ended(watch)


class _BotSeatStream:
    """Tells a bot process of its share of the seats that want a bot."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(
        self, caller: Caller, request: lobby_pb2.WatchBotSeatsRequest
    ) -> AsyncGenerator[lobby_pb2.WatchBotSeatsResponse, None]:
        if caller.role is not Role.BOT:
            raise Refused(Refusal.ROLE_NOT_ALLOWED, role=Role.BOT.value)
        watcher = self._gateway.bot_seats.watch(caller.person)
        try:
            while True:
                left_s = caller.expires_s + EXPIRY_GRACE_S - self._gateway.wall_s()
                news = await watcher.next_news(left_s)
                if news is None:
                    raise Refused(Refusal.TOKEN_EXPIRED)
                yield self._response(caller, news)
        finally:
            self._gateway.bot_seats.leave(watcher)

    def _response(self, caller: Caller, news: News) -> lobby_pb2.WatchBotSeatsResponse:
        return lobby_pb2.WatchBotSeatsResponse(
            wanted=[
                lobby_pb2.BotSeat(
                    table=table_name(wanted.line.table),
                    seat=wanted.seat,
                    seat_token=self._gateway.tokens.seat(
                        SeatClaim(caller.person, wanted.line.table, wanted.seat, bot=True)
                    ),
                    rule_set=rule_set_message(wanted.line.rules),
                    for_bots=wanted.line.for_bots,
                )
                for wanted in news.wanted
            ],
            no_longer_wanted=[
                lobby_pb2.BotSeat(table=table_name(table), seat=seat)
                for table, seat in news.no_longer_wanted
            ],
        )
