"""Wrong commands in a stream, over a real gateway's socket: the right answer, the table untouched.

The rows are those of the bad-input matrix. All are sent by seat 0 of a table whose other seats are
the test's, too; what the table looks like to every one of them is the same afterwards.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pit.v1 import lobby_pb2, play_pb2, table_pb2

from engine.cards import DECKS, LOT_MAX, ONE, SUIT_SIZE, count
from engine.evolve import evolve
from engine.state import digest
from engine.table import Table
from engine.view import show
from services.client.happenings import Effective, Rejected
from services.gateway.errors import EITHER_WAY, Code
from services.log.codec import unpack_record
from services.log.redis import RedisReaderLog
from services.log.server import EmbeddedServer
from services.log.store import init_store
from support.gatewayd import exchange
from support.outside import Outside, Person, Refusal, SeatAtTable, ready
from support.pipes import whole_out
from support.schema import find_field
from support.valkey import SHARDS

START, OPEN = table_pb2.READY_FOR_START, table_pb2.READY_FOR_OPEN
README = Path(__file__).parents[2] / "proto" / "README.md"
DECK = dict(DECKS["classic7"])
PATIENT = table_pb2.Rules(idle_s=600, round_cap_s=900, sorting_pause_s=60)
"""Switches under which nothing happens by itself while rows are sent."""


class Given(NamedTuple):
    """Tables with three persons each, the first of whom sends the rows."""

    url: str
    people: list[Person]
    open: list[SeatAtTable]
    """Trading, with Bull and Bear; seat 3 fell away."""
    plain: list[SeatAtTable]
    """Trading without Bull and Bear and without directed offers."""
    sorting: list[SeatAtTable]


def opened(people: list[Person], *, seats: int, switches: table_pb2.Rules) -> list[SeatAtTable]:
    """A table that is dealt."""
    rules = table_pb2.Rules()
    rules.MergeFrom(PATIENT)
    rules.MergeFrom(switches)
    table = people[0].table(seats=seats, switches=rules)
    found = [person.sit(table) for person in people]
    if seats == len(people):
        for seat in found:
            seat.do(ready(START))
    else:
        request = lobby_pb2.StartTableRequest(table=table)
        people[0].ask("LobbyService/StartTable", request, lobby_pb2.StartTableResponse)
    for seat in found:
        seat.wait(lambda seat=seat: "dealt" in seat.kinds())  # type: ignore[misc]
    return found


def trading(seats: list[SeatAtTable]) -> list[SeatAtTable]:
    """The hands are sorted, the exchange is open."""
    for seat in seats:
        seat.do(ready(OPEN))
    for seat in seats:
        seat.wait(lambda seat=seat: "exchange_opened" in seat.kinds())  # type: ignore[misc]
    return seats


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    directory = tmp_path_factory.mktemp("commands")
    with EmbeddedServer(directory / "store") as server:
        init_store(server.url, SHARDS)
        with exchange(server.url, directory, PIT_PROFILE="load") as gateway:
            outside = Outside(gateway.target)
            people = [outside.person(name) for name in ("Ada", "Ben", "Cy")]
            plain = table_pb2.Rules(bull_and_bear=False, directed_offers=False)
            given = Given(
                server.url,
                people,
                trading(opened(people, seats=4, switches=table_pb2.Rules())),
                trading(opened(people, seats=3, switches=plain)),
                opened(people, seats=3, switches=table_pb2.Rules()),
            )
            yield given
            for seat in (*given.open, *given.plain, *given.sorting):
                seat.close()
            outside.close()


def table_now(url: str, seat: SeatAtTable) -> Table:
    """The table, as the log has it."""
    name = seat.protocol.table.partition("/")[2]
    table = Table(name)
    reader = RedisReaderLog(url)
    try:
        for entry in whole_out(reader, int(name[:2])):
            for chunk in entry.chunks:
                if chunk.table == name:
                    for item in unpack_record(name, chunk.body).items:
                        evolve(table, item)
    finally:
        reader.close()
    return table


def looks(table: Table) -> list[Any]:
    """All that anybody may know of it: the same before and after, or something has changed."""
    return [show(table, viewer) for viewer in range(-1, len(table.seats))]


# -------------------------------------------------------------------- rows answered by the table


def lot(commodity: int = 0, cards: int = 0, **more: Any) -> table_pb2.Lot:
    return table_pb2.Lot(commodity=commodity, count=cards, **more)  # type: ignore[arg-type]


def held(seat: SeatAtTable, cards: int = 1) -> table_pb2.Lot:
    """Cards of one commodity this seat holds."""
    view = seat.view
    lane = next(lane for lane in view.suits if count(view.hand, lane) >= cards)
    found: table_pb2.Lot = view.deck.lot(cards * ONE[lane])
    return found


def lacking(seat: SeatAtTable) -> table_pb2.Lot:
    """A lot of four of which this seat holds fewer."""
    view = seat.view
    lane = next(lane for lane in view.suits if count(view.hand, lane) < LOT_MAX)
    found: table_pb2.Lot = view.deck.lot(LOT_MAX * ONE[lane])
    return found


def offer(of: Callable[[SeatAtTable], table_pb2.Lot], **fields: Any) -> Callable[..., Any]:
    return lambda seat: play_pb2.Command(offer=play_pb2.Offer(lot=of(seat), **fields))


def this(found: table_pb2.Lot) -> Callable[[SeatAtTable], table_pb2.Lot]:
    return lambda seat: found


def ring(commodity: Callable[[SeatAtTable], int]) -> Callable[..., Any]:
    return lambda seat: play_pb2.Command(ring_bell=play_pb2.RingBell(commodity=commodity(seat)))  # type: ignore[arg-type]


def no_corner(seat: SeatAtTable) -> int:
    view = seat.view
    lane = next(lane for lane in view.suits if count(view.hand, lane) < SUIT_SIZE - 1)
    return int(view.deck.commodities[lane])


def call(phrase: int) -> Callable[..., Any]:
    return lambda seat: play_pb2.Command(call=play_pb2.Call(phrase=phrase))  # type: ignore[arg-type]


def nonce(length: int) -> Callable[..., Any]:
    given = play_pb2.Ready(ready_for=table_pb2.READY_FOR_NEXT, nonce=bytes(length))
    return lambda seat: play_pb2.Command(ready=given)


class Row(NamedTuple):
    """One row: a command that is refused, in answer to its number."""

    id: str
    field: str
    table: str
    command: Callable[[SeatAtTable], play_pb2.Command]
    code: int
    reason: str


ILL, GONE, NOW = 3, 5, 9
LOT, COUNT = "Offer.lot", "Offer.lot.count"
WHEAT, BARLEY, COFFEE = 1, 2, 8
MIXED = [table_pb2.CardCount(commodity=BARLEY, count=1)]  # type: ignore[arg-type]

ROWS = [
    Row("B36", LOT, "open", offer(this(lot())), ILL, "LOT_SIZE"),
    *(
        Row("B37", COUNT, "open", offer(this(lot(WHEAT, cards))), ILL, "LOT_SIZE")
        for cards in (5, 10_000, -1, 2**31 - 1, -(2**31))
    ),
    Row("B37", COUNT, "open", offer(this(lot(WHEAT, 4, bull=True))), ILL, "LOT_SIZE"),
    Row("B37", "Offer.lot.mixed", "open", offer(this(lot(WHEAT, 4, mixed=MIXED))), ILL, "LOT_SIZE"),
    Row("B38", "Offer.lot.bull", "plain", offer(this(lot(bull=True))), ILL, "LOT_BULL_BEAR"),
    Row("B38", "Offer.lot.bear", "plain", offer(this(lot(WHEAT, 1, bear=True))), ILL, "LOT_BULL_BEAR"),
    *(
        Row("B39", "Offer.lot.commodity", "open", offer(this(lot(commodity, 1))), ILL, "NO_SUCH_COMMODITY")
        for commodity in (0, 99, COFFEE, -1)
    ),
    Row("B40", "Offer.lot.mixed", "open", offer(this(lot(WHEAT, 1, mixed=MIXED))), ILL, "ONE_COMMODITY"),
    Row("B41", LOT, "open", offer(lacking), NOW, "CARDS_NOT_IN_HAND"),
    Row("B43", "PlayRequest.command.offer", "sorting", offer(held), NOW, "NOT_OPEN"),
    Row("B43", "PlayRequest.command.ring_bell", "sorting", ring(no_corner), NOW, "NOT_OPEN"),
    Row("B47", "Offer.directed_at", "open", offer(held, directed_at=0), ILL, "DIRECTED_AT_SELF"),
    *(
        Row("B47", "Offer.directed_at", "open", offer(held, directed_at=seat), ILL, "DIRECTED_AT_NO_SEAT")
        for seat in (-1, 4, 2**31 - 1)
    ),
    Row("B47", "Offer.directed_at", "open", offer(held, directed_at=3), NOW, "DIRECTED_AT_EMPTY_SEAT"),
    Row("B47", "Offer.directed_at", "plain", offer(held, directed_at=1), NOW, "DIRECTED_OFFERS_OFF"),
    *(
        Row("B47", "Offer.limit_ms", "open", offer(held, limit_ms=limit), ILL, "LIMIT_RANGE")
        for limit in (-1, 1, 999, 60_001)
    ),
    Row("B47", "Offer.immediate", "open", offer(held, immediate=True), NOW, "NO_PARTNER"),
    Row("B48", "PlayRequest.command.withdraw", "open", lambda seat: withdraw(), NOW, "NOTHING_TO_WITHDRAW"),
    Row("B51", "RingBell.commodity", "open", ring(no_corner), NOW, "NO_CORNER"),
    *(
        Row("B39", "RingBell.commodity", "open", ring(lambda seat, of=of: of), ILL, "NO_SUCH_COMMODITY")  # type: ignore[misc]
        for of in (0, 99, COFFEE, -1)
    ),
    *(Row("B39", "Call.phrase", "open", call(phrase), ILL, "NO_SUCH_PHRASE") for phrase in (0, 77, -1)),
    *(
        Row("B39", "Ready.ready_for", "open", lambda seat, of=of: ready(of), ILL, "WRONG_PURPOSE")  # type: ignore[misc]
        for of in (0, 9, -1)
    ),
    *(
        Row("B39", "Ready.nonce", "open", nonce(length), ILL, "NONCE_LENGTH")
        for length in (1, 17, 5_000)
    ),
    Row("B39", "Ready.ready_for", "open", lambda seat: ready(START), NOW, "ALREADY_STARTED"),
    Row("B39", "Command.kind", "open", lambda seat: play_pb2.Command(), ILL, "INVALID_FIELD"),
]  # fmt: skip


def withdraw() -> play_pb2.Command:
    return play_pb2.Command(withdraw=play_pb2.Withdraw())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.id}-{row.field}")
def test_every_row_names_a_field_of_the_schema(row: Row) -> None:
    if row.field == "Command.kind":
        assert "kind" in play_pb2.Command.DESCRIPTOR.oneofs_by_name
    else:
        find_field(row.field)


@pytest.mark.parametrize("name", ["open", "plain", "sorting"])
def test_wrong_commands_are_answered_and_leave_the_table_as_it_was(given: Given, name: str) -> None:
    seats = getattr(given, name)
    before = looks(table_now(given.url, seats[0]))
    wrong = []
    for row in [row for row in ROWS if row.table == name]:
        outcome = seats[0].outcome(seats[0].submit(row.command(seats[0])))
        if type(outcome) is not Rejected or (outcome.code, outcome.reason) != (
            row.code,
            row.reason,
        ):
            wrong.append((row.id, row.field, outcome))
    assert not wrong
    assert looks(table_now(given.url, seats[0])) == before


@pytest.mark.parametrize("name", ["open", "plain", "sorting"])
def test_the_same_commands_by_act_end_their_calls(given: Given, name: str) -> None:
    seats = getattr(given, name)
    before = looks(table_now(given.url, seats[0]))
    wrong = []
    for row in [row for row in ROWS if row.table == name]:
        told = len(seats[0].rejections)
        answer = seats[0].act(row.command(seats[0]))
        if repr(answer) != f"{Code(row.code).name} {row.reason}":
            wrong.append((row.id, row.field, answer))
        elif isinstance(answer, Refusal) and answer.parameters["consumed"] == "true":
            seats[0].wait(lambda told=told: len(seats[0].rejections) > told)  # type: ignore[misc]
    assert not wrong
    assert looks(table_now(given.url, seats[0])) == before


def test_every_refusal_uses_its_number_up_as_the_document_says(given: Given) -> None:
    """And where that says "see `consumed`" both happen, or it would say yes or no."""
    _, _, table = README.read_text().partition("<!-- errors: begin -->")
    cells = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    documented = {line[1].strip(" `"): line[-2].strip() for line in cells}
    happened: dict[str, set[str]] = {}
    for row in ROWS:
        seat = getattr(given, row.table)[0]
        seat.outcome(seat.submit(row.command(seat)))
        refused = seat.rejections[-1]
        assert refused.reason == row.reason
        happened.setdefault(row.reason, set()).add("yes" if refused.consumed else "no")
    both = {reason for reason, found in happened.items() if len(found) == 2}
    assert happened == {
        reason: {"yes", "no"} if reason in both else {documented[reason]} for reason in happened
    }
    assert both == {why for why, said in documented.items() if said == EITHER_WAY}


def test_every_row_is_of_a_table_that_is_there() -> None:
    assert {row.table for row in ROWS} == {"open", "plain", "sorting"}


# -------------------------------------------------------------------- numbers


def raw(seat: SeatAtTable, number: int, command: play_pb2.Command) -> play_pb2.PlayRequest:
    """A command with a number of the test's choosing, past the client's protocol."""
    command.number = number
    command.round = command.round or seat.view.round
    command.seen_seq = command.seen_seq or seat.view.seq
    return play_pb2.PlayRequest(command=command)


@pytest.mark.parametrize(
    ("number", "reason"),
    [(0, "NUMBER_INVALID"), (-1, "NUMBER_INVALID"), (10_000, "NUMBER_OUT_OF_RANGE"), (2**63 - 1, "NUMBER_OUT_OF_RANGE")],
)  # fmt: skip
def test_b33_numbers_that_are_not_due(given: Given, number: int, reason: str) -> None:
    seat = given.open[1]
    before = digest(table_now(given.url, seat))
    seat.send(raw(seat, number, withdraw()))
    assert seat.refusal(number) == reason
    assert digest(table_now(given.url, seat)) == before


def test_b34_b35_b50_a_number_used_before(given: Given) -> None:
    seat = given.open[2]
    command = seat.submit(play_pb2.Command(call=play_pb2.Call(phrase=table_pb2.PHRASE_ONE)))
    first, number = seat.outcome(command), command.number
    assert type(first) is Effective
    seat.send(raw(seat, number, withdraw()))
    assert seat.refusal(number) == "NUMBER_REUSED"
    seat.send(raw(seat, number, play_pb2.Command(call=play_pb2.Call(phrase=table_pb2.PHRASE_ONE))))
    refused = seat.submit(withdraw())
    assert seat.outcome(refused).reason == "NOTHING_TO_WITHDRAW"
    seat.send(raw(seat, refused.number, withdraw()))
    assert seat.outcome(seat.submit(withdraw())).reason == "NOTHING_TO_WITHDRAW"
    assert [each.reason for each in seat.rejections if each.number == refused.number] == [
        "NOTHING_TO_WITHDRAW",
        "NOTHING_TO_WITHDRAW",
    ]
    assert table_now(given.url, seat).seq == first.seq


def test_b46_a_command_for_another_round(given: Given) -> None:
    seat = given.plain[1]
    for round_ in (7, 2**31 - 1):
        command = play_pb2.Command(offer=play_pb2.Offer(lot=held(seat)), round=round_)
        assert seat.refusal(seat.send_past(command)) == "STALE_ROUND"


def test_b46_a_round_or_a_place_that_is_none(given: Given) -> None:
    seat = given.plain[2]
    number = seat.protocol._next_number
    for command in (
        play_pb2.Command(withdraw=play_pb2.Withdraw(), round=-1),
        play_pb2.Command(withdraw=play_pb2.Withdraw(), seen_seq=-1),
    ):
        told = len(seat.rejections)
        seat.send(raw(seat, number, command))
        seat.wait(lambda told=told: len(seat.rejections) > told)  # type: ignore[misc]
        assert seat.rejections[-1].reason == "INVALID_FIELD"
        assert not seat.rejections[-1].consumed


# -------------------------------------------------------------------- what is no mistake, and what follows a bell


def swap(one: SeatAtTable, two: SeatAtTable, gives: int, gets: int, cards: int) -> None:
    """`one` gives `cards` of lane `gives` to `two` for as many of lane `gets`."""
    deck = one.view.deck
    first = one.submit(play_pb2.Command(offer=play_pb2.Offer(lot=deck.lot(cards * ONE[gives]))))
    assert type(one.outcome(first)) is Effective
    second = two.submit(play_pb2.Command(offer=play_pb2.Offer(lot=deck.lot(cards * ONE[gets]))))
    assert two.outcome(second).traded
    one.wait(lambda: one.view.seq >= two.view.seq)


def lane_of(lot: table_pb2.Lot) -> int:
    return list(DECK).index(table_pb2.Commodity.Name(lot.commodity)[10:].lower())


def collect(one: SeatAtTable, others: list[SeatAtTable]) -> int:
    """Trade until `one` holds nine of a commodity; its lane."""
    lane = max(one.view.suits, key=lambda each: count(one.view.hand, each))
    for other in others:
        while left := count(other.view.hand, lane):
            spare = max(
                (each for each in one.view.suits if each != lane),
                key=lambda each: count(one.view.hand, each),
            )
            swap(one, other, spare, lane, min(left, LOT_MAX, count(one.view.hand, spare)))
    assert count(one.view.hand, lane) == SUIT_SIZE
    return int(lane)


def test_b42_b49_b53_b44_b52_from_an_open_offer_to_the_end_of_the_round(given: Given) -> None:
    seats = opened(given.people, seats=3, switches=table_pb2.Rules(bull_and_bear=False))
    one, two, three = trading(seats)
    all_of_one = held(one)
    all_of_one.count = count(one.view.hand, one.view.deck.lane[all_of_one.commodity])
    all_of_one.count = min(all_of_one.count, LOT_MAX)
    for _ in range(2):  # B42: the cards of the own open offer may be offered anew
        assert type(one.do(play_pb2.Command(offer=play_pb2.Offer(lot=all_of_one)))) is Effective
    one.do(withdraw())
    lane = collect(one, [two, three])
    seen = two.view.seq
    swap(two, three, *(lane_of(held(each)) for each in (two, three)), 1)
    late = play_pb2.Command(withdraw=play_pb2.Withdraw(), round=1, seen_seq=seen + 1)
    assert two.refusal(two.send_past(late)) == "OFFER_TRADED"  # B49
    wheat = one.view.deck.lot(ONE[lane])
    one.do(play_pb2.Command(offer=play_pb2.Offer(lot=wheat)))
    bell = play_pb2.Command(ring_bell=play_pb2.RingBell(commodity=one.view.deck.commodities[lane]))
    assert type(one.do(bell)) is Effective  # B53
    kinds = [kind for kind in one.kinds() if kind in {"offer_ended", "cornered", "round_scored"}]
    assert kinds[-3:] == ["offer_ended", "cornered", "round_scored"]
    two.wait(lambda: "round_scored" in two.kinds())
    late = play_pb2.Command(ring_bell=play_pb2.RingBell(commodity=two.view.deck.commodities[lane]))
    outcome = two.outcome(two.submit(late))
    assert (outcome.code, outcome.reason) == (NOW, "ROUND_OVER")  # B52
    assert outcome.parameters["late_ms"] == "0", "it was no true bell"
    outcome = two.outcome(two.submit(play_pb2.Command(offer=play_pb2.Offer(lot=held(two)))))
    assert (outcome.code, outcome.reason) == (NOW, "ROUND_OVER")  # B44
    for seat in seats:
        seat.close()


# -------------------------------------------------------------------- the end of a stream


def attach(table: str, token: str, **resume: Any) -> play_pb2.PlayRequest:
    request = play_pb2.PlayRequest(attach=play_pb2.Attach(table=table, seat_token=token))
    if resume:
        request.attach.resume.MergeFrom(play_pb2.Resume(**resume))
    return request


def ended(person: Person, first: bytes) -> str:
    """How a stream ends that begins with this message."""
    return repr(person.outside.send("PlayService/Play", [first], person.metadata))


def test_b54_b57_streams_that_do_not_attach(given: Given) -> None:
    ada, ben, _ = given.people
    table = given.open[0].protocol.table
    mine, other = ada.join(table).seat_token, ben.join(table).seat_token
    elsewhere = given.plain[0].protocol.table
    cases = [
        (attach(table, "garbage"), "INVALID_ARGUMENT INVALID_SEAT_TOKEN"),
        (attach(elsewhere, mine), "PERMISSION_DENIED FOREIGN_SEAT_TOKEN"),
        (attach(table, other), "PERMISSION_DENIED FOREIGN_SEAT_TOKEN"),
        (attach(table, mine, epoch=b"short", seq=1), "INVALID_ARGUMENT INVALID_FIELD"),
        (attach("tables/../x", mine), "INVALID_ARGUMENT INVALID_FIELD"),
        (play_pb2.PlayRequest(command=withdraw()), "INVALID_ARGUMENT ATTACH_EXPECTED"),
        (play_pb2.PlayRequest(), "INVALID_ARGUMENT INVALID_FIELD"),
    ]
    answers = [(ended(ada, request.SerializeToString()), expected) for request, expected in cases]
    assert [answer for answer, _ in answers] == [expected for _, expected in answers]
    assert ended(ada, b"\xff\xff") == "INVALID_ARGUMENT MALFORMED_REQUEST"


def test_b61_the_newer_stream_holds_the_seat(given: Given) -> None:
    person = given.people[0].outside.person("Dee")
    table = person.table()
    first = person.sit(table)
    second = person.sit(table)
    first.wait(lambda: first.end is not None)
    assert repr(first.end) == "ABORTED SUPERSEDED"
    assert second.end is None
    second.close()
