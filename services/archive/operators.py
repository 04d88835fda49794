"""What must be true of an operator's acts: who, why, and that they change no more than they say."""

from collections.abc import Iterator

from engine import events
from services.archive.account import Account, Finding, Offered


def adjusted(account: Account, event: events.ScoreAdjusted) -> Iterator[Finding]:
    if not event.operator or not event.reason:
        yield account.finding("order", "a score is corrected without a reason, or by nobody")
    if not 0 <= event.seat < len(account.scores):
        yield account.finding("score", f"there is no seat {event.seat} to correct")
        return
    before = account.scores[event.seat]
    account.book(event.seat, event.delta)
    if (before + event.delta, list(event.totals)) != (account.scores[event.seat], account.scores):
        shown = list(event.totals)
        yield account.finding("score", f"corrected to {shown}, should be {account.scores}")
    if len(event.places) != (len(account.scores) if account.ended else 0):
        yield account.finding("score", "places are told of a game that has none, or not told")
    elif account.ended:
        yield from account.places_differ(event.places)


def frozen(account: Account, event: events.Frozen) -> Iterator[Finding]:
    if account.frozen_at_ms:
        yield account.finding("order", "the table is frozen a second time")
    if not event.operator or not event.reason:
        yield account.finding("order", "the table is frozen without a reason, or by nobody")
    account.frozen_at_ms = event.at_ms


def thawed(account: Account, event: events.Thawed) -> Iterator[Finding]:
    """Every deadline keeps what remains of it: no more, no less."""
    stood_ms = event.at_ms - account.frozen_at_ms if account.frozen_at_ms else 0
    if event.frozen_ms != stood_ms:
        said = f"{event.frozen_ms} ms"
        yield account.finding("order", f"time stood still for {said}, should be {stood_ms}")
    if not event.operator:
        yield account.finding("order", "time goes on by nobody's word")
    account.frozen_at_ms = 0
    account.opens_at_ms += stood_ms
    account.round_ends_at_ms += stood_ms
    for seat, offer in account.offers.items():
        if offer.ends_at_ms:
            later_ms = offer.ends_at_ms + stood_ms
            account.offers[seat] = Offered(offer.size, offer.lot, offer.directed_at, later_ms)


def closed(account: Account, event: events.TableClosed) -> Iterator[Finding]:
    if account.frozen_at_ms and not event.operator:
        yield account.finding("order", "a frozen table closes by itself")
    if bool(event.operator) != bool(event.reason):
        yield account.finding("order", "the table is closed without a reason, or by nobody")
    if not event.operator and (not account.ended or account.closing):
        yield account.finding("order", "the table closes by itself though its game goes on")
    account.frozen_at_ms, account.closing = 0, False


def announced(account: Account, event: events.Announced) -> Iterator[Finding]:
    if not event.operator or not event.text:
        yield account.finding("order", "nobody announces something, or somebody nothing")
    if len(event.parameters) % 2:
        yield account.finding("order", "an announcement has a parameter without its value")
