"""The line that says what one can do now, or must wait for; and the warning to an idle player."""

from typing import Final

from pit.v1 import table_pb2

from engine.cards import size
from engine.value import value
from services.client.view import NOBODY, TableView
from services.play import story, words
from services.play.hand import (
    able_to_give,
    best_claim,
    claim_words,
    hindered,
    largest,
    lot_of,
    one_of,
    plain,
)
from services.play.model import Model

IDLE_WARNING_US: Final = 5_000_000


@value
class Now:
    """What changes by itself while nothing happens."""

    log_us: int
    """Log time; of a frozen table the moment at which it was frozen."""
    cut_for_s: float | None = None
    """For how long the stream has been gone; `None` while it is there."""


def what_now(model: Model, view: TableView, now: Now) -> str:
    """What the person can do, or must wait for: the most urgent thing first."""
    if model.end:
        return f"{model.end} {'r takes it back.' if model.retakable else 'Press q.'}"
    if now.cut_for_s is not None:
        return _cut(view, now.cut_for_s)
    if view.frozen_at_us:
        reason = f": {view.frozen_reason}" if view.frozen_reason else "."
        return f"FROZEN by an operator, nobody loses time{reason}"
    if view.seat == NOBODY:
        return "You are watching. q stops."
    match view.phase:
        case table_pb2.PHASE_SEATING:
            return _seating(view)
        case table_pb2.PHASE_SORTING:
            return _sorting(view)
        case table_pb2.PHASE_OPEN:
            return _trading(model, view, now)
        case table_pb2.PHASE_BETWEEN:
            if table_pb2.READY_FOR_NEXT in view.seats[view.seat].ready:
                return "You are ready: waiting for the others, or for the clock."
            return "r: ready for the next round. It comes by itself, too."
        case table_pb2.PHASE_CLOSED:
            return "The table is closed. q leaves."
    return _after(view, now)


def idle_warning(model: Model, view: TableView, now: Now) -> str:
    """In time before the seat counts as away."""
    playing = view.phase == table_pb2.PHASE_OPEN and now.cut_for_s is None and not model.end
    if not playing or view.seat == NOBODY or view.frozen_at_us or not model.moved_at_us:
        return ""
    own = view.seats[view.seat]
    if own.away_until_us or own.bot:
        return ""
    idle_us = model.moved_at_us + view.rules.idle_s * 1_000_000 - now.log_us
    if idle_us >= IDLE_WARNING_US:
        return ""
    return f"Move within {words.clock(idle_us)} (call, answer or take back), or you count as away."


def _cut(view: TableView, cut_for_s: float) -> str:
    lost = f"CONNECTION LOST {cut_for_s:.0f} s ago. Trying again by itself"
    if view.seat == NOBODY:
        return f"{lost}."
    return f"{lost}; your seat is kept {view.rules.away_grace_s} s."


def _seating(view: TableView) -> str:
    if view.owner == view.seats[view.seat].person:
        return "Waiting for players. r starts with those who sit here; bots fill the rest."
    return "Waiting for the owner to start. r says you are ready."


def _after(view: TableView, now: Now) -> str:
    """The game is over; perhaps the same people play again."""
    if view.rematch_table:
        return "They play again at a new table. r: your seat there. q leaves."
    if not view.rematch_until_us:
        return "The game is over. r: play again with the same people. q leaves."
    left = words.clock(view.rematch_until_us - now.log_us)
    if view.seats[view.seat].plays_again:
        return f"You play again: waiting for the others, {left} more."
    who = [story.player(view, seat) for seat in story.others(view) if view.seats[seat].plays_again]
    return f"{' and '.join(who)} would play again. r: you too; n: no. {left} left."


def _sorting(view: TableView) -> str:
    if not view.rules.opens_when_sorted:
        return "Look at your hand; trading is not open yet."
    if table_pb2.READY_FOR_OPEN in view.seats[view.seat].ready:
        return "You are ready: waiting for the others, or for the clock."
    return "Look at your hand; trading is not open yet.  r: I am ready."


def _trading(model: Model, view: TableView, now: Now) -> str:
    own = view.seats[view.seat]
    claim = best_claim(view)
    if claim is not None:
        what = claim_words(claim, view.deck)
        if view.bell_locked_until_us <= now.log_us:
            return f"SPACE RINGS THE BELL: {what}!"
        locked = words.clock(view.bell_locked_until_us - now.log_us)
        return f"The bell is locked for you for {locked} more; then: {what}."
    if blocked := hindered(view):
        return blocked
    if own.bot or own.bot_wanted:
        return "A stand-in is on its way to your seat. Any call or answer of yours keeps it."
    if own.away_until_us:
        left = words.clock(own.away_until_us - now.log_us)
        return f"You count as away. Call or answer within {left}, or a stand-in plays for you."
    aimed = model.aimed(view)
    if aimed != NOBODY:
        return _answering(model, view, aimed)
    if own.offer_size and not plain(model.choice.marked):
        lot = words.cards(view.offer_lot, view.deck)
        return f"Your {lot} wait for anybody's {own.offer_size}. w takes them back; 1-4 calls anew."
    return _calling(model, view)


def _answering(model: Model, view: TableView, aimed: int) -> str:
    cards = view.seats[aimed].offer_size
    who = story.player(view, aimed)
    lot = lot_of(view, model.choice, cards)
    if isinstance(lot, int):
        given = words.cards(lot, view.deck)
        return f"{who} holds up {cards}. ENTER gives {given} for them, unseen."
    if cards > largest(view, model.choice):
        able = able_to_give(view, model.choice, cards)
        if view.rules.mixed_lots:
            return f"{who} holds up {cards}: mark cards of several kinds with →, then ENTER."
        if not able:
            return f"{who} holds up {cards}, more than you have of anything. 1-4 calls your own."
        return f"{who} holds up {cards}: choose {one_of(able)}, then ENTER; or call 1-4."
    return f"{who} holds up {cards}; more are marked. x unmarks."


def _calling(model: Model, view: TableView) -> str:
    choice = model.choice
    most = largest(view, choice)
    name = words.names(view.deck)[choice.lane]
    if plain(choice.marked):
        these = words.cards(choice.marked, view.deck)
        marked = size(choice.marked)
        more = f", {most} adds {most - marked} {name}" if most > marked else ""
        return f"Marked: {these}. {marked} calls just that{more}."
    keys = f"1-{most} calls so many" if most > 1 else "1 calls one"
    other = "→ marks one, for a mixed lot." if view.rules.mixed_lots else "↑↓ chooses another."
    return f"{keys} of your {name}. {other}"
