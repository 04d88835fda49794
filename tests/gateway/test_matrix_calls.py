"""Bad input to unary methods and to the beginning of calls, over a real gateway's socket.

Rows are those of the bad-input matrix; each names the field (or the part of the call) it abuses.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import NamedTuple

import grpc
import jwt
import pytest
from google.protobuf.message import Message
from pit.v1 import identity_pb2, lobby_pb2, play_pb2, table_pb2

from services.client.protocol import SeatProtocol
from services.gateway.methods import METHODS
from services.gateway.session.limits import PUBLIC
from services.gateway.session.roles import Role, SeatClaim
from services.log.codec import unpack_record
from services.log.redis import RedisReaderLog
from services.log.server import EmbeddedServer
from services.log.store import init_store
from support.doors import BOTH_PROCESSES
from support.gatewayd import GatewayProcess, exchange
from support.outside import Outside, Person, Refusal, SeatAtTable
from support.pipes import whole_out
from support.schema import find_field
from support.valkey import SHARDS
from support.waiting import wait_until

ABSENT = "tables/01" + "q" * 20


class Given(NamedTuple):
    """What the rows find."""

    gateway: GatewayProcess
    url: str
    outside: Outside
    owner: Person
    table: str
    """A table in seating, with its owner seated at 0."""
    full: str
    """A table whose seats are all taken."""


@pytest.fixture(scope="module", params=BOTH_PROCESSES)
def given(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Given]:
    directory = tmp_path_factory.mktemp("calls")
    with EmbeddedServer(directory / "store") as server:
        init_store(server.url, SHARDS)
        with exchange(server.url, directory, PIT_NATIVE_DOOR=request.param) as gateway:
            outside = Outside(gateway.target)
            owner = outside.person("Owner")
            table = owner.table()
            owner.join(table)
            full = owner.table(seats=3)
            for number in range(3):
                outside.person(f"Guest {number}").join(full)
            yield Given(gateway, server.url, outside, owner, table, full)
            outside.close()


class Row(NamedTuple):
    """One row: a request that is refused."""

    id: str
    field: str
    method: str
    request: Callable[[Given], Message | bytes]
    code: str
    reason: str


def create(**fields: object) -> Callable[[Given], Message]:
    def request(given: Given) -> Message:
        usual = {
            "request_id": secrets.token_bytes(16),
            "display_name": "A table",
            "preset": "blitz",
            "seats": 4,
        }
        return lobby_pb2.CreateTableRequest(**{**usual, **fields})  # type: ignore[arg-type]

    return request


def join(**fields: object) -> Callable[[Given], Message]:
    def request(given: Given) -> Message:
        chosen = {name: of(given) if callable(of) else of for name, of in fields.items()}
        return lobby_pb2.JoinTableRequest(**chosen)  # type: ignore[arg-type]

    return request


ILL, NOW = "INVALID_ARGUMENT", "FAILED_PRECONDITION"
CREATE, JOIN = "LobbyService/CreateTable", "LobbyService/JoinTable"
NAME, SEATS = "CreateTableRequest.display_name", "CreateTableRequest.seats"
TABLE = "JoinTableRequest.table"

UNSEEN = ("\u3164", "A\u2800", "\ufe0f", "\u0301\u0301")
"""A filler, an empty cell, marks with nothing to stand on."""
STACKED = (
    "Z\u0351\u036b\u0343\u0321algo",
    "e\u0301\u0302\u0303\u0304\u0305",
    "A\u20dd\u20de\u20df\u20e0",
)
"""More marks on one letter than any writing has."""

ROWS = [
    *(
        Row("B25", SEATS, CREATE, create(seats=seats), ILL, "SEATS_RANGE")
        for seats in (0, 2, 9, -1, 2**31 - 1)
    ),
    Row("B25", SEATS, CREATE, create(seats=8), ILL, "SEATS_RANGE"),
    Row("B25", SEATS, CREATE, create(preset="deluxe", seats=9), ILL, "SEATS_RANGE"),
    *(
        Row("B26", NAME, CREATE, create(display_name=name), ILL, "INVALID_FIELD")
        for name in ("", "x" * 65, "a\nb", "a\0b", "a\u202eb", " a", "\u2066a", *UNSEEN, *STACKED)
    ),
    Row("B26", "CreateTableRequest.preset", CREATE, create(preset="poker"), ILL, "INVALID_FIELD"),
    Row("B26", "CreateTableRequest.request_id", CREATE, create(request_id=b"x"), ILL, "INVALID_FIELD"),
    Row("B26", "CreateTableRequest.visibility", CREATE, create(visibility=77), ILL, "INVALID_FIELD"),
    Row(
        "B26",
        "CreateTableRequest.switches",
        CREATE,
        create(switches=table_pb2.Rules(seats_min=7, seats_max=3)),
        ILL,
        "RULES_CONTRADICT",
    ),
    Row(
        "B26",
        "CreateTableRequest.switches.suits",
        CREATE,
        create(switches=table_pb2.Rules(suits=[99])),
        ILL,
        "INVALID_FIELD",
    ),
    Row(
        "B26",
        "CreateTableRequest.for_bots",
        CREATE,
        create(for_bots=True),
        "PERMISSION_DENIED",
        "ROLE_NOT_ALLOWED",
    ),
    *(
        Row("B28", TABLE, JOIN, join(table=name), ILL, "INVALID_FIELD")
        for name in (
            "",
            "x" * 1024,
            "tables/../../etc",
            "tables/{s1}:x",
            "tables/00" + "a" * 19 + "\0",
            "tables/00" + "a" * 20 + "\n",
            "tables/99" + "a" * 20,
            "00" + "a" * 20,
        )
    ),
    Row("B28", "JoinTableRequest.invite_code", JOIN, join(invite_code="x"), ILL, "INVALID_FIELD"),
    Row("B28", "JoinTableRequest.invite_code", JOIN, join(), ILL, "INVALID_FIELD"),
    Row("B29", TABLE, JOIN, join(table=ABSENT), "NOT_FOUND", "TABLE_NOT_FOUND"),
    Row(
        "B29",
        "GetTableRequest.name",
        "LobbyService/GetTable",
        lambda given: lobby_pb2.GetTableRequest(name=ABSENT),
        "NOT_FOUND",
        "TABLE_NOT_FOUND",
    ),
    Row("B30", TABLE, JOIN, join(table=lambda given: given.full), NOW, "TABLE_FULL"),
    Row(
        "B32",
        "JoinTableRequest.seat",
        JOIN,
        join(table=lambda given: given.table, seat=0),
        "ALREADY_EXISTS",
        "SEAT_TAKEN",
    ),
    *(
        Row(
            "B32",
            "JoinTableRequest.seat",
            JOIN,
            join(table=lambda given: given.table, seat=seat),
            ILL,
            "SEAT_RANGE",
        )
        for seat in (-1, 4, 31, 2**31 - 1)
    ),
    Row(
        "B28",
        "ListTablesRequest.page_token",
        "LobbyService/ListTables",
        lambda given: lobby_pb2.ListTablesRequest(page_token="../x"),
        ILL,
        "INVALID_FIELD",
    ),
    Row(
        "B28",
        "ListTablesRequest.page_size",
        "LobbyService/ListTables",
        lambda given: lobby_pb2.ListTablesRequest(page_size=101),
        ILL,
        "INVALID_FIELD",
    ),
    Row(
        "B29",
        "StartTableRequest.table",
        "LobbyService/StartTable",
        lambda given: lobby_pb2.StartTableRequest(table=given.table),
        "PERMISSION_DENIED",
        "NOT_OWNER",
    ),
    Row(
        "B29",
        "LeaveTableRequest.table",
        "LobbyService/LeaveTable",
        lambda given: lobby_pb2.LeaveTableRequest(table=given.table),
        "PERMISSION_DENIED",
        "NOT_SEATED",
    ),
    Row("B10", TABLE, JOIN, lambda given: b"\x0a\xff", ILL, "MALFORMED_REQUEST"),
    Row("B11", "CreateTableRequest.switches", CREATE, lambda given: nested(200), ILL, "MALFORMED_REQUEST"),
    Row("B12", TABLE, JOIN, lambda given: b"\x0a\x02\xff\xfe", ILL, "MALFORMED_REQUEST"),
    Row("B13", TABLE, JOIN, lambda given: b"\x0d\x01\x02\x03\x04", ILL, "INVALID_FIELD"),
    Row("B13", TABLE, JOIN, lambda given: b"\xfa\x07\x01x", ILL, "INVALID_FIELD"),
]  # fmt: skip


def nested(levels: int) -> bytes:
    """A group inside a group inside ..., which no decoder should follow."""
    return b"\x0b" * levels + b"\x0c" * levels


def told(given: Given) -> list[tuple[str, ...]]:
    """Events of all tables, as the log has them."""
    reader = RedisReaderLog(given.url)
    try:
        return [
            (chunk.table, type(item).__name__)
            for shard in range(SHARDS)
            for entry in whole_out(reader, shard)
            for chunk in entry.chunks
            for item in unpack(chunk.table, chunk.body)
        ]
    finally:
        reader.close()


def unpack(table: str, body: bytes) -> Iterator[object]:
    notes = {"Answered", "RequestAnswered", "Attached", "AttachRefused", "Detached", "Marked"}
    for item in unpack_record(table, body).items:
        if type(item).__name__ not in notes:
            yield item


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.id}-{row.field}")
def test_every_row_names_a_field_of_the_schema(row: Row) -> None:
    find_field(row.field)


def test_bad_requests_are_refused_and_change_no_table(given: Given) -> None:
    before = told(given)
    wrong = []
    for number, row in enumerate(ROWS):
        stranger = given.outside.person(f"Stranger {number}")
        answer = stranger.try_to(row.method, row.request(given))
        if not isinstance(answer, Refusal) or (answer.code, answer.reason) != (
            row.code,
            row.reason,
        ):
            wrong.append((row.id, row.field, answer))
        elif answer.reason == "INVALID_FIELD" and not answer.field:
            wrong.append((row.id, row.field, "no BadRequest"))
    assert not wrong
    assert told(given) == before


def test_b31_joining_again_gives_the_same_seat(given: Given) -> None:
    assert given.owner.join(given.table).seat == 0


def test_a_repeated_create_finds_the_same_table_and_other_content_is_refused(given: Given) -> None:
    request_id = secrets.token_bytes(16)
    first = given.owner.table(request_id=request_id)
    assert given.owner.table(request_id=request_id) == first
    request = create(request_id=request_id, display_name="Another")(given)
    answer = given.owner.try_to(CREATE, request)
    assert isinstance(answer, Refusal)
    assert (answer.code, answer.reason) == ("ALREADY_EXISTS", "TABLE_EXISTS")


# -------------------------------------------------------------------- who asks

RULES = lobby_pb2.ListRulesRequest().SerializeToString()
LIST_RULES = "LobbyService/ListRules"


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def flipped(token: str, part: int) -> str:
    """The token with one bit changed in one of its three parts."""
    parts = token.split(".")
    middle = len(parts[part]) // 2
    swapped = "A" if parts[part][middle] != "A" else "B"
    parts[part] = parts[part][:middle] + swapped + parts[part][middle + 1 :]
    return ".".join(parts)


def forged(given: Given, *, header: dict[str, str] | None = None, **claims: object) -> str:
    """A token with our newest key, but with claims or a header of the attacker's choice."""
    kid, _, key = given.gateway.keys.partition(",")[0].partition(":")
    now = int(time.time())
    usual = {
        "aud": "pit",
        "sub": "p" + "a" * 20,
        "sid": "s",
        "role": "player",
        "iat": now,
        "exp": now + 60,
    }
    content = {name: of for name, of in {**usual, **claims}.items() if of is not None}
    return jwt.encode(content, bytes.fromhex(key), "HS256", headers={"kid": kid, **(header or {})})


