"""What was asked for, and what no exchange could give."""

from pathlib import Path

import pytest
from grpc import StatusCode

from services.client import exchange
from services.client.errors import Refused
from services.play import main
from services.play.wish import HUMAN_PACE, Impossible, Wish, impossible, switched, table_name

HERE = "127.0.0.1:7700"


def test_switches_override_the_preset_each_by_its_kind() -> None:
    message = switched(("target=70", "mixed_lots=yes", "below_zero=no"))
    assert (message.target, message.mixed_lots, message.below_zero) == (70, True, False)
    assert message.HasField("below_zero")
    assert not message.HasField("idle_s")


@pytest.mark.parametrize("switch", ["speed=9", "", "=5", "deck=x", "Target=5", "target =5"])
def test_an_unknown_switch_is_told_with_all_that_there_are(switch: str) -> None:
    with pytest.raises(Impossible, match="there is no switch") as told:
        switched((switch,))
    assert switch in told.value.what
    assert "idle_s" in told.value.remedy


@pytest.mark.parametrize(
    ("switch", "remedy"),
    [
        ("target", "such as target="),
        ("target=much", "such as target="),
        ("target=99999999999", "such as target="),
        ("target=-99999999999", "such as target="),
        ("target=1.5", "such as target="),
        ("idle_s=" + "9" * 5_000, "such as idle_s="),
        ("mixed_lots=1", "give mixed_lots=yes or mixed_lots=no"),
        ("below_zero", "give below_zero=yes or below_zero=no"),
    ],
)
def test_a_wrong_value_of_a_switch_is_told_as_such(switch: str, remedy: str) -> None:
    """Not that the switch is none: it stands in the list of them."""
    with pytest.raises(Impossible, match="is no value of") as told:
        switched((switch,))
    assert told.value.remedy.startswith(remedy)
    switched((told.value.remedy.removeprefix("such as ").removeprefix("give ").split()[0],))


@pytest.mark.parametrize(
    "wish",
    [
        Wish(HERE, seat=3),
        Wish(HERE, seat=0, new=True),
        Wish(HERE, seat=0, rules="blitz"),
        Wish(HERE, seat=1, watch="t"),
        Wish(HERE, seat=1, transfer="c"),
    ],
)
def test_a_seat_at_no_table_is_refused(wish: Wish) -> None:
    with pytest.raises(Impossible, match=f"--seat {wish.seat}") as told:
        wish.check()
    assert "--table" in told.value.remedy
    Wish(HERE, seat=3, table="t").check()
    Wish(HERE, seat=0, code="c").check()


@pytest.mark.parametrize(
    ("wish", "switches"),
    [
        (Wish(HERE), HUMAN_PACE),
        (Wish(HERE, switches=("target=70",)), (*HUMAN_PACE, "target=70")),
        (Wish(HERE, rules="blitz"), ()),
        (Wish(HERE, rules="classic", human_pace=True), HUMAN_PACE),
    ],
)
def test_who_names_no_rules_is_not_hurried(wish: Wish, switches: tuple[str, ...]) -> None:
    assert wish.all_switches == switches


def test_own_words_come_last_and_win() -> None:
    assert switched(Wish(HERE, switches=("idle_s=9",)).all_switches).idle_s == 9


@pytest.mark.parametrize(
    ("wish", "opens"),
    [
        (Wish(HERE), False),
        (Wish(HERE, new=True), True),
        (Wish(HERE, rules="classic"), True),
        (Wish(HERE, private=True), True),
        (Wish(HERE, table="t"), False),
        (Wish(HERE, watch="t"), False),
    ],
)
def test_what_describes_a_table_wants_a_new_one(wish: Wish, opens: bool) -> None:
    wish.check()
    assert wish.opens is opens


@pytest.mark.parametrize(
    "wish",
    [
        Wish(HERE, table="t", new=True),
        Wish(HERE, code="c", seats=5),
        Wish(HERE, watch="t", table="t"),
        Wish(HERE, transfer="c", private=True),
    ],
)
def test_two_things_at_once_are_refused(wish: Wish) -> None:
    with pytest.raises(Impossible, match="one thing at a time"):
        wish.check()


def test_an_unknown_preset_is_told_with_all_that_there_are() -> None:
    with pytest.raises(Impossible) as told:
        Wish(HERE, rules="chess").check()
    assert "household" in told.value.remedy


def test_a_table_may_be_named_with_or_without_its_kind() -> None:
    assert table_name("01abc") == table_name("tables/01abc") == "tables/01abc"


def test_an_exchange_that_does_not_answer_is_told_apart_from_one_that_refuses() -> None:
    assert impossible(HERE, Refused(StatusCode.UNAVAILABLE, "", "")).unreachable
    refused = impossible(HERE, Refused(StatusCode.ALREADY_EXISTS, "SEAT_TAKEN", "seat taken"))
    assert not refused.unreachable
    assert refused.remedy == "give another --seat, or none"


@pytest.mark.timeout(30)
def test_that_nobody_is_there_is_said_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not after the patience of a game in progress."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(exchange, "CALL_PATIENCE_S", 3_600.0)
    monkeypatch.setattr(main, "ARRIVAL_PATIENCE_S", 0.0)
    with pytest.raises(Impossible, match="no exchange answers") as told:
        main.play(Wish("127.0.0.1:1"))
    assert told.value.unreachable
