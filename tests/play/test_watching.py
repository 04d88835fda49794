"""A spectator's few keys."""

import pytest
from pit.v1 import table_pb2

from services.client.errors import Left
from services.client.view import NOBODY
from services.play.model import Model
from services.play.watching import Spectator
from support.at_keys import FakeSeat, FakeStage
from support.own_table import happen, view_of


class FakeWatching:
    """Gives nothing more, for a reason."""

    def __aiter__(self) -> "FakeWatching":
        return self

    async def __anext__(self) -> tuple[str, object]:
        raise Left("the stream has ended")


class Watched:
    """A spectator, and what the keys did."""

    def __init__(self) -> None:
        self.view = view_of(hand=0)
        self.view.seat = NOBODY
        self.model, self.stage = Model(self.view), FakeStage()
        seat = FakeSeat(self.view)
        self.spectator = Spectator(FakeWatching(), seat, self.stage, self.model)  # type: ignore[arg-type]

    async def press(self, *keys: str) -> None:
        await self.stage.press(self.spectator, *keys)


@pytest.mark.parametrize(
    ("key", "text"), [("question_mark", "You watch:"), ("v", "Table "), ("m", "Whose words")]
)
async def test_help_rules_and_mutes_lie_over_the_table(key: str, text: str) -> None:
    watched = Watched()
    await watched.press(key)
    assert watched.stage.text.startswith(text)


async def test_every_seat_can_be_muted() -> None:
    watched = Watched()
    await watched.press("m", "0")
    assert watched.model.notice == "Ada is muted."
    called = table_pb2.Called(seat=0, phrase=table_pb2.PHRASE_HURRY)
    happen(watched.model, watched.view, called=called)
    assert not watched.model.told


async def test_other_keys_say_that_one_watches() -> None:
    watched = Watched()
    await watched.press("2")
    assert watched.model.notice.startswith("You watch")


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_q_stops_at_once(key: str) -> None:
    watched = Watched()
    await watched.press(key)
    assert watched.stage.over


@pytest.mark.parametrize(
    ("phase", "end"),
    [
        (table_pb2.PHASE_CLOSED, "The table is closed."),
        (table_pb2.PHASE_OPEN, "Nothing more to see: the stream has ended."),
    ],
)
async def test_the_end_says_why(phase: int, end: str) -> None:
    watched = Watched()
    watched.view.phase = phase
    await watched.spectator.follow()
    assert watched.model.end == end
