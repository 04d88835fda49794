"""The screens of `pit play` that are kept as text, and the command that writes them anew:

PYTHONPATH=.:proto:tests python -m support.play_screens
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from pit.v1 import table_pb2

from engine.cards import ONE, pack
from services.client.view import NOBODY, TableView
from services.play.guidance import Now
from services.play.hand import Choice
from services.play.model import Model
from services.play.screen import draw
from support.own_table import SECOND_US, happen, view_of

DIRECTORY: Final = Path(__file__).parents[1] / "play" / "screens"
NOW: Final = Now(10 * SECOND_US)
Told = tuple[Model, TableView, Now]


def text_of(model: Model, view: TableView, now: Now = NOW, width: int = 80) -> str:
    """The screen as it is kept: without colours, without blanks at the ends of lines."""
    lines = draw(model, view, now, width).plain.split("\n")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def opened(preset: str = "blitz") -> tuple[Model, TableView]:
    view = view_of(preset=preset)
    return Model(view), view


def trading(preset: str = "blitz") -> tuple[Model, TableView]:
    model, view = opened(preset)
    ends_at_us = 75 * SECOND_US
    exchange_opened = table_pb2.ExchangeOpened(round=2, round_ends_at_us=ends_at_us)
    happen(model, view, exchange_opened=exchange_opened)
    happen(model, view, offer_opened=table_pb2.OfferOpened(seat=1, size=2))
    happen(model, view, traded=table_pb2.Traded(seat=2, partner=1, size=2))
    own_trade = table_pb2.Traded(seat=0, partner=1, size=2)
    happen(model, view, 2 * ONE[2], 2 * ONE[3], 1, traded=own_trade)
    happen(model, view, offer_opened=table_pb2.OfferOpened(seat=3, size=1))
    happen(model, view, offer_opened=table_pb2.OfferOpened(seat=2, size=3, directed_at=3))
    return model, view


def cornered(over: bool) -> tuple[Model, TableView]:
    model, view = trading()
    corner = table_pb2.Cornered(
        seat=1,
        commodity=table_pb2.COMMODITY_RYE,
        kind=table_pb2.CORNER_KIND_EIGHT_AND_BULL,
        bull_seat=1,
        bear_seat=0,
    )
    corner.hand.counts.add(commodity=table_pb2.COMMODITY_RYE, count=8)
    corner.hand.bull = True
    happen(model, view, cornered=corner)
    points = {"deltas": [-20, 70, 0, 0], "totals": [65, 50, 0, 110]}
    happen(model, view, round_scored=table_pb2.RoundScored(round=2, **points))
    if over:
        ended = table_pb2.GameEnded(
            end=table_pb2.GAME_END_WON, places=[2, 3, 4, 1], totals=points["totals"]
        )
        happen(model, view, game_ended=ended)
    return model, view


def _trading() -> Told:
    return *trading(), NOW


def _cut() -> Told:
    return *trading(), Now(10 * SECOND_US, 3.2)


def _round_over() -> Told:
    return *cornered(over=False), NOW


def _game_over() -> Told:
    return *cornered(over=True), NOW


def _seating() -> Told:
    view = view_of(table_pb2.PHASE_SEATING, hand=0)
    view.suits, view.round = (), 0
    return Model(view), view, NOW


def _mixed() -> Told:
    """A lot of three kinds in the making, beside the open one."""
    model, view = trading("deluxe")
    offer = table_pb2.OfferOpened(seat=0, size=2)
    happen(model, view, 2 * ONE[2], number=2, offer_opened=offer)
    happen(model, view, offer_ended=table_pb2.OfferEnded(seat=3, end=1))
    model.choice = Choice(2, pack({0: 1, 2: 1, 9: 1}))
    return model, view, NOW


def _frozen() -> Told:
    model, view = trading()
    why = "a player asked for the referee"
    frozen = table_pb2.Frozen(reason=why, operator="Ann", at_us=10 * SECOND_US)
    happen(model, view, frozen=frozen)
    return model, view, Now(view.frozen_at_us)


def _voided() -> Told:
    model, view = trading()
    void = table_pb2.RoundVoid(
        round=2, deltas=[0] * 4, totals=[85, -20, 0, 110], reason="wrong rules", operator="Ann"
    )
    happen(model, view, round_void=void)
    words = table_pb2.Announcement(text="The finals begin at eight.")
    happen(model, view, announcement=words)
    return model, view, NOW


def _corrected() -> Told:
    model, view = cornered(over=True)
    adjusted = table_pb2.ScoreAdjusted(
        seat=0,
        delta=60,
        totals=[125, 50, 0, 110],
        places=[1, 3, 4, 2],
        reason="the bell was heard too late",
        operator="Ann",
    )
    happen(model, view, score_adjusted=adjusted)
    return model, view, NOW


def _watching() -> Told:
    """The same table, seen without a seat."""
    view = view_of(hand=0)
    view.seat = NOBODY
    model = Model(view)
    happen(model, view, offer_opened=table_pb2.OfferOpened(seat=1, size=2))
    happen(model, view, traded=table_pb2.Traded(seat=2, partner=1, size=2))
    happen(model, view, offer_opened=table_pb2.OfferOpened(seat=3, size=1))
    return model, view, NOW


SCREENS: Final[dict[str, Callable[[], Told]]] = {
    "seating": _seating,
    "trading": _trading,
    "mixed": _mixed,
    "cut": _cut,
    "frozen": _frozen,
    "round_over": _round_over,
    "voided": _voided,
    "game_over": _game_over,
    "corrected": _corrected,
    "watching": _watching,
}


def main() -> None:
    for name, told in SCREENS.items():
        (DIRECTORY / f"{name}.txt").write_text(text_of(*told()))


if __name__ == "__main__":
    main()
