"""Its port: the few methods that the load tester calls, each answered at once."""

import random
import time
from collections.abc import Callable
from typing import Final, Protocol

from google.protobuf.message import Message
from pit.v1 import identity_pb2, lobby_pb2, play_pb2

from loadtest.null.table import EPOCH, NullTable, Tell
from services.http2.limits import CLIENT
from services.http2.metadata import Headers
from services.http2.server import Request, Server, ServerCall
from services.http2.status import OK, Code, Status
from services.http2.stream import StreamEvents

LIFE_S: Final = 900
NO_SECRET: Final = "anybody"  # noqa: S105 (it opens nothing)
PACKAGE: Final = "/pit.v1."

MakeTable = Callable[[str, int, Tell, random.Random], NullTable]


class Unary(Protocol):
    def __call__(self, message: bytes) -> Message: ...


class NullServer:
    """Tables by name, and the streams of their seats."""

    def __init__(self, make_table: MakeTable = NullTable) -> None:
        self._make_table = make_table
        self.http2 = Server(self._accept, CLIENT)
        self._tables: dict[str, NullTable] = {}
        self._streams: dict[tuple[str, int], NullStream] = {}
        self._persons = 0
        self._chance = random.Random(0)
        self._unary: dict[str, Unary] = {
            "IdentityService/SignInGuest": self._sign_in,
            "IdentityService/Refresh": self._refresh,
            "LobbyService/CreateTable": self._create,
            "LobbyService/JoinTable": self._join,
        }

    async def open(self, port: int = 0) -> int:
        return await self.http2.open("127.0.0.1", port)

    async def close(self) -> None:
        await self.http2.close(0)

    def table(self, name: str) -> NullTable:
        return self._tables[name]

    def streams(self) -> "list[NullStream]":
        """Of all seats that are attached."""
        return list(self._streams.values())

    def attach(self, stream: "NullStream", attach: play_pb2.Attach) -> None:
        seat = int(attach.seat_token)
        stream.table, stream.seat = self._tables[attach.table], seat
        self._streams[attach.table, seat] = stream
        stream.tell(stream.table.attached(seat))

    def detach(self, stream: "NullStream") -> None:
        if stream.table is not None:
            self._streams.pop((stream.table.name, stream.seat), None)

    def _accept(self, call: ServerCall, request: Request) -> StreamEvents:
        method = request.path.removeprefix(PACKAGE)
        if method == "PlayService/Play":
            call.begin()
            return NullStream(self, call)
        return NullUnary(call, self._unary.get(method))

    # ------------------------------------------------------------------ short calls

    def _sign_in(self, message: bytes) -> Message:
        self._persons += 1
        signed_in = identity_pb2.SignInGuestResponse(
            person=f"people/{self._persons}",
            access_token=f"a{self._persons}",
            refresh_token=NO_SECRET,
        )
        signed_in.access_expires_in.FromSeconds(LIFE_S)
        return signed_in

    def _refresh(self, message: bytes) -> Message:
        renewed = identity_pb2.RefreshResponse(access_token=NO_SECRET, refresh_token=NO_SECRET)
        renewed.access_expires_in.FromSeconds(LIFE_S)
        return renewed

    def _create(self, message: bytes) -> Message:
        request = lobby_pb2.CreateTableRequest.FromString(message)
        name = self.new_table(request.seats)
        return lobby_pb2.CreateTableResponse(table=lobby_pb2.Table(name=name))

    def new_table(self, seats: int) -> str:
        """Its name."""
        name = f"tables/{len(self._tables)}"

        def tell(seat: int, item: play_pb2.Item) -> None:
            stream = self._streams.get((name, seat))
            if stream is not None:
                stream.tell(item)

        chance = random.Random(self._chance.getrandbits(32))
        self._tables[name] = self._make_table(name, seats, tell, chance)
        return name

    def _join(self, message: bytes) -> Message:
        request = lobby_pb2.JoinTableRequest.FromString(message)
        return lobby_pb2.JoinTableResponse(
            table=lobby_pb2.Table(name=request.table),
            seat=request.seat,
            seat_token=str(request.seat),
        )


class _Call:
    """What unary calls and streams have in common."""

    def __init__(self, call: ServerCall) -> None:
        self._call = call

    def half_closed(self) -> None:
        self._call.end(OK)

    def headers(self, headers: Headers) -> None:
        """A server is told of requests only."""

    def trailers(self, headers: Headers) -> None:
        self.half_closed()

    def writable(self) -> None:
        """What waits is never more than a test's few tables say."""

    def broken(self, status: Status) -> None:
        self._call.end(status)

    def closed(self, status: Status) -> None: ...

    def going_away(self, *, now: bool) -> None:
        if now:
            self._call.end(Status(Code.UNAVAILABLE, "going away"))


class NullUnary(_Call):
    def __init__(self, call: ServerCall, method: Unary | None) -> None:
        super().__init__(call)
        self._method = method
        if method is None:
            call.end(Status(Code.UNIMPLEMENTED, "not pretended"))

    def message(self, data: bytes) -> None:
        if self._method is not None:
            self._call.begin()
            self._call.stream.send(self._method(data).SerializeToString())

    def half_closed(self) -> None:
        if self._method is not None:
            self._call.end(OK)


class NullStream(_Call):
    """One seat's stream."""

    def __init__(self, server: NullServer, call: ServerCall) -> None:
        super().__init__(call)
        self._server = server
        self.table: NullTable | None = None
        self.seat = 0

    def message(self, data: bytes) -> None:
        request = play_pb2.PlayRequest.FromString(data)
        if request.HasField("attach"):
            self._server.attach(self, request.attach)
        elif request.HasField("command") and self.table is not None:
            self.table.command(self.seat, request.command)

    def tell(self, item: play_pb2.Item) -> None:
        now_us = time.time_ns() // 1000
        part = play_pb2.TableBatch(epoch=EPOCH, log_us=now_us, items=[item])
        batch = play_pb2.Batch(sent_us=now_us, tables=[part])
        self._call.stream.send(play_pb2.PlayResponse(batch=batch).SerializeToString())

    def half_closed(self) -> None:
        self._server.detach(self)
        super().half_closed()

    def closed(self, status: Status) -> None:
        self._server.detach(self)
