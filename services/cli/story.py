"""A game's events as lines a card player can read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from engine import events
from engine.cards import BEAR, BULL, DECKS, counts
from engine.commands import NOBODY, Purpose
from engine.events import Absence, Corner, End, Event, Why
from engine.rules import Rules, preset_name, rules_hash

READY_FOR: Final = {
    Purpose.START: "the game",
    Purpose.OPEN: "the exchange",
    Purpose.NEXT: "the next round",
}
ENDED: Final = {
    Why.WITHDRAWN: "withdraws the offer",
    Why.EXPIRED: "offer runs out",
    Why.STREAM_LOST: "offer ends, the connection is gone",
    Why.BELL: "takes the offer back to ring",
    Why.IDLE: "offer ends, nobody is moving there",
}
AWAY: Final = {Absence.STREAM_LOST: "is away", Absence.IDLE: "is idle and counts as away"}
CORNERS: Final = {
    Corner.EIGHT_AND_BULL: "eight and the Bull",
    Corner.EIGHT_BULL_AND_BEAR: "eight, the Bull and the Bear",
    Corner.NINE: "nine",
    Corner.NINE_AND_BULL: "nine and the Bull",
    Corner.NINE_AND_BEAR: "nine, beside the Bear",
}
GAME_ENDS: Final = {
    End.WON: "the game is won",
    End.ROUNDS_PLAYED: "all rounds are played",
    End.SHARED: "the first place is shared",
    End.STALLED: "three void rounds: the game is given up",
    End.TOO_FEW_PLAYERS: "too few players are left",
    End.NO_PEOPLE: "nobody is left",
    End.NEVER_STARTED: "the game never started",
    End.CLOSED: "an operator has closed the table",
}
CALLS: Final = (
    "",
    "One!",
    "Two!",
    "Three!",
    "Four!",
    "Hurry!",
    "Well played",
    "Sorry",
    "Thanks",
)


class Story:
    """Told event by event, in order: it remembers the rules for the commodities' names."""

    def __init__(self, people: Mapping[str, str] | None = None) -> None:
        """`people`: names of persons and operators, where they are known."""
        self._people = people or {}
        self._names: tuple[str, ...] = ()
        self._suits: tuple[int, ...] = ()

    def lines(self, event: Event) -> list[str]:
        """What happened, the first line the event itself; empty for what needs no words."""
        tell = _TELLERS[type(event)]
        told: list[str] = tell(self, event)
        return told

    def _by(self, operator: str, reason: str) -> str:
        """Who did it and why, as the end of a sentence; empty where no operator did."""
        by = f" by operator {self._who(operator)}" if operator else ""
        return by + (f": {reason}" if reason else "")

    def _who(self, person: str) -> str:
        return self._people.get(person) or person

    def begin(self, rules: Rules) -> None:
        self._names = tuple(name for name, _ in DECKS[rules.deck])

    def cards(self, packed: int | None) -> str:
        """`wheat x3, Bull`; empty where the cards are hidden."""
        if packed is None:
            return ""
        parts = []
        for lane, count in enumerate(counts(packed)):
            if count and lane in (BULL, BEAR):
                parts.append("Bull" if lane == BULL else "Bear")
            elif count:
                parts.append(f"{self._name(lane)} x{count}")
        return ", ".join(parts)

    def _name(self, lane: int) -> str:
        return self._names[lane] if lane < len(self._names) else f"commodity {lane}"

    # ------------------------------------------------------------------ around the game

    def _opened(self, event: events.TableOpened) -> list[str]:
        self.begin(event.rules)
        preset = preset_name(event.rules) or "own rules"
        return [
            f'table "{event.display_name}" opens: {preset} ({rules_hash(event.rules)}), '
            f"{event.seats} seats"
        ]

    def _taken(self, event: events.SeatTaken) -> list[str]:
        return [f"{_seat(event.seat)} is taken by {self._who(event.person)}"]

    def _left(self, event: events.SeatLeft) -> list[str]:
        if not event.removed:
            return [f"{_seat(event.seat)} is left for good"]
        return [f"{_seat(event.seat)} is freed{self._by(event.operator, event.reason)}"]

    def _owner(self, event: events.OwnerChanged) -> list[str]:
        return [f"the table passes to {self._who(event.person)}"]

    def _away(self, event: events.SeatAway) -> list[str]:
        return [f"{_seat(event.seat)} {AWAY[Absence(event.absence)]}"]

    def _back(self, event: events.SeatBack) -> list[str]:
        return [f"{_seat(event.seat)} is back"]

    def _bot_wanted(self, event: events.BotWanted) -> list[str]:
        return [f"{_seat(event.seat)} wants a bot"]

    def _bot_seated(self, event: events.BotSeated) -> list[str]:
        return [f"{_seat(event.seat)} is played by a bot"]

    def _forfeited(self, event: events.SeatForfeited) -> list[str]:
        return [f"{_seat(event.seat)} is forfeited"]

    def _dropped(self, event: events.SeatsDropped) -> list[str]:
        return [f"{', '.join(map(_seat, event.seats))} fall away"]

    def _ready(self, event: events.ReadyGiven) -> list[str]:
        return [f"{_seat(event.seat)} is ready for {READY_FOR[Purpose(event.purpose)]}"]

    def _called(self, event: events.Called) -> list[str]:
        phrase = CALLS[event.phrase] if event.phrase < len(CALLS) else f"phrase {event.phrase}"
        return [f"{_seat(event.seat)}: {phrase}"]

    def _rematch_voted(self, event: events.RematchVoted) -> list[str]:
        word = "wants" if event.yes else "does not want"
        return [f"{_seat(event.seat)} {word} a rematch"]

    def _rematch_agreed(self, event: events.RematchAgreed) -> list[str]:
        return [f"a rematch is agreed: {event.table}"]

    def _rematch_failed(self, _event: events.RematchFailed) -> list[str]:
        return ["there is no rematch"]

    def _closed(self, event: events.TableClosed) -> list[str]:
        return [f"the table closes{self._by(event.operator, event.reason)}"]

    def _start_called(self, _event: events.StartCalled) -> list[str]:
        return ["the hour has come at which the game was to start"]

    def _invite_rotated(self, _event: events.InviteRotated) -> list[str]:
        return ["earlier invite codes are worth nothing from here on"]

    # ------------------------------------------------------------------ operators

    def _frozen(self, event: events.Frozen) -> list[str]:
        return [f"TIME STANDS STILL{self._by(event.operator, event.reason)}"]

    def _thawed(self, event: events.Thawed) -> list[str]:
        stood_s = event.frozen_ms / 1_000
        return [f"time goes on after {stood_s:.1f} s{self._by(event.operator, '')}"]

    def _adjusted(self, event: events.ScoreAdjusted) -> list[str]:
        head = f"CORRECTION: {_seat(event.seat)} {event.delta:+}"
        lines = [head + self._by(event.operator, event.reason)]
        for seat, total in enumerate(event.totals):
            place = f"{event.places[seat]}. " if event.places and event.places[seat] else ""
            lines.append(f"    {place}{_seat(seat)} {total:>6}")
        return lines

    def _announced(self, event: events.Announced) -> list[str]:
        return [f"announcement{self._by(event.operator, event.text or event.key)}"]

    # ------------------------------------------------------------------ a round

    def _committed(self, event: events.Committed) -> list[str]:
        return [f"seed of round {event.round} committed: {event.commitment.hex()[:16]}..."]

    def _dealt(self, event: events.Dealt) -> list[str]:
        self._suits = event.suits
        suits = ", ".join(map(self._name, event.suits))
        lines = [f"ROUND {event.round}: {_seat(event.dealer)} deals {suits}"]
        for seat, hand in enumerate(event.hands):
            if hand:
                lines.append(f"    {_seat(seat)}  {self.cards(hand)}")
        return lines

    def _exchange(self, _event: events.ExchangeOpened) -> list[str]:
        return ["the exchange is OPEN"]

    def _offer(self, event: events.OfferOpened) -> list[str]:
        to = "" if event.directed_at == NOBODY else f" to {_seat(event.directed_at)}"
        return [_with(f"{_seat(event.seat)} offers {event.size}{to}", self.cards(event.lot))]

    def _offer_ended(self, event: events.OfferEnded) -> list[str]:
        return [f"{_seat(event.seat)} {ENDED[Why(event.why)]}"]

    def _traded(self, event: events.Traded) -> list[str]:
        text = f"{_seat(event.seat)} trades {event.size} with {_seat(event.partner)}"
        if event.given is None or event.received is None:
            return [text]
        return [_with(text, f"{self.cards(event.given)} for {self.cards(event.received)}")]

    def _bell_refused(self, event: events.BellRefused) -> list[str]:
        name = self._name(event.commodity)
        return [f"{_seat(event.seat)} rings for {name} without a corner: -{event.fine}"]

    def _cornered(self, event: events.Cornered) -> list[str]:
        kind = CORNERS[Corner(event.kind)]
        lines = [
            f"{_seat(event.seat)} rings: CORNER ON {self._name(event.commodity).upper()}, {kind}",
            f"    {_seat(event.seat)}  {self.cards(event.hand)}",
        ]
        held = [
            f"{card} with {_seat(seat)}"
            for card, seat in (("Bull", event.bull_seat), ("Bear", event.bear_seat))
            if seat != NOBODY
        ]
        return lines + ([f"    {', '.join(held)}"] if held else [])

    def _scored(self, event: events.RoundScored | events.RoundVoid) -> list[str]:
        head = "is scored"
        if isinstance(event, events.RoundVoid):
            by_operator = self._by(event.operator, event.reason)
            head = f"is void{by_operator}" if by_operator else "is void, nobody cornered"
        return [
            f"round {event.round} {head}; seed {event.seed.hex()[:16]}...",
            *_score_lines(event.deltas, event.totals),
        ]

    def _ended(self, event: events.GameEnded) -> list[str]:
        lines = [f"GAME OVER: {GAME_ENDS[End(event.end)]}"]
        ranked = sorted(range(len(event.places)), key=lambda seat: event.places[seat])
        return lines + [
            f"    {event.places[seat]}. {_seat(seat)} {event.totals[seat]:>6}"
            for seat in ranked
            if event.places[seat]
        ]