def test_b01_no_token(given: Given) -> None:
    answer = given.outside.send(LIST_RULES, [RULES])
    assert repr(answer) == "UNAUTHENTICATED MISSING_TOKEN"


@pytest.mark.parametrize("part", [0, 1, 2])
def test_b02_a_token_with_a_bit_changed(given: Given, part: int) -> None:
    answer = given.outside.send(
        LIST_RULES, [RULES], bearer(flipped(given.owner.access_token, part))
    )
    assert repr(answer) == "UNAUTHENTICATED INVALID_TOKEN"


def test_b02_b03_forged_tokens(given: Given) -> None:
    now = int(time.time())
    none = jwt.encode({"aud": "pit", "sub": "p" + "a" * 20, "exp": now + 60}, "", algorithm="none")
    attempts = {
        "garbage": "garbage",
        "alg none": none,
        "kid ../": forged(given, header={"kid": "../k2"}),
        "kid of nobody": forged(given, header={"kid": "k9"}),
        "other audience": forged(given, aud="pit-seat"),
        "no audience": forged(given, aud=None),
        "no sid": forged(given, sid=None),
        "no expiry": forged(given, exp=None),
        "not a person": forged(given, sub="../admin"),
        "no such role": forged(given, role="god"),
        "not yet valid": forged(given, nbf=now + 600),
        "long": "a" * 7_000,
    }
    answers = {
        name: repr(given.outside.send(LIST_RULES, [RULES], bearer(token)))
        for name, token in attempts.items()
    }
    expected = "UNAUTHENTICATED INVALID_TOKEN"
    assert {name: each for name, each in answers.items() if each != expected} == {}


