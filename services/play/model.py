"""What the person at the terminal has been told and has marked, beside the view of the table.

No terminal and no network here: happenings and keys come in, the screen is drawn from it.
"""

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Final

from pit.v1 import play_pb2, table_pb2

from engine.cards import NO_CARDS
from engine.value import value
from services.client.errors import ClientError, Refused, Superseded
from services.client.happenings import (
    Happened,
    Happening,
    Outcome,
    Rejected,
    Started,
    Unknown,
    WasReset,
)
from services.client.muted import Muted
from services.client.view import NOBODY, TableView
from services.play import result, story, words
from services.play.hand import Choice, answerable, first_choice, plain, still_held
from services.play.result import NO_RESULT, Result

LINES_KEPT: Final = 20_000
"""Several whole games."""
GONE_US: Final = 2_000_000
NOTICE_US: Final = 8_000_000
SEEN_AFTER_US: Final = 700_000
"""A person needs about so long to see a change and to hold back a key."""
RESETS: Final[dict[int, str]] = {
    play_pb2.RESET_REASON_HISTORY: "The exchange's store lost its last moments.",
    play_pb2.RESET_REASON_GAP: "You missed too much to be told all of it.",
    play_pb2.RESET_REASON_DIVERGED: "This program and the exchange disagreed.",
}


class Weight(IntEnum):
    """How much a line means to the reader."""

    PASSING = 0
    """Seen on the table anyway: others' offers."""
    OTHERS = 1
    OWN = 2
    ROUND = 3
    """How the round goes: dealt, open, the bell, the score."""
    NEWS = 4
    """From the exchange and its operators."""


@value
class Change:
    """What the own hand gave and got last."""

    at_us: int = 0
    gave: int = NO_CARDS
    got: int = NO_CARDS


@value
class Line:
    """A line of the log."""

    at_us: int
    """Log time."""
    text: str
    weight: "Weight"


