"""The upper half of the screen: hand and seats, or the result of a round."""

from typing import Final

from pit.v1 import table_pb2
from rich.text import Text

from engine.cards import BEAR, BULL, count
from services.client.view import NOBODY, SeatView, TableView
from services.play import story, words
from services.play.cells import sized
from services.play.guidance import Now
from services.play.model import Model

HAND_WIDTH: Final = 32
RESULT_ROWS: Final = 5
"""A title, the cards shown, and three players at least."""
ROW_KEYS: Final = "asdfghjk"
"""One key for each commodity in play, beside the arrows."""
OFFER_WIDTH: Final = 16
"""What is left of 80 columns for a seat's open offer."""
CHANGED_US: Final = 5_000_000
LOUD, QUIET, OWN, WARNING = "bold", "dim", "bold cyan", "bold yellow"


def fit(text: Text, width: int) -> Text:
    """Exactly so wide."""
    text.truncate(width, overflow="ellipsis", pad=True)
    return text


def board(model: Model, view: TableView, now: Now, width: int) -> list[Text]:
    """Hand and seats side by side; a spectator is shown what the commodities pay."""
    title, hand = "YOUR HAND", _hand(model, view, now)
    if view.seat == NOBODY:
        title, hand = "COMMODITIES", _prices(view)
    seats = _seats(model, view, now, width - HAND_WIDTH - 2)
    rows = [(Text(title, LOUD), Text("SEATS            score cards offer", LOUD))]
    for row in range(_rows(view)):
        left = hand[row] if row < len(hand) else Text()
        rows.append((left, seats[row] if row < len(seats) else Text()))
    return [fit(fit(left, HAND_WIDTH) + Text("│ ", QUIET) + right, width) for left, right in rows]


def _rows(view: TableView) -> int:
    """As many as the fuller hand or the seats need, the same for the whole game: the rest of the
    screen belongs to the log."""
    return max(len(view.suits) + 2, sum(not seat.dropped for seat in view.seats), RESULT_ROWS)


# ---------------------------------------------------------------------- hand


def _hand(model: Model, view: TableView, now: Now) -> list[Text]:
    """A row for each commodity in play, most valuable first, then Bull and Bear."""
    if view.phase == table_pb2.PHASE_SEATING:
        return [Text("no cards yet", QUIET)]
    rows = []
    for place, lane in enumerate(view.suits):
        held = count(view.hand, lane)
        chosen = lane == model.choice.lane
        row = f"{'▶' if chosen else ' '}{ROW_KEYS[place]} {_priced(view, lane)} {held:>2} "
        style = OWN if chosen else ("" if held else QUIET)
        rows.append(Text(row + _bar(model, view, lane) + _changed(model, now, lane), style))
    for lane, key in ((BULL, "b"), (BEAR, "e")):
        if count(view.hand, lane):
            marked = count(model.choice.marked, lane)
            name, rest = words.lane_name(view.deck, lane), _animal(model, view, lane)
            new = count(model.changed.got, lane) and now.log_us - model.changed.at_us < CHANGED_US
            style = OWN if marked else (WARNING if new else "")
            rows.append(Text(f"{'+' if marked else ' '}{key} {name:<5} {rest}", style))
    return rows


def _bar(model: Model, view: TableView, lane: int) -> str:
    """A square a card: those in the open offer hollow, those marked for the next one crossed."""
    held, offered = count(view.hand, lane), count(view.offer_lot, lane)
    marked = min(count(model.choice.marked, lane), held - offered)
    return "▣" * marked + "■" * (held - offered - marked) + "□" * offered


def _changed(model: Model, now: Now, lane: int) -> str:
    """What the last trade has done to this row, for as long as that is news."""
    change = model.changed
    if now.log_us - change.at_us >= CHANGED_US:
        return ""
    more = count(change.got, lane) - count(change.gave, lane)
    return f" {more:+d}" if more else ""


def _animal(model: Model, view: TableView, lane: int) -> str:
    if count(model.choice.marked, lane):
        return "goes with the next call"
    if count(view.offer_lot, lane):
        return "□ offered"
    costs = view.rules.bull_penalty if lane == BULL else view.rules.bear_penalty
    return f"■ costs {costs} at a corner"