def test_b03_an_expired_token(given: Given) -> None:
    token = forged(given, exp=int(time.time()) - 1)
    answer = given.outside.send(LIST_RULES, [RULES], bearer(token))
    assert repr(answer) == "UNAUTHENTICATED TOKEN_EXPIRED"


def test_both_live_keys_are_accepted(given: Given) -> None:
    older = given.gateway.keys.split(",")[1]
    kid, _, key = older.partition(":")
    token = forged(given, header={})
    content = jwt.decode(token, options={"verify_signature": False})
    signed = jwt.encode(content, bytes.fromhex(key), "HS256", headers={"kid": kid})
    assert isinstance(given.outside.send(LIST_RULES, [RULES], bearer(signed)), bytes)


@pytest.mark.parametrize("metadata", ["two", "empty", "scheme", "binary"])
def test_b04_b06_authorization_that_is_none(given: Given, metadata: str) -> None:
    token = given.owner.access_token
    sent = {
        "two": bearer(token) * 2,
        "empty": (("authorization", ""),),
        "scheme": (("authorization", token),),
        "binary": (("authorization-bin", b"\xff\x00"),),
    }[metadata]
    answer = given.outside.send(LIST_RULES, [RULES], sent)
    assert isinstance(answer, Refusal)
    assert answer.code == "UNAUTHENTICATED"