class Model:
    """Everything on the screen that is not in the `TableView`."""

    def __init__(self, view: TableView) -> None:
        self.told: list[Line] = []
        """Everything that was told, oldest first."""
        self.listener: Callable[[Line], None] | None = None
        """Who is given each line as it is told."""
        self._notice = ""
        self._noticed_at_us = 0
        self.choice: Choice = first_choice(view)
        self.result: Result = NO_RESULT
        self.changed = Change()
        self.moved_at_us = 0
        """Log time of the last act that counts against idleness."""
        self.end = ""
        """Why nothing more will come."""
        self.retakable = False
        """Whether the seat can be taken back from who has it now."""
        self.kept = False
        """Whether the person left, but keeps the seat."""
        self.muted = Muted()
        self._order: list[int] = []
        """Seats with open offers, oldest first."""
        self._aimed = NOBODY
        self._aimed_size = 0
        self._aim_moved_at_us = -SEEN_AFTER_US
        """When another offer slipped under the finger, of another size than the one before."""
        self._gone = NOBODY, 0
        self.last_round = ""
        """The round before, in a few words."""
        self.refresh(view)

    @property
    def notice(self) -> str:
        """The answer to the last key, where it needs one."""
        return self._notice

    @notice.setter
    def notice(self, text: str) -> None:
        self._notice, self._noticed_at_us = text, 0

    def age(self, log_us: int) -> None:
        """Let go of what was said some time ago: it need not be true any more."""
        if self._notice and not self._noticed_at_us:
            self._noticed_at_us = log_us
        elif log_us - self._noticed_at_us > NOTICE_US:
            self.notice = ""

    def refresh(self, view: TableView) -> None:
        """Start anew from a snapshot."""
        self._order = [seat for seat, shown in enumerate(view.seats) if shown.offer_size]
        self.choice = still_held(view, self.choice)

    def begin(self, view: TableView, log_us: int) -> None:
        """Another game, at another table, of the same people."""
        self.result, self.changed, self.last_round = NO_RESULT, Change(), ""
        self.end, self.retakable, self.notice = "", False, ""
        self.refresh(view)
        self.say(f"Another game: you sit at {view.name}, seat {view.seat}", log_us, Weight.ROUND)

    def taken_back(self, view: TableView, log_us: int) -> None:
        """The seat is held here again, after a stand-in or another device had it."""
        self.end, self.retakable = "", False
        self.refresh(view)
        self.moved_at_us = log_us
        self.say("You have your seat again", log_us)
        if view.phase == table_pb2.PHASE_ENDED and not self.result.places:
            self.say(f"The game ended meanwhile: {story.standing(view)}", log_us, Weight.ROUND)

    # ------------------------------------------------------------------ from the exchange

    def take(self, happening: Happening, view: TableView, log_us: int) -> None:
        """Something happened; the view holds it already."""
        if isinstance(happening, Happened):
            self._take_event(happening, view, log_us)
        elif isinstance(happening, Started) and happening.resumed:
            self.say("Connected again: nothing was missed, what happened meanwhile follows", log_us)
        elif isinstance(happening, WasReset):
            self._was_reset(happening, view, log_us)

    def newest(self, others: int) -> Iterator[Line]:
        """What matters, newest first; of what others did among themselves so many lines, so that
        the own ones of the last moments stay."""
        for line in reversed(self.told):
            if line.weight == Weight.OTHERS:
                others -= 1
            if line.weight >= Weight.OWN or (line.weight == Weight.OTHERS and others >= 0):
                yield line

    def lost(self, error: ClientError, view: TableView) -> None:
        """Nothing more will come from the seat, or not until it is taken back."""
        if isinstance(error, Superseded):
            self.superseded(view)
        elif isinstance(error, Refused):
            gone = error.reason == "TABLE_CLOSED"
            told = words.refusal(error.reason, {}, error.message)
            self.end = "The table is closed." if gone else told
        else:
            self.end = f"The seat is lost: {error}."

    def superseded(self, view: TableView) -> None:
        """The seat is held by somebody else: by a stand-in, or by another device."""
        own = view.seats[view.seat]
        if not own.person:
            self.end = "You do not sit at this table any more."
            return
        if own.bot or own.bot_wanted or own.away_until_us:
            self.end = "A stand-in plays your hand, as you made no move for too long."
        else:
            self.end = "Another device of yours holds this seat now."
        self.retakable = True

    def say(self, text: str, log_us: int, weight: Weight = Weight.OWN) -> None:
        line = Line(log_us, text, weight)
        self.told.append(line)
        del self.told[:-LINES_KEPT]
        if self.listener is not None:
            self.listener(line)

    def mute(self, key: str | None, view: TableView) -> None:
        """Hear no more of the seat that the key names, or hear it again."""
        seat = int(key) if key is not None and key.isdecimal() else NOBODY
        if seat not in story.others(view):
            return
        who = story.player(view, seat)
        if self.muted.has(view, seat):
            self.muted.unmute(seat)
            self.notice = f"{who} is heard again."
        else:
            self.muted.mute(view, seat)
            self.notice = f"{who} is muted."

    def settled(self, outcome: Outcome) -> None:
        """An own command has its outcome."""
        if isinstance(outcome, Rejected):
            self.notice = words.refusal(outcome.reason, outcome.parameters, outcome.message)
        elif isinstance(outcome, Unknown):
            self.notice = "Nobody can say whether that took effect: look at your hand and offers."
        else:
            self.notice = ""

    def _take_event(self, happened: Happened, view: TableView, log_us: int) -> None:
        event = happened.event
        kind = event.WhichOneof("kind") or ""
        text = "" if self.muted.hides(view, happened) else story.tell(happened, view)
        if text:
            self.say(text, log_us, _weight(happened, view.seat))
        given = NO_CARDS
        if kind == "offer_opened":
            self._closed(event.offer_opened.seat)
            self._order.append(event.offer_opened.seat)
            given = plain(view.deck.pack(happened.received))  # its marks have done their work
        elif kind == "offer_ended":
            self._closed(event.offer_ended.seat)
        elif kind == "traded":
            self._closed(event.traded.seat, event.traded.partner)
            given = view.deck.pack(happened.given)
            if given:
                self.changed = Change(log_us, given, view.deck.pack(happened.received))
        elif kind == "dealt":
            self._order.clear()
            self.last_round = result.in_short(self.result, view)
            self.result = NO_RESULT
            self.choice = first_choice(view)
        elif kind == "exchange_opened":
            self.moved_at_us = log_us
        elif kind == "resumed":
            self.moved_at_us += event.resumed.frozen_us
        elif kind in result.CHANGING:
            self.result = result.after(self.result, event, view)
            if kind != "score_adjusted":
                self._order.clear()
            if kind == "game_ended":
                self.say(f"The score: {story.standing(view)}", log_us, Weight.ROUND)
        if kind in _NEW_FOR_ALL:
            self.notice = ""
        if happened.number and kind in {"offer_opened", "traded", "offer_ended"}:
            self.moved_at_us = log_us
        self.choice = still_held(view, self.choice, given)
        self._note_aim(view, log_us)

    def _closed(self, *seats: int) -> None:
        self._order = [seat for seat in self._order if seat not in seats]

    def _was_reset(self, reset: WasReset, view: TableView, log_us: int) -> None:
        self.refresh(view)
        self.say(
            f"{RESETS.get(reset.reason, 'The table was told anew.')} This is how it is now", log_us
        )
        for undone in reset.undone:
            kind = (undone.command.WhichOneof("kind") or "").replace("_", " ")
            self.say(
                f"UNDONE: your {kind} had been confirmed and is lost; do it again if you will",
                log_us,
            )

    # ------------------------------------------------------------------ offers to answer

    def aimed(self, view: TableView) -> int:
        """The seat whose offer ENTER answers. It stays the same while that offer is open, so that
        no newer one slips under the finger; then the newest is next."""
        able = answerable(view, self._order)
        if self._aimed in able:
            return self._aimed
        return able[-1] if able else NOBODY

    def _note_aim(self, view: TableView, log_us: int) -> None:
        aimed = self.aimed(view)
        size = view.seats[aimed].offer_size if aimed != NOBODY else 0
        if self._aimed != NOBODY and not size:
            self._gone = self._aimed, log_us
        if size and self._aimed_size and size != self._aimed_size:
            self._aim_moved_at_us = log_us
        self._aimed, self._aimed_size = aimed, size

    def just_gone(self, log_us: int) -> int:
        """The seat whose offer was there to be answered until a moment ago, or NOBODY."""
        seat, at_us = self._gone
        return seat if log_us - at_us < GONE_US else NOBODY

    def slipped(self, log_us: int) -> bool:
        """Whether the offer to answer has changed so lately that the person cannot have seen it.
        Asked once; the next key is meant for the new one."""
        lately = 0 <= log_us - self._aim_moved_at_us < SEEN_AFTER_US
        self._aim_moved_at_us = -SEEN_AFTER_US
        return lately

    def aim_next(self, view: TableView) -> None:
        """Aim at the next open offer."""
        able = answerable(view, self._order)
        if not able:
            self.notice = "No open offer to answer. Call one yourself with 1 to 4."
            return
        now = self.aimed(view)
        self._aimed = able[(able.index(now) + 1) % len(able)]
        self._aimed_size = view.seats[self._aimed].offer_size


_VOTES: Final = frozenset({"rematch_voted", "rematch_agreed", "rematch_failed"})
_NEW_FOR_ALL: Final = (result.CHANGING - {"score_adjusted"}) | {"dealt", "exchange_opened"}
"""After these the answer to an older key means nothing any more."""
_ROUND: Final = frozenset(
    {"dealt", "exchange_opened", "cornered", "round_scored", "round_void", "game_ended"}
)
_NEWS: Final = frozenset({"frozen", "resumed", "announcement", "score_adjusted", "table_closed"})


def _weight(happened: Happened, seat: int) -> Weight:
    event = happened.event
    kind = event.WhichOneof("kind") or ""
    if kind in _NEWS or (kind == "round_void" and event.round_void.operator):
        return Weight.NEWS
    if kind == "traded":
        own = seat in (event.traded.seat, event.traded.partner)
        return Weight.OWN if own else Weight.OTHERS
    if kind == "called":
        return Weight.OTHERS
    if kind in _ROUND or kind in _VOTES:
        return Weight.ROUND
    if kind in {"offer_opened", "offer_ended"}:
        return Weight.OWN if getattr(event, kind).seat == seat else Weight.PASSING
    return Weight.OWN
