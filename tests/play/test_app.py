"""The terminal's part, under Textual's own headless terminal."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from engine.cards import ONE
from services.client.view import NOBODY
from services.play.app import PlayApp
from services.play.model import Model
from services.play.player import Player
from support.at_keys import FakeHouse, FakeSeat
from support.own_table import view_of


class Shown:
    """The app under a pilot, with a clock of its own."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.seat = FakeSeat(view_of())
        self.house = FakeHouse()
        model = Model(self.seat.view)
        self.app = PlayApp(
            lambda app: Player(self.seat, self.house, app, model), lambda: self.now_s
        )
        self.pilot: Pilot[None]

    def screen(self) -> str:
        return str(self.app.drawn(80, 24).plain)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()


@asynccontextmanager
async def shown() -> AsyncIterator[Shown]:
    showing = Shown()
    async with showing.app.run_test(size=(80, 24)) as pilot:
        showing.pilot = pilot
        yield showing


async def test_keys_reach_the_player_the_arrows_and_tab_too() -> None:
    async with shown() as showing:
        await showing.press("up", "tab", "2")
        assert showing.seat.acts == [("offer", 2 * ONE[3], NOBODY, False)]
        assert showing.app.person.model.notice == ""


async def test_a_text_over_the_table_takes_the_next_key() -> None:
    async with shown() as showing:
        await showing.press("question_mark", "2")
        assert showing.seat.acts == []
        await showing.press("q", "y")
        assert showing.house.asked == ["leave"]
    assert showing.app.return_code == 0


async def test_a_cut_is_shown_while_it_lasts() -> None:
    async with shown() as showing:
        showing.seat.connected = False
        assert "CONNECTION LOST 0 s ago" in showing.screen()
        showing.now_s += 3
        assert "CONNECTION LOST 3 s ago" in showing.screen()
        showing.seat.connected = True
        assert "CONNECTION LOST:" in showing.screen()  # in the log
        assert "s ago" not in showing.screen()


async def test_the_countdown_of_a_frozen_table_stands_still() -> None:
    async with shown() as showing:
        view = showing.seat.view
        view.frozen_at_us, view.frozen_reason = showing.seat.log_us, "a dispute"
        showing.seat.log_us += 30_000_000
        first_line, *rest = showing.screen().split("\n")
        assert first_line.endswith("FROZEN  ends in 1:05")
        assert any(
            line.startswith("FROZEN by an operator, nobody loses time: a dispute") for line in rest
        )
