"""Who starts bots is told why none of them sits down."""

import random
from typing import Any, get_args

import pytest
from grpc import StatusCode
from structlog.testing import capture_logs

from services.bots import house as house_module
from services.bots.careful import CAREFUL
from services.bots.house import STRATEGIES, House, Manner
from services.bots.pace import MAX
from services.cli.failures import Exit
from services.cli.main import Strategy
from services.client.errors import Refused
from support.pit import Here, pit

KEYS = {"PIT_TOKEN_KEYS": "k:" + "00" * 32}


class NoExchange:
    """At whose door nobody is distrusted."""

    @property
    def channels(self) -> "NoExchange":
        return self

    async def why_not(self, target: str) -> None: ...


@pytest.mark.parametrize(
    ("code", "event", "fix"),
    [
        (StatusCode.UNAVAILABLE, "gateway_unreachable", "PIT_GATEWAY"),
        (StatusCode.UNAUTHENTICATED, "token_refused", "PIT_TOKEN_KEYS"),
    ],
)
async def test_what_goes_on_is_told_once_and_that_it_is_over(
    code: StatusCode, event: str, fix: str
) -> None:
    exchange: Any = NoExchange()
    house = House(exchange, Manner((CAREFUL,), MAX, 1.0), random.Random(1))
    with capture_logs() as told:
        await house._tell(code, "one:1", 1)  # a restart, or a token that has just expired
        assert told == []
        for tries in range(2, 5):
            for target in ("one:1", "two:2"):
                await house._tell(code, target, tries)
        assert [(line["event"], line["reason"][-5:] in "one:1 two:2") for line in told] == 2 * [
            (event, code is StatusCode.UNAVAILABLE)
        ]
        assert all(fix in line["fix"] for line in told)
        house._answered("two:2")
        house._answered("two:2")
    assert [line["event"] for line in told[2:]] == ["gateway_answers"]


class PassingTrouble:
    """Tables that are opened at the third try. As an exchange it gives new tokens."""

    def __init__(self) -> None:
        self.failures = [StatusCode.UNAVAILABLE, StatusCode.UNAUTHENTICATED]
        self.renewed = 0

    @property
    def credentials(self) -> "PassingTrouble":
        return self

    async def renew(self) -> None:
        self.renewed += 1

    async def open_one(self) -> str:
        if self.failures:
            raise Refused(self.failures.pop(), "", "not now")
        return "tables/x"


async def test_tables_are_opened_once_a_gateway_answers_and_takes_the_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(house_module, "TABLE_RETRY_S", 0.0)
    trouble: Any = PassingTrouble()
    house = House(trouble, Manner((CAREFUL,), MAX, 1.0), random.Random(1), trouble)
    await house.open_tables(1)
    assert (trouble.failures, trouble.renewed) == ([], 1)
    trouble.failures = [StatusCode.PERMISSION_DENIED]
    with pytest.raises(Refused):
        await house.open_tables(1)


def test_the_strategies_of_the_command_line_are_those_there_are() -> None:
    assert list(get_args(Strategy)) == list(STRATEGIES)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--strategy", "foo"), "'careful', 'chaser', 'random', 'mixed'"),
        (("--tables", "1", "--rules", "foo"), "there is no rule set 'foo'"),
        (("--tables", "1", "--seats", "8"), "8 seats are not possible with blitz"),
    ],
)
def test_wrong_use_is_told_before_anybody_is_asked(
    here: Here, arguments: tuple[str, ...], said: str
) -> None:
    refused = here("serve", "bots", *arguments, settings=KEYS)
    assert (refused.code, said in refused.err) == (Exit.USAGE, True), refused.err


@pytest.mark.parametrize("keys", ["k:short", "k:abcd", "garbage"])
def test_a_key_that_is_none_is_told_in_three_lines(keys: str) -> None:
    refused = pit("serve", "bots", settings={"PIT_TOKEN_KEYS": keys})
    assert refused.code == Exit.USAGE
    assert refused.err.startswith(
        "pit: the environment is not right\n  why:    PIT_TOKEN_KEYS must"
    )
    assert "Traceback" not in refused.err
