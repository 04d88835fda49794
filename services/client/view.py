"""A table as one seat knows it: a snapshot, kept up to date by events.

The view holds only what the exchange has told this seat. It decides nothing: `apply` takes the
events in their gap-free order and changes what they say.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pit.v1 import table_pb2

from engine.cards import NO_CARDS
from engine.rules import Rules
from services.client.deck import Deck, deck_of
from services.client.rules import rules_of

NOBODY = -1

_NO_CARDS = table_pb2.Cards()


class GapInEvents(Exception):
    """An event is missing: the exchange broke its promise of gap-free numbers."""


class SeatView:
    """One seat, as everybody sees it. Log times in microseconds, 0 for none."""

    __slots__ = (
        "away_until_us",
        "bot",
        "bot_wanted",
        "cards",
        "display_name",
        "dropped",
        "forfeited",
        "offer_directed_at",
        "offer_ends_at_us",
        "offer_size",
        "person",
        "place",
        "plays_again",
        "ready",
        "score",
    )

    def __init__(self, shown: table_pb2.SeatState) -> None:
        self.person = shown.person
        self.display_name = shown.display_name
        self.bot = shown.bot
        self.bot_wanted = shown.bot_wanted
        self.dropped = shown.dropped
        self.forfeited = shown.forfeited
        self.away_until_us = shown.away_until_us
        self.ready: set[int] = set(shown.ready)
        self.score = shown.score
        self.cards = shown.cards
        self.offer_size = shown.offer_size
        self.offer_directed_at = (
            shown.offer_directed_at if shown.HasField("offer_directed_at") else NOBODY
        )
        self.offer_ends_at_us = shown.offer_ends_at_us
        self.place = shown.place
        """When the game is over: 1 for the winner; 0 before, and for a seat that does not play. A
        correction of the score may change it."""
        self.plays_again = shown.plays_again

    def open_offer(self, size: int, directed_at: int, ends_at_us: int) -> None:
        self.offer_size = size
        self.offer_directed_at = directed_at
        self.offer_ends_at_us = ends_at_us

    def end_offer(self) -> None:
        self.offer_size = 0
        self.offer_directed_at = NOBODY
        self.offer_ends_at_us = 0


class Told:
    """What was said at the table since the view began. A snapshot does not say it again."""

    __slots__ = ("announcement", "void_reason")

    def __init__(self) -> None:
        self.void_reason = ""
        """Why an operator voided the last round; empty where it was not voided by one."""
        self.announcement: table_pb2.Announcement | None = None
        """The newest one."""


class TableView:
    """The table, and the own hand as packed counts (`engine.cards`)."""

    __slots__ = (
        "bell_locked_until_us",
        "commitment",
        "dealer",
        "deck",
        "display_name",
        "frozen_at_us",
        "frozen_reason",
        "hand",
        "name",
        "next_deal_at_us",
        "offer_lot",
        "opens_at_us",
        "owner",
        "phase",
        "rematch_table",
        "rematch_until_us",
        "round",
        "round_ends_at_us",
        "rule_set",
        "rules",
        "seat",
        "seats",
        "seq",
        "start_at_s",
        "suits",
        "told",
    )

    def __init__(self, snapshot: table_pb2.Snapshot) -> None:
        self.name = snapshot.table
        self.seq = snapshot.seq
        self.phase: int = snapshot.phase
        self.rule_set = snapshot.rule_set
        self.rules: Rules = rules_of(snapshot.rule_set)
        self.deck: Deck = deck_of(snapshot.rule_set)
        self.display_name = snapshot.display_name
        self.owner = snapshot.owner
        self.seats = [SeatView(shown) for shown in snapshot.seats]
        self.round = snapshot.round
        self.dealer = snapshot.dealer if snapshot.HasField("dealer") else NOBODY
        self.suits = self.deck.lanes(snapshot.suits)
        self.commitment = snapshot.commitment
        self.opens_at_us = snapshot.opens_at_us
        self.round_ends_at_us = snapshot.round_ends_at_us
        self.next_deal_at_us = snapshot.next_deal_at_us
        self.frozen_at_us = snapshot.frozen_at_us
        """Since when the table's time stands still, 0 while it goes on. See `remaining_us`."""
        self.frozen_reason = snapshot.frozen_reason
        self.start_at_s = snapshot.start_at.seconds
        """Wall time at which the game is to start; 0 where its players start it."""
        self.rematch_until_us = snapshot.rematch_until_us
        """When the vote on a rematch ends; 0 while there is none."""
        self.rematch_table = snapshot.rematch_table
        """Where those who play again go on; empty unless it was agreed."""
        self.seat = snapshot.seat if snapshot.HasField("seat") else NOBODY
        self.hand = self.deck.pack(snapshot.hand)
        """Own cards, those in the own open offer included."""
        self.offer_lot = self.deck.pack(snapshot.offer_lot)
        self.bell_locked_until_us = snapshot.bell_locked_until_us
        self.told = Told()

    def remaining_us(self, deadline_us: int, log_us: int) -> int:
        """What remains of a deadline of this table: it stands still while the table is frozen."""
        return max(0, deadline_us - (self.frozen_at_us or log_us))

    def apply(
        self,
        event: table_pb2.Event,
        received: table_pb2.Cards = _NO_CARDS,
        given: table_pb2.Cards = _NO_CARDS,
    ) -> None:
        """Take the next event, with the cards that only this seat is shown beside it."""
        if event.seq != self.seq + 1:
            raise GapInEvents(f"{self.name}: event {event.seq} after {self.seq}")
        self.seq = event.seq
        kind = event.WhichOneof("kind")
        change = _CHANGES.get(kind) if kind is not None else None
        if change is not None:  # an event of a later version of the exchange changes nothing here
            change(self, getattr(event, kind), received, given)  # type: ignore[arg-type]

    # ------------------------------------------------------------------ seats

    def _seat_taken(self, event: table_pb2.SeatTaken, *_: object) -> None:
        seat = self.seats[event.seat]
        seat.person, seat.display_name = event.person, event.display_name

    def _seat_left(self, event: table_pb2.SeatLeft, *_: object) -> None:
        seat = self.seats[event.seat]
        seat.person = seat.display_name = ""
        seat.plays_again = False
        seat.away_until_us = 0
        if not seat.bot:
            seat.ready.clear()

    def _owner_changed(self, event: table_pb2.OwnerChanged, *_: object) -> None:
        self.owner = event.person

    def _seat_away(self, event: table_pb2.SeatAway, *_: object) -> None:
        seat = self.seats[event.seat]
        seat.away_until_us = event.until_us
        if not seat.bot:
            seat.ready.clear()

    def _seat_back(self, event: table_pb2.SeatBack, *_: object) -> None:
        seat = self.seats[event.seat]
        seat.away_until_us = 0
        seat.bot = seat.bot_wanted = False

    def _bot_wanted(self, event: table_pb2.BotWanted, *_: object) -> None:
        seat = self.seats[event.seat]
        seat.bot, seat.bot_wanted = False, True
        seat.away_until_us = 0

    def _bot_seated(self, event: table_pb2.BotSeated, *_: object) -> None:
        seat = self.seats[event.seat]
        seat.bot, seat.bot_wanted = True, False

    def _seat_forfeited(self, event: table_pb2.SeatForfeited, *_: object) -> None:
        seat = self.seats[event.seat]
        seat.forfeited = True
        seat.away_until_us = 0

    def _seats_dropped(self, event: table_pb2.SeatsDropped, *_: object) -> None:
        for seat in event.seats:
            self.seats[seat].dropped = True

    def _ready_given(self, event: table_pb2.ReadyGiven, *_: object) -> None:
        self.seats[event.seat].ready.add(event.ready_for)

    # ------------------------------------------------------------------ a round

    def _committed(self, event: table_pb2.Committed, *_: object) -> None:
        self.commitment = event.commitment
        self.next_deal_at_us = event.next_deal_at_us

    def _start_called(self, *_: object) -> None:
        self.start_at_s = 0

    def _dealt(self, event: table_pb2.Dealt, received: table_pb2.Cards, *_: object) -> None:
        self.phase = table_pb2.PHASE_SORTING
        self.start_at_s = 0
        self.told.void_reason = ""
        self.round = event.round
        self.dealer = event.dealer
        self.suits = self.deck.lanes(event.suits)
        self.opens_at_us = event.opens_at_us
        self.round_ends_at_us = self.next_deal_at_us = 0
        self.bell_locked_until_us = 0
        self.hand = self.deck.pack(received)
        self._clear_offers()
        for seat in self.seats:
            seat.ready.clear()
        for seat, cards in zip(self.seats, event.cards, strict=False):
            seat.cards = cards

    def _exchange_opened(self, event: table_pb2.ExchangeOpened, *_: object) -> None:
        self.phase = table_pb2.PHASE_OPEN
        self.round_ends_at_us = event.round_ends_at_us
        for seat in self.seats:
            seat.ready.clear()

    def _offer_opened(
        self, event: table_pb2.OfferOpened, received: table_pb2.Cards, *_: object
    ) -> None:
        directed_at = event.directed_at if event.HasField("directed_at") else NOBODY
        self.seats[event.seat].open_offer(event.size, directed_at, event.ends_at_us)
        if event.seat == self.seat:
            self.offer_lot = self.deck.pack(received)

    def _offer_ended(self, event: table_pb2.OfferEnded, *_: object) -> None:
        self.seats[event.seat].end_offer()
        if event.seat == self.seat:
            self.offer_lot = NO_CARDS

    def _traded(
        self, event: table_pb2.Traded, received: table_pb2.Cards, given: table_pb2.Cards
    ) -> None:
        self.seats[event.seat].end_offer()
        self.seats[event.partner].end_offer()
        if self.seat in (event.seat, event.partner):
            self.offer_lot = NO_CARDS
            self.hand += self.deck.pack(received) - self.deck.pack(given)

    def _bell_refused(self, event: table_pb2.BellRefused, *_: object) -> None:
        self.seats[event.seat].score -= event.fine
        if event.seat == self.seat:
            self.bell_locked_until_us = event.locked_until_us

    def _round_void(self, event: table_pb2.RoundVoid, *_: object) -> None:
        self.told.void_reason = event.reason
        self._round_over(event)

    def _round_over(self, event: table_pb2.RoundScored | table_pb2.RoundVoid, *_: object) -> None:
        self.phase = table_pb2.PHASE_BETWEEN
        self.round_ends_at_us = 0
        self._set_scores(event.totals)
        self._clear_offers()
        for seat in self.seats:
            seat.ready.clear()

    def _game_ended(self, event: table_pb2.GameEnded, *_: object) -> None:
        self.phase = table_pb2.PHASE_ENDED
        self.opens_at_us = self.round_ends_at_us = self.next_deal_at_us = 0
        self._set_places(event.places)
        self._set_scores(event.totals)
        self._clear_offers()
        for seat in self.seats:
            seat.away_until_us = 0
            seat.bot_wanted = False

    def _rematch_voted(self, event: table_pb2.RematchVoted, *_: object) -> None:
        self.seats[event.seat].plays_again = event.yes
        self.rematch_until_us = event.until_us

    def _rematch_agreed(self, event: table_pb2.RematchAgreed, *_: object) -> None:
        self.rematch_until_us = 0
        self.rematch_table = event.table

    def _rematch_failed(self, *_: object) -> None:
        self.rematch_until_us = 0
        for seat in self.seats:
            seat.plays_again = False

    def _table_closed(self, *_: object) -> None:
        self.phase = table_pb2.PHASE_CLOSED
        self.rematch_until_us = 0
        self.frozen_at_us, self.frozen_reason = 0, ""

    # ------------------------------------------------------------------ an operator's acts

    def _frozen(self, event: table_pb2.Frozen, *_: object) -> None:
        self.frozen_at_us, self.frozen_reason = event.at_us, event.reason

    def _resumed(self, event: table_pb2.Resumed, *_: object) -> None:
        """All that waits goes on as if no time had passed."""
        self.frozen_at_us, self.frozen_reason = 0, ""
        _later(self, _TABLE_TIMES, event.frozen_us)
        for seat in self.seats:
            _later(seat, _SEAT_TIMES, event.frozen_us)

    def _score_adjusted(self, event: table_pb2.ScoreAdjusted, *_: object) -> None:
        self._set_scores(event.totals)
        self._set_places(event.places)

    def _announcement(self, event: table_pb2.Announcement, *_: object) -> None:
        self.told.announcement = event

    def _set_places(self, places: Sequence[int]) -> None:
        """Of a game that is over; of one that goes on there are none."""
        for seat, place in zip(self.seats, places, strict=False):
            seat.place = place

    def _set_scores(self, totals: Sequence[int]) -> None:
        for seat, total in zip(self.seats, totals, strict=False):
            seat.score = total

    def _clear_offers(self) -> None:
        self.offer_lot = NO_CARDS
        for seat in self.seats:
            seat.end_offer()