def _priced(view: TableView, lane: int) -> str:
    return f"{words.names(view.deck)[lane]:<9}{view.deck.values[lane]:>4}"


def _prices(view: TableView) -> list[Text]:
    return [Text(f"  {_priced(view, lane)}") for lane in view.suits]


# ---------------------------------------------------------------------- seats


def _seats(model: Model, view: TableView, now: Now, width: int) -> list[Text]:
    aimed = model.aimed(view) if view.seat != NOBODY else NOBODY
    return [
        fit(_seat(model, view, now, index, seat, index == aimed), width)
        for index, seat in enumerate(view.seats)
        if not seat.dropped
    ]


def _seat(model: Model, view: TableView, now: Now, index: int, seat: SeatView, aimed: bool) -> Text:
    own = index == view.seat
    name = f"{story.player(view, index)} (you)" if own else _seat_name(view, index, seat)
    line = Text(f"{'▶' if aimed else ' '}{sized(name, 15)} {seat.score:>5} {seat.cards:>4}  ")
    state = _seat_state(view, now, index, seat)
    if model.muted.has(view, index):
        state = f"{state} (muted)".strip()
    line.append(state, LOUD if aimed else "")
    if own:
        line.stylize(OWN)
    return line


def _seat_name(view: TableView, index: int, seat: SeatView) -> str:
    if not seat.person and not seat.bot and not seat.bot_wanted:
        return "(free)" if view.phase == table_pb2.PHASE_SEATING else f"Bot {index} (comes)"
    name = story.player(view, index)
    return f"{name} (bot)" if seat.bot and seat.display_name else name


def _seat_state(view: TableView, now: Now, index: int, seat: SeatView) -> str:
    if seat.forfeited:
        return "forfeited"
    if seat.away_until_us > now.log_us and not seat.bot:
        return f"away, {words.clock(seat.away_until_us - now.log_us)}"
    if seat.offer_size:
        if index == view.seat:
            own = words.cards(view.offer_lot, view.deck)
            return own if len(own) <= OFFER_WIDTH else f"{seat.offer_size} cards"
        if seat.offer_directed_at == NOBODY:
            return f"{seat.offer_size} " + ("card" if seat.offer_size == 1 else "cards")
        at = seat.offer_directed_at
        return f"{seat.offer_size} for {'you' if at == view.seat else story.player(view, at)}"
    if view.phase != table_pb2.PHASE_OPEN and seat.ready:
        return "ready"
    return "dealer" if view.phase == table_pb2.PHASE_SORTING and view.dealer == index else ""


# ---------------------------------------------------------------------- results


def result(model: Model, view: TableView, width: int) -> list[Text]:
    """In the place of hand and seats: who cornered what, the cards shown, everybody's points."""
    shown = model.result
    rows = [Text(shown.title, WARNING)]
    rows.append(Text(f"shown: {shown.shown}" if shown.shown else "", LOUD))
    rows += [
        _scored(model, view, index) for index, seat in enumerate(view.seats) if not seat.dropped
    ]
    if view.seat != NOBODY and view.hand:
        rows.append(Text(f"  You held {words.cards(view.hand, view.deck)}", QUIET))
    rows += [Text()] * (_rows(view) + 1 - len(rows))
    return [fit(row, width) for row in rows]


def _scored(model: Model, view: TableView, index: int) -> Text:
    shown, seat, own = model.result, view.seats[index], index == view.seat
    delta = shown.deltas[index] if index < len(shown.deltas) else 0
    place = shown.places[index] if index < len(shown.places) else 0
    corrected = shown.corrected[index] if index < len(shown.corrected) else 0
    name = f"{story.player(view, index)} (you)" if own else story.player(view, index)
    line = f"  {sized(name, 19)} {f'{delta:+d}' if delta else '0':>5}  = {seat.score:>4}"
    line += f"   place {place}" if place else "          "
    notes = [
        text
        for true, text in (
            (shown.bull_seat == index, "held the Bull"),
            (shown.bear_seat == index, "held the Bear"),
            (corrected, f"corrected {corrected:+d}"),
            (seat.ready and not place, "ready"),
            (seat.plays_again, "plays again"),
        )
        if true
    ]
    return Text(f"{line}   {', '.join(notes)}", OWN if own else "")