def test_b05_metadata_that_is_too_large(given: Given) -> None:
    answer = given.outside.send(LIST_RULES, [RULES], (("x", "y" * 9_000),))
    assert isinstance(answer, Refusal)
    assert answer.code == "RESOURCE_EXHAUSTED"


def test_b07_b08_messages_that_are_too_large_whatever_their_packing(given: Given) -> None:
    for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
        answer = given.outside.send(
            LIST_RULES, [bytes(1 << 20)], given.owner.metadata, compression=compression
        )
        assert isinstance(answer, Refusal)
        assert answer.code == "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize(
    ("messages", "reason"), [([], "MESSAGE_MISSING"), ([RULES, RULES], "MORE_THAN_ONE_MESSAGE")]
)
def test_b14_b15_not_one_message(given: Given, messages: list[bytes], reason: str) -> None:
    answer = given.outside.send(LIST_RULES, messages, given.owner.metadata)
    assert repr(answer) == f"INVALID_ARGUMENT {reason}"


@pytest.mark.all
def test_b16_a_body_that_does_not_come(given: Given) -> None:
    never: SimpleQueue[bytes | None] = SimpleQueue()
    call = given.outside.channel.stream_unary(f"/pit.v1.{LIST_RULES}").future(
        iter(never.get, None), metadata=given.owner.metadata, timeout=20
    )
    with pytest.raises(grpc.RpcError) as caught:
        call.result()
    never.put(None)
    assert repr(Refusal(caught.value)) == "DEADLINE_EXCEEDED BODY_TIMEOUT"


