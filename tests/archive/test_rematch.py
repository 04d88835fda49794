"""A vote on a rematch in a game's records."""

import pytest

from engine import events as e
from services.archive.rematch import VOTE_MS, RematchVote

T = 1_000
UNTIL = T + VOTE_MS
YES, NO = e.RematchVoted(0, True, UNTIL, T), e.RematchVoted(1, False, UNTIL, T + 1)
AGREED, FAILED = e.RematchAgreed("t", T + 2), e.RematchFailed(T + 2)
LEFT, OWNER = e.SeatLeft(1, T + 1), e.OwnerChanged("p")


def problems(*happened: e.Event, ended: bool = True) -> list[str]:
    vote = RematchVote()
    return [text for event in happened for text in vote.problems(event, ended=ended)]


@pytest.mark.parametrize(
    "happened",
    [
        (YES, e.RematchVoted(1, True, UNTIL, T + 1), AGREED),
        (YES, NO, FAILED, YES, AGREED),
        (YES, LEFT, OWNER, FAILED),
        (YES, e.RematchFailed(UNTIL)),
        (YES, e.Thawed("ann", 500, T + 600), e.RematchFailed(UNTIL + 500)),
        (YES, e.TableClosed(T + 5, "a reason", "ann")),
        (LEFT, OWNER, YES),
    ],
)
def test_as_it_should_be(happened: tuple[e.Event, ...]) -> None:
    assert problems(*happened) == []


@pytest.mark.parametrize(
    ("happened", "words"),
    [
        ((NO, FAILED), "wrong time"),
        ((e.RematchVoted(0, True, UNTIL + 1, T),), "end when it should"),
        ((YES, e.RematchVoted(1, True, UNTIL + 1, T + 1)), "end when it should"),
        ((AGREED,), "without a vote"),
        ((YES, NO, AGREED), "goes on after a no"),
        ((YES, LEFT, AGREED), "goes on after a no"),
        ((FAILED,), "without a reason"),
        ((YES, e.RematchFailed(UNTIL - 1)), "without a reason"),
        ((YES, e.Thawed("ann", 500, T + 600), e.RematchFailed(UNTIL)), "without a reason"),
    ],
)
def test_what_cannot_be(happened: tuple[e.Event, ...], words: str) -> None:
    assert any(words in text for text in problems(*happened))


def test_no_vote_before_the_end_of_the_game() -> None:
    assert problems(YES, ended=False) == ["a vote on a rematch at a wrong time"]
