"""People who talk to a real gateway, by nothing but the schema and plain gRPC."""

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from pit.v1 import identity_pb2, lobby_pb2, play_pb2, table_pb2

from services.client.happenings import Happened, Happening, Rejected, Settled
from services.client.protocol import SeatProtocol

WAIT_S = 20.0
RETRY_S = 0.2
STREAM_S = 120.0
Metadata = Sequence[tuple[str, Any]]


class Refusal:
    """How a call was refused: the code, the reason, and what stood in its details."""

    def __init__(self, error: grpc.RpcError) -> None:
        self.code: str = error.code().name
        self.message: str = error.details() or ""
        self.reason = ""
        self.parameters: dict[str, str] = {}
        self.field = ""
        self.retry_after_ms = 0
        trailers = dict(error.trailing_metadata() or ())
        status = status_pb2.Status.FromString(trailers.get("grpc-status-details-bin", b""))
        for detail in status.details:
            for kind in (
                error_details_pb2.ErrorInfo,
                error_details_pb2.BadRequest,
                error_details_pb2.RetryInfo,
            ):
                if detail.Is(kind.DESCRIPTOR):
                    part = kind()
                    detail.Unpack(part)
                    self._take(part)

    def _take(self, part: Any) -> None:
        if isinstance(part, error_details_pb2.ErrorInfo):
            self.reason = part.reason
            self.parameters = dict(part.metadata)
        elif isinstance(part, error_details_pb2.BadRequest):
            self.field = part.field_violations[0].field
        else:
            self.retry_after_ms = part.retry_delay.ToMilliseconds()

    def __repr__(self) -> str:
        return f"{self.code} {self.reason or self.message}"


class Outside:
    """A channel to a gateway; methods by path, messages as bytes or as the schema's."""

    def __init__(self, target: str) -> None:
        self.channel = grpc.insecure_channel(target)
        grpc.channel_ready_future(self.channel).result(WAIT_S)

    def close(self) -> None:
        self.channel.close()

    def send(
        self, path: str, messages: Sequence[bytes], metadata: Metadata = (), **options: Any
    ) -> bytes | Refusal:
        """The response, or how it was refused."""
        call = self.channel.stream_unary(f"/pit.v1.{path}")
        options.setdefault("timeout", WAIT_S)
        try:
            return bytes(call(iter(messages), metadata=tuple(metadata), **options))
        except grpc.RpcError as error:
            return Refusal(error)

    def ask(self, path: str, request: Message, kind: type[Message], metadata: Metadata) -> Any:
        answer = self.send(path, [request.SerializeToString()], metadata)
        if isinstance(answer, Refusal):
            raise AssertionError(f"{path}: {answer}")
        return kind.FromString(answer)

    def person(self, name: str = "Ada") -> "Person":
        signed_in = self.ask(
            "IdentityService/SignInGuest",
            identity_pb2.SignInGuestRequest(display_name=name),
            identity_pb2.SignInGuestResponse,
            (),
        )
        return Person(self, signed_in)


class Person:
    """Somebody signed in."""

    def __init__(self, outside: Outside, signed_in: identity_pb2.SignInGuestResponse) -> None:
        self.outside = outside
        self.name = signed_in.person
        self.access_token = signed_in.access_token
        self.refresh_token = signed_in.refresh_token
        self.metadata = (("authorization", f"Bearer {signed_in.access_token}"),)

    def ask(self, path: str, request: Message, kind: type[Message]) -> Any:
        return self.outside.ask(path, request, kind, self.metadata)

    def try_to(self, path: str, request: Message | bytes) -> bytes | Refusal:
        data = request if isinstance(request, bytes) else request.SerializeToString()
        return self.outside.send(path, [data], self.metadata)

    def table(self, **fields: Any) -> str:
        request = lobby_pb2.CreateTableRequest(
            **{
                "request_id": secrets.token_bytes(16),
                "display_name": "A table",
                "preset": "blitz",
                "seats": 4,
                **fields,
            }
        )
        created = self.ask("LobbyService/CreateTable", request, lobby_pb2.CreateTableResponse)
        return str(created.table.name)

    def join(self, table: str) -> lobby_pb2.JoinTableResponse:
        request = lobby_pb2.JoinTableRequest(table=table)
        joined = self.ask("LobbyService/JoinTable", request, lobby_pb2.JoinTableResponse)
        assert isinstance(joined, lobby_pb2.JoinTableResponse)
        return joined

    def watch(self, *tables: play_pb2.WatchedTable) -> "WatchCall":
        """Up to eight tables in one stream."""
        return WatchCall(self, tables)

    def sit(self, table: str) -> "SeatAtTable":
        """Joined and attached."""
        seat = SeatAtTable(self, SeatProtocol(table, self.join(table).seat_token))
        seat.wait(lambda: seat.protocol.attached)
        return seat