def _seat(seat: int) -> str:
    return f"seat {seat}"


def _with(text: str, cards: str) -> str:
    """Cards stand in a column of their own."""
    return f"{text:<34}  {cards}".rstrip()


def _score_lines(deltas: Sequence[int], totals: Sequence[int]) -> list[str]:
    return [
        f"    {_seat(seat)} {delta:>+5} {total:>6}"
        for seat, (delta, total) in enumerate(zip(deltas, totals, strict=True))
    ]


_TELLERS: Final[dict[type, Callable[[Story, Any], list[str]]]] = {
    events.TableOpened: Story._opened,
    events.SeatTaken: Story._taken,
    events.SeatLeft: Story._left,
    events.OwnerChanged: Story._owner,
    events.SeatAway: Story._away,
    events.SeatBack: Story._back,
    events.BotWanted: Story._bot_wanted,
    events.BotSeated: Story._bot_seated,
    events.SeatForfeited: Story._forfeited,
    events.SeatsDropped: Story._dropped,
    events.ReadyGiven: Story._ready,
    events.Called: Story._called,
    events.RematchVoted: Story._rematch_voted,
    events.RematchAgreed: Story._rematch_agreed,
    events.RematchFailed: Story._rematch_failed,
    events.TableClosed: Story._closed,
    events.Committed: Story._committed,
    events.Dealt: Story._dealt,
    events.ExchangeOpened: Story._exchange,
    events.OfferOpened: Story._offer,
    events.OfferEnded: Story._offer_ended,
    events.Traded: Story._traded,
    events.BellRefused: Story._bell_refused,
    events.Cornered: Story._cornered,
    events.RoundScored: Story._scored,
    events.RoundVoid: Story._scored,
    events.GameEnded: Story._ended,
    events.StartCalled: Story._start_called,
    events.InviteRotated: Story._invite_rotated,
    events.Frozen: Story._frozen,
    events.Thawed: Story._thawed,
    events.ScoreAdjusted: Story._adjusted,
    events.Announced: Story._announced,
}