def test_b17_what_is_not_there(given: Given) -> None:
    for path in ("LobbyService/Nothing", "NoService/Nothing", "OperateService/ListShards"):
        answer = given.outside.send(path, [b""], given.owner.metadata)
        assert isinstance(answer, Refusal)
        assert answer.code == "UNIMPLEMENTED"


def test_every_method_of_the_schema_is_served(given: Given) -> None:
    for kind, service, method in METHODS:
        if kind == "unary":
            answer = given.outside.send(f"{service.removeprefix('pit.v1.')}/{method}", [b"\xff"])
            assert repr(answer) in {
                "UNAUTHENTICATED MISSING_TOKEN",
                "INVALID_ARGUMENT MALFORMED_REQUEST",
            }


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("pit-web", "INVALID_ARGUMENT CLIENT_HEADER_MALFORMED"),
        ("pit-web/1", "INVALID_ARGUMENT CLIENT_HEADER_MALFORMED"),
        ("pit-web/0.0.9", "FAILED_PRECONDITION CLIENT_TOO_OLD"),
    ],
)
def test_b21_clients_that_are_too_old_or_say_nothing(
    given: Given, client: str, expected: str
) -> None:
    metadata = (*given.owner.metadata, ("pit-client", client))
    assert repr(given.outside.send(LIST_RULES, [RULES], metadata)) == expected


def test_only_bots_watch_for_bot_seats(given: Given) -> None:
    answer = given.owner.try_to("LobbyService/WatchBotSeats", b"")
    assert repr(answer) == "PERMISSION_DENIED ROLE_NOT_ALLOWED"


CALLS = 5 * PUBLIC.commands.burst
"""More than may pass, even while a slow machine makes them."""


def may_have_passed(passed: int, took_s: float) -> bool:
    rate = PUBLIC.commands
    return rate.burst <= passed <= rate.burst + rate.per_s * took_s + 1


def test_b60_a_burst_of_calls(given: Given) -> None:
    person, begun_s = given.outside.person("Hasty"), time.monotonic()
    answers = [given.outside.send(LIST_RULES, [RULES], person.metadata) for _ in range(CALLS)]
    refused = [each for each in answers if isinstance(each, Refusal)]
    assert may_have_passed(CALLS - len(refused), time.monotonic() - begun_s)
    assert {each.reason for each in refused} == {"RATE_LIMITED"}
    assert all(each.retry_after_ms > 0 for each in refused)


def test_b60_opening_streams_costs_as_much(given: Given) -> None:
    person, begun_s = given.outside.person("Hasty"), time.monotonic()
    answers = [repr(person.try_to("LobbyService/WatchBotSeats", b"")) for _ in range(CALLS)]
    passed = answers.count("PERMISSION_DENIED ROLE_NOT_ALLOWED")
    assert may_have_passed(passed, time.monotonic() - begun_s)
    assert passed + answers.count("RESOURCE_EXHAUSTED RATE_LIMITED") == CALLS


# -------------------------------------------------------------------- streams


def watched(table: str) -> play_pb2.WatchedTable:
    return play_pb2.WatchedTable(table=table)


