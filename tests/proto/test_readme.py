"""`proto/README.md` says what is true."""

import re
from pathlib import Path

from pit.v1 import play_pb2

from engine.rejections import PARAMETERS, Rejection
from services.gateway.errors import (
    DOMAIN,
    MEANINGS,
    RETRY_AFTER_MS,
    Refusal,
    Refused,
    markdown_table,
)
from services.gateway.methods import PUBLIC_FILES
from services.gateway.session import limits
from support.schema import find_message

README = Path(__file__).parents[2] / "proto" / "README.md"
BEGIN, END = "<!-- errors: begin -->", "<!-- errors: end -->"


def test_the_errors_table_is_the_one_in_force() -> None:
    _, _, rest = README.read_text().partition(BEGIN)
    printed, end, _ = rest.partition(END)
    assert end
    assert printed.strip() == markdown_table().strip()


def test_every_refusal_has_a_meaning_in_order_of_precedence() -> None:
    assert list(MEANINGS) == [*Refusal, *Rejection]


def test_every_message_can_be_filled_with_the_parameters_its_refusal_has() -> None:
    for rejection in Rejection:
        wanted = set(re.findall(r"\{(\w+)\}", MEANINGS[rejection].message))
        assert wanted <= set(PARAMETERS.get(rejection, ())), rejection


def test_waiting_helps_with_what_is_told_to_come_back() -> None:
    for refusal in RETRY_AFTER_MS:
        assert MEANINGS[refusal].code.name in {"UNAVAILABLE", "RESOURCE_EXHAUSTED"}


def test_a_status_says_reason_domain_and_parameters() -> None:
    status = Refused.by_table(Rejection.LOT_SIZE, (1, 4)).status()
    text = str(status)
    assert status.message == "a lot has 1..4 cards"
    assert b"LOT_SIZE" in status.details[0].value
    assert DOMAIN.encode() in status.details[0].value
    assert text.count("type_url") == 1


def test_every_method_and_message_named_is_in_the_schema() -> None:
    text = README.read_text()
    services = {
        service.name: {method.name for method in service.methods}
        for file in PUBLIC_FILES
        for service in file.services_by_name.values()
    }
    for service, method in re.findall(r"`(\w+Service)[./](\w+)`", text):
        assert method in services[service]
    for message, field in re.findall(r"`([A-Z]\w+)\.([a-z_]+)`", text):
        assert field in find_message(message).fields_by_name, f"{message}.{field}"


def bytes_after(heading: str) -> list[bytes]:
    """The byte listings of a section: the hexadecimal columns of each code block."""
    section = README.read_text().partition(heading)[2].partition("\n## ")[0]
    listings = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    return [
        bytes.fromhex(
            "".join(
                re.match(r"[ 0-9a-f]*", re.split(r"  (?=\S*[g-zA-Z])", line.strip())[0])[0]
                for line in each.splitlines()
            )
        )
        for each in listings
    ]


def test_the_worked_example_is_what_the_schema_says() -> None:
    asked, told = bytes_after("## One exchange of bytes")
    command = play_pb2.PlayRequest.FromString(asked).command
    assert (command.number, command.offer.lot.count) == (3, 2)
    [table] = play_pb2.PlayResponse.FromString(told).batch.tables
    [item] = table.items
    assert play_pb2.PublicItem.FromString(item.public).event.offer_opened.size == 2
    assert item.own.number == 3
    assert play_pb2.PlayResponse.FromString(told).SerializeToString() == told


def test_the_limits_are_the_ones_in_force() -> None:
    text = " ".join(README.read_text().split())
    assert f"{int(limits.PUBLIC.commands.per_s)} commands a second" in text
    for rate in (limits.PUBLIC.commands, limits.PUBLIC.table, limits.PUBLIC.address):
        assert f"bursts of {rate.burst}" in text
    assert f"{limits.PUBLIC.streams_max} streams a sign-in" in text
    assert f"{limits.IN_FLIGHT_MAX} commands in flight" in text
    assert f"{limits.QUEUE_EVENTS_MAX} items or {limits.QUEUE_BYTES_MAX // 1024} KiB" in text