class WatchCall:
    """One Watch stream; its messages as they came."""

    def __init__(self, person: Person, tables: Sequence[play_pb2.WatchedTable]) -> None:
        request = play_pb2.WatchRequest(tables=tables)
        method = person.outside.channel.unary_stream("/pit.v1.PlayService/Watch")
        self._call = method(request.SerializeToString(), metadata=person.metadata, timeout=STREAM_S)
        self.raw: list[bytes] = []

    def next(self) -> list[play_pb2.Item] | Refusal:
        """The items of the next message, or how the stream was ended."""
        try:
            data = bytes(next(self._call))
        except grpc.RpcError as error:
            return Refusal(error)
        self.raw.append(data)
        return list(_items(data))

    def close(self) -> None:
        self._call.cancel()


class SeatAtTable:
    """One Play stream, read by a thread."""

    def __init__(self, person: Person, protocol: SeatProtocol) -> None:
        self.protocol = protocol
        self.happenings: list[Happening] = []
        self.rejections: list[play_pb2.Rejected] = []
        self.held = play_pb2.Attached()
        """How the seat was attached last."""
        self.end: Refusal | None = None
        self._person = person
        self._changed = threading.Condition()
        self.resume()

    def resume(self) -> None:
        """A new stream, from where the last one ended."""
        self.end = None
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._requests.put(self.protocol.attach())
        call = self._person.outside.channel.stream_stream("/pit.v1.PlayService/Play")
        self._call = call(iter(self._requests.get, None), metadata=self._person.metadata)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            for data in self._call:
                with self._changed:
                    for item in _items(data):
                        if item.HasField("rejected"):
                            self.rejections.append(item.rejected)
                        if item.HasField("attached"):
                            self.held = item.attached
                    self.happenings += self.protocol.receive(data)
                    self._changed.notify_all()
        except grpc.RpcError as error:
            with self._changed:
                self.end = Refusal(error)
                self._changed.notify_all()

    def send(self, request: play_pb2.PlayRequest | bytes) -> None:
        data = request if isinstance(request, bytes) else request.SerializeToString()
        self._requests.put(data)

    def submit(self, command: play_pb2.Command) -> play_pb2.Command:
        """Send it with the number that is due; the client's protocol counts it."""
        with self._changed:
            self.protocol.submit(command, 0.0)
            for data in self.protocol.outgoing():
                self._requests.put(data)
            return command

    def act(self, command: play_pb2.Command) -> bytes | Refusal:
        """Send it by a call of its own, with the number that is due; what was answered."""
        command.number = self.protocol._next_number
        command.round = self.view.round
        command.seen_seq = self.view.seq
        request = play_pb2.ActRequest(
            table=self.protocol.table,
            attachment=self.held.attachment,
            generation=self.held.generation,
            command=command,
        )
        answer = self._person.try_to("PlayService/Act", request)
        if not isinstance(answer, Refusal) or answer.parameters["consumed"] == "true":
            self.protocol._next_number += 1
        return answer

    def outcome(self, command: play_pb2.Command) -> Any:
        """What became of a command, once it is known."""

        def found() -> list[Any]:
            return [
                each.outcome
                for each in self.happenings
                if type(each) is Settled and each.command is command
            ]

        self.wait(lambda: bool(found()))
        return found()[0]

    def send_past(self, command: play_pb2.Command) -> int:
        """Send it as it is with the number that is due, past the client's protocol."""
        with self._changed:
            command.number = self.protocol._next_number
            self.protocol._next_number += 1
        self.send(play_pb2.PlayRequest(command=command))
        return command.number

    def refusal(self, number: int) -> str:
        """The reason for which the newest command of this number was refused."""
        self.wait(lambda: any(each.number == number for each in self.rejections))
        return str([each for each in self.rejections if each.number == number][-1].reason)

    def do(self, command: play_pb2.Command) -> Any:
        outcome = self.outcome(self.submit(command))
        assert type(outcome) is not Rejected, outcome
        return outcome

    def wait(self, true: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(true, WAIT_S), f"{self.end} {self.happenings[-3:]}"

    def wait_retrying(self, answered: Callable[[], bool]) -> None:
        """Send again what was refused without being used up, until it is answered."""
        with self._changed:
            for _ in range(int(WAIT_S / RETRY_S)):
                if answered():
                    return
                self.protocol.retry()
                for data in self.protocol.outgoing():
                    self._requests.put(data)
                self._changed.wait(RETRY_S)
        raise AssertionError(f"never answered: {self.rejections[-1:]}")

    def kinds(self) -> list[str]:
        """Kinds of the events so far."""
        return [
            str(each.event.WhichOneof("kind")) for each in self.happenings if type(each) is Happened
        ]

    def close(self) -> None:
        self._requests.put(None)
        self._call.cancel()
        self._reader.join(WAIT_S)

    @property
    def view(self) -> Any:
        assert self.protocol.view is not None
        return self.protocol.view


def _items(data: bytes) -> Iterator[play_pb2.Item]:
    for table in play_pb2.PlayResponse.FromString(data).batch.tables:
        yield from table.items


def ready(purpose: table_pb2.ReadyFor.ValueType) -> play_pb2.Command:
    nonce = b"" if purpose == table_pb2.READY_FOR_OPEN else secrets.token_bytes(16)
    return play_pb2.Command(ready=play_pb2.Ready(ready_for=purpose, nonce=nonce))