def test_b58_the_fifth_stream_of_a_sign_in(given: Given) -> None:
    person = given.outside.person("Curious")
    streams = [person.watch(watched(given.table)) for _ in range(4)]
    for stream in streams:
        assert isinstance(stream.next(), list)
    assert repr(person.watch(watched(given.table)).next()) == "RESOURCE_EXHAUSTED TOO_MANY_STREAMS"
    seat_token = given.owner.join(given.table).seat_token
    attach = play_pb2.Attach(table=given.table, seat_token=seat_token)
    data = play_pb2.PlayRequest(attach=attach).SerializeToString()
    answer = given.outside.send("PlayService/Play", [data], person.metadata)
    assert repr(answer) == "RESOURCE_EXHAUSTED TOO_MANY_STREAMS"
    others = given.outside.person("Another").watch(watched(given.table))
    assert isinstance(others.next(), list)
    for stream in (*streams, others):
        stream.close()

    def is_let_in() -> bool:
        again = person.watch(watched(given.table))
        let_in = isinstance(again.next(), list)
        again.close()
        return let_in

    wait_until(is_let_in)  # the gateway hears a little later that the others are gone


def test_b59_a_table_one_may_not_see_is_as_one_that_is_not_there(given: Given) -> None:
    private = given.owner.table(visibility=table_pb2.VISIBILITY_PRIVATE)
    stranger = given.outside.person("Stranger")
    answers = [stranger.watch(watched(table)).next() for table in (private, ABSENT)]
    assert [repr(answer) for answer in answers] == ["NOT_FOUND TABLE_NOT_FOUND"] * 2
    assert len({each.message for each in answers if isinstance(each, Refusal)}) == 1
    seat_token = given.gateway.tokens.seat(
        SeatClaim(stranger.name.partition("/")[2], private.partition("/")[2], 0, bot=False)
    )
    seat = SeatAtTable(stranger, SeatProtocol(private, seat_token))
    seat.wait(lambda: seat.end is not None)
    assert repr(seat.end) == "PERMISSION_DENIED NOT_SEATED"  # who has a token has been there once
    seat.close()


def test_the_owner_of_a_private_table_watches_it_without_a_seat(given: Given) -> None:
    private = given.owner.table(visibility=table_pb2.VISIBILITY_PRIVATE)
    stream = given.owner.watch(watched(private))
    first = stream.next()
    assert isinstance(first, list)
    assert not first[0].attached.snapshot.HasField("seat")
    stream.close()


def test_a_refresh_token_has_one_successor(given: Given) -> None:
    person = given.outside.person("Fresh")
    request = identity_pb2.RefreshRequest(refresh_token=person.refresh_token)
    refreshed = given.outside.ask(
        "IdentityService/Refresh", request, identity_pb2.RefreshResponse, ()
    )
    assert refreshed.refresh_token != person.refresh_token
    again = given.outside.ask("IdentityService/Refresh", request, identity_pb2.RefreshResponse, ())
    assert again.refresh_token == refreshed.refresh_token
    for token in ("unknown", "", "x" * 500):
        request = identity_pb2.RefreshRequest(refresh_token=token)
        answer = given.outside.send("IdentityService/Refresh", [request.SerializeToString()])
        assert repr(answer) == "UNAUTHENTICATED INVALID_REFRESH_TOKEN"
    claims = jwt.decode(refreshed.access_token, options={"verify_signature": False})
    assert claims["role"] == Role.PLAYER
    assert claims["exp"] - claims["iat"] <= 15 * 60


def test_ping_answers_with_the_clients_time(given: Given) -> None:
    pong = given.owner.ask(
        "PlayService/Ping", play_pb2.PingRequest(client_us=5), play_pb2.PingResponse
    )
    assert pong.client_us == 5
    assert abs(pong.server_us / 1e6 - time.time()) < 60


def test_no_payload_stands_in_the_log(given: Given) -> None:
    written = str(given.gateway.log())
    assert given.owner.access_token not in written
    assert "Traceback" not in written
    assert "unexpected" not in written
