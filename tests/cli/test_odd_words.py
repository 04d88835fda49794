"""Words that are typed wrongly end with words, never with a traceback."""

import pytest

from services.cli.failures import Exit
from support.pit import Here

TOKEN = {"PIT_OPERATOR_TOKEN": "t"}
NOWHERE = ("--target", "127.0.0.1:1")
TABLE = "00" + "a" * 20
PERSON = "p" + "a" * 20
WHY = ("--reason", "why")


@pytest.mark.parametrize("token", ["one\ntwo", "ü", "two words", "a\x7f", "'t'"])
def test_what_is_no_token_is_told_so(here: Here, token: str) -> None:
    refused = here("shard", "list", *NOWHERE, settings={"PIT_OPERATOR_TOKEN": token})
    assert refused.code == Exit.USAGE
    assert "PIT_OPERATOR_TOKEN" in refused.err
    assert "pit token operator" in refused.err


def test_a_token_that_is_no_text_is_told_so(here: Here) -> None:
    refused = here("shard", "list", *NOWHERE, settings={"PIT_OPERATOR_TOKEN": "\udcff"})
    assert refused.code == Exit.USAGE
    assert "PIT_OPERATOR_TOKEN is not UTF-8" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("operate", "freeze", TABLE, "--reason", "\udcff"),
        ("operate", "announce", "\udcff"),
        ("operate", "find", "\udcff"),
        ("operate", "rename", PERSON, "\udcff", *WHY),
        ("operate", "create", "--count", "1", "--name", "\udcff"),
        ("operate", "create", "--count", "1", "--start-at", "0001-01-01T00:00+14:00"),
        ("operate", "create", "--count", "1", "--start-at", "9999-12-31T23:59-14:00"),
        ("operate", "freeze", TABLE, *WHY, "--request-id", "12"),
        ("operate", "freeze", TABLE, *WHY, "--request-id", "g" * 32),
        ("operate", "ban", "nope", *WHY),
        ("operate", "ban", "people/" + "o" + "a" * 20, *WHY),
        ("audit", "--since", "9999999d"),
        ("results", "--since", "soon"),
    ],
)
def test_a_word_that_cannot_be_sent_is_refused_before_anything_is(
    here: Here, arguments: tuple[str, ...]
) -> None:
    refused = here(*arguments, settings=TOKEN)
    assert refused.code == Exit.USAGE, refused.err


@pytest.mark.parametrize("since", ["999999d", "999999h", "0s"])
def test_the_audit_goes_back_no_further_than_time(here: Here, since: str) -> None:
    refused = here("audit", "--since", since, *NOWHERE, settings=TOKEN)
    assert (refused.code, "nobody answers" in refused.err) == (Exit.UNREACHABLE, True), refused.err
