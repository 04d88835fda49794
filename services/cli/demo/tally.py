"""What has happened, counted from records: the same code for the live screen and the summary."""

from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Final

from engine import events
from engine.commands import NOBODY
from engine.events import Answered, End, Event, Note, Record, RequestAnswered
from engine.shown import Phase
from engine.value import value
from engine.view import view
from services.cli.story import Story
from services.log.codec import LobbyLine

RATE_WINDOW_MS: Final = 5_000
"""Rates on the screen are over so much log time."""
PLAYED_OUT: Final = frozenset({End.WON, End.ROUNDS_PLAYED, End.SHARED})
"""Ends of a game that was played; the others were given up."""
STALL_MS: Final = 15_000
"""A table without a trade in so much open trading time does not count as alive."""


@value
class Totals:
    """Sums over all tables."""

    commands: int
    offers: int
    trades: int
    corners: int
    rounds: int
    voids: int
    games_finished: int
    rejections: int


class TableTally:
    """One table's figures. Times are its log time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts: Counter[str] = Counter()
        self.over = False
        self.seats = 0
        self.people: dict[int, str] = {}
        self.bots: set[int] = set()
        self.scores: tuple[int, ...] = ()
        self.round = 0
        self.last_event = ""
        self.now_ms = 0
        self._open_since_ms: int | None = None
        self._open_ms = 0
        self._traded_open_ms = 0
        self._recent: deque[tuple[int, str]] = deque()
        self._story = Story()

    def known(self, line: LobbyLine) -> None:
        """Begin in the middle of a game, with what the lobby says of it."""
        self._story.begin(line.rules)
        self.seats = line.seats
        self.scores = (0,) * line.seats
        self.round = line.round
        self.bots = set(line.bots)
        self.people = {seat: person for seat, person in enumerate(line.persons) if person}
        self.over = line.phase >= Phase.ENDED

    def take(self, record: Record, now_ms: int) -> None:
        """Count one record."""
        self.now_ms = now_ms
        for item in record.items:
            counter = _COUNTERS.get(type(item))
            if counter is not None:
                counter(self, item)
            if not isinstance(item, Note):
                self._tell(item)
        while self._recent and self._recent[0][0] < now_ms - RATE_WINDOW_MS:
            self._recent.popleft()

    def rate(self, kind: str) -> float:
        """Offers or trades a second, over the last seconds of log time."""
        return sum(1 for _, recent in self._recent if recent == kind) / (RATE_WINDOW_MS / 1_000)

    def stalled_ms(self, now_ms: int) -> int:
        """Open trading time since the last trade, or since there was a game."""
        return self._open_time_ms(max(now_ms, self.now_ms)) - self._traded_open_ms

    def _open_time_ms(self, now_ms: int) -> int:
        running_ms = 0 if self._open_since_ms is None else now_ms - self._open_since_ms
        return self._open_ms + running_ms

    def _tell(self, event: Event) -> None:
        # As a spectator sees it: a person may be playing at this very table.
        lines = self._story.lines(view(event, NOBODY))
        if lines:
            self.last_event = lines[0]

    def _count(self, kind: str, at_ms: int) -> None:
        self.counts[kind] += 1
        self._recent.append((at_ms, kind))

    # ------------------------------------------------------------------ by kind of item

    def _opened(self, event: events.TableOpened) -> None:
        self.seats = event.seats
        self.scores = (0,) * event.seats

    def _taken(self, event: events.SeatTaken) -> None:
        self.people[event.seat] = event.person

    def _left(self, event: events.SeatLeft) -> None:
        self.people.pop(event.seat, None)

    def _bot_seated(self, event: events.BotSeated) -> None:
        self.bots.add(event.seat)

    def _back(self, event: events.SeatBack) -> None:
        self.bots.discard(event.seat)

    def _answered(self, note: Answered | RequestAnswered) -> None:
        if note.kept:
            self.counts["commands"] += 1
            self.counts["rejections"] += note.rejection != 0

    def _exchange(self, event: events.ExchangeOpened) -> None:
        self.round = event.round
        self._open_since_ms = event.at_ms

    def _offer(self, event: events.OfferOpened) -> None:
        self._count("offers", event.at_ms)

    def _traded(self, event: events.Traded) -> None:
        self._count("offers", event.at_ms)
        self._count("trades", event.at_ms)
        self._traded_open_ms = self._open_time_ms(event.at_ms)

    def _cornered(self, event: events.Cornered) -> None:
        self.counts["corners"] += 1
        self._close(event.at_ms)

    def _round_over(self, event: events.RoundScored | events.RoundVoid) -> None:
        self.counts["rounds"] += 1
        self.counts["voids"] += isinstance(event, events.RoundVoid)
        self.scores = event.totals
        self._close(event.at_ms)

    def _ended(self, event: events.GameEnded) -> None:
        self.over = True
        self.scores = event.totals
        self.counts["games_finished"] += event.end in PLAYED_OUT

    def _close(self, at_ms: int) -> None:
        self._open_ms = self._open_time_ms(at_ms)
        self._open_since_ms = None


_COUNTERS: Final[dict[type, Callable[[TableTally, Any], None]]] = {
    events.TableOpened: TableTally._opened,
    events.SeatTaken: TableTally._taken,
    events.SeatLeft: TableTally._left,
    events.BotSeated: TableTally._bot_seated,
    events.SeatBack: TableTally._back,
    events.ExchangeOpened: TableTally._exchange,
    events.OfferOpened: TableTally._offer,
    events.Traded: TableTally._traded,
    events.Cornered: TableTally._cornered,
    events.RoundScored: TableTally._round_over,
    events.RoundVoid: TableTally._round_over,
    events.GameEnded: TableTally._ended,
    Answered: TableTally._answered,
    RequestAnswered: TableTally._answered,
}


def totals(tables: list[TableTally]) -> Totals:
    """Sums over all tables."""
    counts: Counter[str] = Counter()
    for table in tables:
        counts.update(table.counts)
    return Totals(*(counts[name] for name in Totals.__slots__))  # type: ignore[attr-defined]