_TABLE_TIMES: Final = (
    "opens_at_us", "round_ends_at_us", "next_deal_at_us", "bell_locked_until_us",
    "rematch_until_us",
)  # fmt: skip
_SEAT_TIMES: Final = ("away_until_us", "offer_ends_at_us")
"""Log times; 0 in them is no time."""


def _later(thing: TableView | SeatView, times: tuple[str, ...], by_us: int) -> None:
    for name in times:
        if at_us := getattr(thing, name):
            setattr(thing, name, at_us + by_us)


_CHANGES: dict[str, Callable[..., None]] = {
    "seat_taken": TableView._seat_taken,
    "seat_left": TableView._seat_left,
    "owner_changed": TableView._owner_changed,
    "seat_away": TableView._seat_away,
    "seat_back": TableView._seat_back,
    "bot_wanted": TableView._bot_wanted,
    "bot_seated": TableView._bot_seated,
    "seat_forfeited": TableView._seat_forfeited,
    "seats_dropped": TableView._seats_dropped,
    "ready_given": TableView._ready_given,
    "committed": TableView._committed,
    "dealt": TableView._dealt,
    "start_called": TableView._start_called,
    "exchange_opened": TableView._exchange_opened,
    "offer_opened": TableView._offer_opened,
    "offer_ended": TableView._offer_ended,
    "traded": TableView._traded,
    "bell_refused": TableView._bell_refused,
    "round_scored": TableView._round_over,
    "round_void": TableView._round_void,
    "game_ended": TableView._game_ended,
    "rematch_voted": TableView._rematch_voted,
    "rematch_agreed": TableView._rematch_agreed,
    "rematch_failed": TableView._rematch_failed,
    "table_closed": TableView._table_closed,
    "score_adjusted": TableView._score_adjusted,
    "frozen": TableView._frozen,
    "resumed": TableView._resumed,
    "announcement": TableView._announcement,
}
