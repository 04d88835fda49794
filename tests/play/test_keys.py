"""Keys through Textual's own headless terminal."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from pit.v1 import table_pb2
from textual.pilot import Pilot

from engine.cards import BEAR, ONE, pack
from services.client.errors import Superseded
from services.client.happenings import Rejected
from services.client.view import NOBODY
from services.play.app import PlayApp
from support.own_table import FakeSeat, happen, view_of


class Played:
    """The app under a pilot, and what it did."""

    def __init__(self, seat: FakeSeat) -> None:
        self.seat = seat
        self.other = FakeSeat(view_of())
        self.started = self.left = 0
        self.app = PlayApp(seat, self._start, self._leave, self._take_back)
        self.pilot: Pilot[None]

    async def _start(self) -> None:
        self.started += 1

    async def _leave(self) -> None:
        self.left += 1

    async def _take_back(self) -> FakeSeat:
        return self.other

    @property
    def notice(self) -> str:
        return self.app.model.notice

    def screen(self) -> str:
        return str(self.app.drawn(80, 24).plain)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()


@asynccontextmanager
async def played(
    phase: int = table_pb2.PHASE_OPEN, hand: int | None = None
) -> AsyncIterator[Played]:
    view = view_of(phase) if hand is None else view_of(phase, hand=hand)
    playing = Played(FakeSeat(view))
    async with playing.app.run_test(size=(80, 24)) as pilot:
        playing.pilot = pilot
        yield playing


async def test_a_number_calls_so_many_of_the_chosen() -> None:
    async with played() as playing:
        await playing.press("d", "3", "f", "2")
        assert playing.seat.acts == [
            ("offer", 3 * ONE[2], NOBODY, False),
            ("offer", 2 * ONE[3], NOBODY, False),
        ]


async def test_arrows_choose_and_the_bear_goes_along() -> None:
    async with played() as playing:
        await playing.press("down", "e", "2")
        assert playing.seat.acts == [("offer", ONE[2] + ONE[BEAR], NOBODY, False)]
        await playing.press("e")
        assert not playing.app.model.choice.bear


async def test_too_many_is_said_and_not_sent() -> None:
    async with played() as playing:
        await playing.press("f", "4")
        assert playing.seat.acts == []
        assert playing.notice.startswith("You hold 2 rye")


async def test_enter_answers_the_marked_offer_and_tab_marks_another() -> None:
    async with played() as playing:
        model, view = playing.app.model, playing.seat.view
        happen(model, view, offer_opened=table_pb2.OfferOpened(seat=1, size=2))
        happen(model, view, offer_opened=table_pb2.OfferOpened(seat=3, size=1))
        await playing.press("d", "enter", "tab", "enter")
        assert playing.seat.acts == [
            ("offer", 2 * ONE[2], 1, True),
            ("offer", ONE[2], 3, True),
        ]


async def test_an_offer_too_large_to_answer_is_named() -> None:
    async with played() as playing:
        happen(
            playing.app.model,
            playing.seat.view,
            offer_opened=table_pb2.OfferOpened(seat=1, size=4),
        )
        await playing.press("f", "enter")
        assert playing.seat.acts == []
        assert playing.notice == (
            "Bo holds up 4. You hold 2 rye, not 4 rye: choose corn with the arrows."
        )


async def test_enter_without_an_offer_says_so() -> None:
    async with played() as playing:
        await playing.press("enter")
        assert playing.seat.acts == []
        assert "No open offer" in playing.notice


async def test_a_lost_race_is_explained() -> None:
    async with played() as playing:
        happen(
            playing.app.model,
            playing.seat.view,
            offer_opened=table_pb2.OfferOpened(seat=1, size=1),
        )
        playing.seat.answer = Rejected(9, "NO_PARTNER", {}, "no partner")
        await playing.press("d", "enter")
        assert playing.notice.startswith("Too late: that offer is gone")


async def test_space_rings_only_with_a_corner_and_says_what_is_claimed() -> None:
    async with played() as playing:
        await playing.press("space")
        assert playing.seat.acts == []
        assert "No corner yet" in playing.notice
        playing.seat.view.hand = pack({3: 9})
        assert "SPACE RINGS THE BELL: corner on rye: nine, 70 points" in playing.screen()
        await playing.press("space")
        assert playing.seat.acts == [("bell", 3)]


async def test_w_takes_back() -> None:
    async with played() as playing:
        await playing.press("w")
        assert playing.seat.acts == [("withdraw",)]


@pytest.mark.parametrize(
    ("phase", "ready_for"),
    [
        (table_pb2.PHASE_SORTING, table_pb2.READY_FOR_OPEN),
        (table_pb2.PHASE_BETWEEN, table_pb2.READY_FOR_NEXT),
    ],
)
async def test_r_is_ready_for_what_comes_next(phase: int, ready_for: int) -> None:
    async with played(phase) as playing:
        await playing.press("r", "2")
        assert playing.seat.acts == [("ready", ready_for)]
        assert playing.notice  # trading is not open: said, not sent


async def test_r_starts_the_own_table() -> None:
    async with played(table_pb2.PHASE_SEATING) as playing:
        await playing.press("r")
        assert (playing.started, playing.seat.acts) == (1, [])


async def test_help_is_over_the_table_and_swallows_the_key_that_closes_it() -> None:
    async with played() as playing:
        await playing.press("question_mark", "2")
        assert playing.seat.acts == []
        await playing.press("d", "2")
        assert len(playing.seat.acts) == 1


async def test_q_asks_before_a_seat_is_given_up() -> None:
    async with played() as playing:
        await playing.press("q", "n")
        assert (playing.left, playing.notice) == (0, "You stay.")
        await playing.press("q", "y")
        assert playing.left == 1
    assert playing.app.return_code == 0


async def test_q_after_the_game_only_quits() -> None:
    async with played(table_pb2.PHASE_ENDED) as playing:
        await playing.press("q")
    assert playing.left == 0


async def test_a_cut_is_shown_while_it_lasts() -> None:
    async with played() as playing:
        playing.seat.connected = False
        assert "CONNECTION LOST 0 s ago" in playing.screen()
        playing.seat.connected = True
        assert "CONNECTION LOST:" in playing.screen()  # in the log
        assert "s ago" not in playing.screen()


async def test_r_takes_the_seat_back_from_a_stand_in() -> None:
    async with played() as playing:
        playing.seat.view.seats[0].bot = True
        playing.seat.tell(Superseded("SUPERSEDED"))
        await until(playing, lambda: playing.app.model.retakable)
        await playing.press("d", "1")
        assert playing.seat.acts == []
        await playing.press("r", "d", "1")
        assert playing.other.acts == [("offer", ONE[2], NOBODY, False)]


async def until(playing: Played, true: Callable[[], bool]) -> None:
    for _ in range(50):
        if true():
            return
        await playing.pilot.pause()
    raise AssertionError("it never became true")
