"""Events and refusals in a card player's words: one short line each, as table scripts show them."""

from collections.abc import Callable
from typing import Any

from engine import events
from engine.cards import DECKS
from engine.commands import NOBODY, Purpose
from engine.events import Absence, Corner, End, Why
from engine.rejections import Rejection
from engine.rules import Rules
from support.staged import in_words

WORDS_OF_CORNERS = {
    Corner.NINE: "nine",
    Corner.EIGHT_AND_BULL: "eight and the Bull",
    Corner.EIGHT_BULL_AND_BEAR: "eight, Bull and Bear",
    Corner.NINE_AND_BULL: "nine and the Bull",
    Corner.NINE_AND_BEAR: "nine and the Bear",
}


def words_of(name: str) -> str:
    """`STREAM_LOST` -> `stream lost`"""
    return name.lower().replace("_", " ")


def in_seconds(ms: int) -> str:
    return f"{ms / 1000:g} s"


def points(numbers: tuple[int, ...]) -> str:
    return " ".join(f"{number:+d}" if number else "0" for number in numbers)


def by_whom(event: Any) -> str:
    """Who has done it, and why, where that was an operator."""
    return f" ({event.operator}: {event.reason})" if event.operator else ""


class Teller:
    """Tells what happens at a table with these rules."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.by_type: dict[type, Callable[[Any], str]] = {
            events.TableOpened: lambda it: f"{it.owner} opens a table for {it.seats}",
            events.SeatTaken: lambda it: f"{it.person} takes seat {it.seat}",
            events.SeatLeft: lambda it: (
                f"{it.seat} {'is removed' if it.removed else 'leaves'} for good" + by_whom(it)
            ),
            events.OwnerChanged: lambda it: f"the table is {it.person}'s now",
            events.SeatAway: self.away,
            events.SeatBack: lambda it: f"{it.seat} is back",
            events.BotWanted: lambda it: f"a bot is wanted for {it.seat}",
            events.BotSeated: lambda it: f"a bot plays {it.seat}",
            events.SeatForfeited: lambda it: f"{it.seat} forfeits",
            events.SeatsDropped: lambda it: f"empty seats fall away: {list(it.seats)}",
            events.ReadyGiven: lambda it: (
                f"{it.seat} is ready ({words_of(Purpose(it.purpose).name)})"
            ),
            events.Called: lambda it: f"{it.seat} calls phrase {it.phrase}",
            events.Committed: self.committed,
            events.Dealt: self.dealt,
            events.ExchangeOpened: self.exchange_opened,
            events.OfferOpened: self.offer_opened,
            events.OfferEnded: lambda it: f"{it.seat}'s offer ends: {words_of(Why(it.why).name)}",
            events.Traded: self.traded,
            events.BellRefused: self.bell_refused,
            events.Cornered: self.cornered,
            events.RoundScored: lambda it: (
                f"scores {points(it.deltas)}, totals {points(it.totals)}"
            ),
            events.RoundVoid: lambda it: (
                f"void round: {points(it.deltas)}, totals {points(it.totals)}" + by_whom(it)
            ),
            events.GameEnded: self.game_ended,
            events.RematchVoted: lambda it: (
                f"{it.seat} says {'yes' if it.yes else 'no'} to a rematch"
            ),
            events.RematchAgreed: lambda it: f"a rematch is agreed at {it.table}",
            events.RematchFailed: lambda it: "no rematch",
            events.TableClosed: lambda it: "the table closes" + by_whom(it),
            events.StartCalled: lambda it: "the time to start has come",
            events.InviteRotated: lambda it: "earlier invite codes are void",
            events.Frozen: lambda it: "time stands still" + by_whom(it),
            events.Thawed: lambda it: f"time goes on after {in_seconds(it.frozen_ms)}",
            events.ScoreAdjusted: self.adjusted,
            events.Announced: lambda it: f"announced: {it.text}",
        }

    def tell(self, event: events.Event) -> str:
        return self.by_type[type(event)](event)

    def refusal(self, rejection: int, parameters: tuple[int, ...]) -> str:
        numbers = " ".join(str(number) for number in parameters)
        return f"no: {Rejection(rejection).name} {numbers}".rstrip()

    def cards(self, packed: int | None) -> str:
        return in_words(self.rules, packed or 0)

    def commodity(self, lane: int) -> str:
        return DECKS[self.rules.deck][lane][0]

    def adjusted(self, event: events.ScoreAdjusted) -> str:
        told = f"{event.seat} is corrected by {event.delta:+d}, totals {points(event.totals)}"
        if event.places:
            told += f", places {' '.join(str(place) for place in event.places)}"
        return told + by_whom(event)

    def away(self, event: events.SeatAway) -> str:
        grace = event.until_ms - event.at_ms
        rest = f", grace {in_seconds(grace)}" if event.until_ms else ""
        return f"{event.seat} is away ({words_of(Absence(event.absence).name)}{rest})"

    def committed(self, event: events.Committed) -> str:
        tied = f", sudden death of {list(event.tied)}" if event.tied else ""
        return f"deal {event.round} is committed{tied}"

    def dealt(self, event: events.Dealt) -> str:
        wait = in_seconds(event.opens_at_ms - event.at_ms)
        return f"{event.dealer} deals round {event.round}, opens in {wait}"

    def exchange_opened(self, event: events.ExchangeOpened) -> str:
        return f"the exchange opens for {in_seconds(event.round_ends_at_ms - event.at_ms)}"

    def offer_opened(self, event: events.OfferOpened) -> str:
        told = f"{event.seat} offers {event.size}"
        if event.directed_at != NOBODY:
            told += f" to {event.directed_at}"
        if event.ends_at_ms:
            told += f" for {in_seconds(event.ends_at_ms - event.at_ms)}"
        return told

    def traded(self, event: events.Traded) -> str:
        cards = f"{self.cards(event.given)} for {self.cards(event.received)}"
        return f"{event.seat} swaps {event.size} with {event.partner}: {cards}"

    def bell_refused(self, event: events.BellRefused) -> str:
        told = f"false bell by {event.seat}: {-event.fine:+d}"
        if event.locked_until_ms:
            told += f", no bell for {in_seconds(event.locked_until_ms - event.at_ms)}"
        return told

    def cornered(self, event: events.Cornered) -> str:
        kind = WORDS_OF_CORNERS[Corner(event.kind)]
        told = f"{event.seat} corners {self.commodity(event.commodity)} ({kind})"
        if event.bull_seat != NOBODY:
            told += f", Bull with {event.bull_seat}, Bear with {event.bear_seat}"
        return told

    def game_ended(self, event: events.GameEnded) -> str:
        places = " ".join(str(place) for place in event.places)
        return f"game over ({words_of(End(event.end).name)}), places {places}"
