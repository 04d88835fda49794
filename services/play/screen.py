"""The screen as text: a pure function of what is known. Made for 80 columns and 24 lines.

table line                                     who we are, phase, countdown
YOUR HAND                | SEATS               ten rows, or the result of a round
log                                            what just happened, newest last
what one can do now
the answer to the last key
keys
"""

from typing import Final

from pit.v1 import table_pb2
from rich.text import Text

from engine.cards import BEAR, BULL, ONE, count
from engine.value import value
from services.client.view import NOBODY, SeatView, TableView
from services.play import story, words
from services.play.hand import best_claim, claim_words, largest
from services.play.model import Model, Weight

WIDTH_MIN, HEIGHT_MIN = 80, 24
HAND_WIDTH: Final = 32
RESULT_ROWS: Final = 5
"""A title, the cards shown, and three players at least."""
ROW_KEYS: Final = "asdfghjk"
"""One key for each commodity in play, beside the arrows."""
KEYS: Final = "1-4 call  ENTER answer  TAB next w retract  SPACE bell  r ready  ? help  q leave"
IDLE_WARNING_US: Final = 5_000_000

LOUD, QUIET, OWN, WARNING = "bold", "dim", "bold cyan", "bold yellow"


@value
class Now:
    """What changes by itself while nothing happens."""

    log_us: int
    cut_for_s: float | None = None
    """For how long the stream has been gone; `None` while it is there."""


def draw(model: Model, view: TableView, now: Now, width: int = 80, height: int = 24) -> Text:
    """The whole screen."""
    width, height = max(width, WIDTH_MIN), max(height, HEIGHT_MIN)
    rows = [_table_line(view, now, width), _rule(width)]
    rows += _result(model, view, width) if model.result.title else _board(model, view, now, width)
    rows.append(_rule(width))
    below = [_rule(width), *_doing(model, view, now, width), _fit(Text(KEYS, QUIET), width)]
    room = height - len(rows) - len(below)
    return Text("\n").join([*rows, *_log(model, room, width), *below])


def _fit(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis", pad=True)
    return text


def _rule(width: int) -> Text:
    return Text("─" * width, QUIET)


# ---------------------------------------------------------------------- the table line


def _table_line(view: TableView, now: Now, width: int) -> Text:
    preset = view.rule_set.preset or "own rules"
    left = f"{view.display_name}  {preset}, to {view.rules.target}"
    if view.round:
        left += f"  round {view.round}"
    phase, countdown = words.PHASES.get(view.phase, ""), _countdown(view, now)
    right = f"{phase}  {countdown}" if countdown else phase
    room = width - len(right) - 1
    line = Text(left[:room].ljust(room + 1), LOUD)
    return line.append(right, WARNING if view.phase == table_pb2.PHASE_OPEN else LOUD)


def _countdown(view: TableView, now: Now) -> str:
    if now.cut_for_s is not None:
        return ""
    match view.phase:
        case table_pb2.PHASE_SORTING if view.opens_at_us:
            return f"opens in {words.clock(view.opens_at_us - now.log_us)}"
        case table_pb2.PHASE_OPEN if view.round_ends_at_us:
            return f"ends in {words.clock(view.round_ends_at_us - now.log_us)}"
        case table_pb2.PHASE_BETWEEN if view.next_deal_at_us:
            return f"next deal in {words.clock(view.next_deal_at_us - now.log_us)}"
    return ""


# ---------------------------------------------------------------------- hand and seats


def _board(model: Model, view: TableView, now: Now, width: int) -> list[Text]:
    hand, seats = _hand(model, view), _seats(model, view, now, width - HAND_WIDTH - 2)
    rows = [(Text("YOUR HAND", LOUD), Text("SEATS            score cards offer", LOUD))]
    for row in range(_rows(view)):
        left = hand[row] if row < len(hand) else Text()
        rows.append((left, seats[row] if row < len(seats) else Text()))
    return [_fit(_fit(left, HAND_WIDTH) + Text("│ ", QUIET) + right, width) for left, right in rows]


def _rows(view: TableView) -> int:
    """As many as the fuller hand or the seats need, the same for the whole game: the rest of the
    screen belongs to the log."""
    return max(len(view.suits) + 2, sum(not seat.dropped for seat in view.seats), RESULT_ROWS)


def _hand(model: Model, view: TableView) -> list[Text]:
    """A row for each commodity in play, most valuable first, then Bull and Bear."""
    if view.phase == table_pb2.PHASE_SEATING:
        return [Text("no cards yet", QUIET)]
    names, rows = words.names(view.deck), []
    for place, lane in enumerate(view.suits):
        held = count(view.hand, lane)
        chosen = lane == model.choice.lane
        offered = count(view.offer_lot, lane)
        mark = "▶" if chosen else " "
        row = f"{mark}{ROW_KEYS[place]} {names[lane]:<9}{view.deck.values[lane]:>4} {held:>2} "
        bar = "■" * (held - offered) + "□" * offered
        rows.append(Text(row + bar, OWN if chosen else ("" if held else QUIET)))
    for lane, key, name in ((BULL, "b", "Bull"), (BEAR, "e", "Bear")):
        if count(view.hand, lane):
            marked = model.choice.bull if lane == BULL else model.choice.bear
            offered = count(view.offer_lot, lane) > 0
            costs = view.rules.bull_penalty if lane == BULL else view.rules.bear_penalty
            here = "□ offered" if offered else f"■ costs {costs} at a corner"
            rest = "goes with the next call" if marked else here
            rows.append(
                Text(f"{'+' if marked else ' '}{key} {name:<5} {rest}", OWN if marked else "")
            )
    return rows


def _seats(model: Model, view: TableView, now: Now, width: int) -> list[Text]:
    aimed = model.aimed(view)
    return [
        _fit(_seat(model, view, now, index, seat, index == aimed), width)
        for index, seat in enumerate(view.seats)
        if not seat.dropped
    ]


def _seat(model: Model, view: TableView, now: Now, index: int, seat: SeatView, aimed: bool) -> Text:
    own = index == view.seat
    name = f"{story.player(view, index)} (you)" if own else _seat_name(view, index, seat)
    line = Text(f"{'▶' if aimed else ' '}{name[:15]:<16}{seat.score:>5} {seat.cards:>4}  ")
    line.append(_seat_state(view, now, index, seat), LOUD if aimed else "")
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
            return words.cards(view.offer_lot, view.deck)
        if seat.offer_directed_at == NOBODY:
            return f"{seat.offer_size} " + ("card" if seat.offer_size == 1 else "cards")
        at = seat.offer_directed_at
        return f"{seat.offer_size} for {'you' if at == view.seat else story.player(view, at)}"
    if view.phase != table_pb2.PHASE_OPEN and seat.ready:
        return "ready"
    return "dealer" if view.phase == table_pb2.PHASE_SORTING and view.dealer == index else ""


# ---------------------------------------------------------------------- results


def _result(model: Model, view: TableView, width: int) -> list[Text]:
    """In the place of hand and seats: who cornered what, the cards shown, everybody's points."""
    result = model.result
    rows = [Text(result.title, WARNING)]
    rows.append(Text(f"shown: {result.shown}" if result.shown else "", LOUD))
    for index, seat in enumerate(view.seats):
        if seat.dropped:
            continue
        own = index == view.seat
        delta = result.deltas[index] if index < len(result.deltas) else 0
        place = result.places[index] if index < len(result.places) else 0
        name = f"{story.player(view, index)} (you)" if own else story.player(view, index)
        line = f"  {name[:19]:<20}{f'{delta:+d}' if delta else '0':>5}  = {seat.score:>4}"
        line += f"   place {place}" if place else "          "
        notes = [
            text
            for holder, text in (
                (result.bull_seat, "held the Bull"),
                (result.bear_seat, "held the Bear"),
            )
            if holder == index
        ]
        if seat.ready and not place:
            notes.append("ready")
        rows.append(Text(f"{line}   {', '.join(notes)}", OWN if own else ""))
    rows += [Text()] * (_rows(view) + 1 - len(rows))
    return [_fit(row, width) for row in rows]


# ---------------------------------------------------------------------- log, what to do, keys


def _log(model: Model, room: int, width: int) -> list[Text]:
    rows = [
        _fit(Text(line.text, OWN if line.weight == Weight.OWN else QUIET), width)
        for line in model.shown(room)
    ]
    return rows + [_fit(Text(), width) for _ in range(room - len(rows))]


def _doing(model: Model, view: TableView, now: Now, width: int) -> list[Text]:
    doing = Text(what_now(model, view, now), LOUD)
    answer = model.notice or _idle_warning(model, view, now)
    return [_fit(doing, width), _fit(Text(answer, WARNING), width)]


def _idle_warning(model: Model, view: TableView, now: Now) -> str:
    """In time before the seat counts as away."""
    own = view.seats[view.seat]
    playing = view.phase == table_pb2.PHASE_OPEN and now.cut_for_s is None and not model.end
    if not playing or own.away_until_us or own.bot or not model.moved_at_us:
        return ""
    idle_us = model.moved_at_us + view.rules.idle_s * 1_000_000 - now.log_us
    if idle_us >= IDLE_WARNING_US:
        return ""
    return f"Move within {words.clock(idle_us)} (call, answer or take back), or you count as away."


def what_now(model: Model, view: TableView, now: Now) -> str:
    """What the person can do, or must wait for: the most urgent thing first."""
    if model.end:
        return f"{model.end} {'r takes it back.' if model.retakable else 'Press q.'}"
    if now.cut_for_s is not None:
        grace_s = view.rules.away_grace_s
        return (
            f"CONNECTION LOST {now.cut_for_s:.0f} s ago. Trying again by itself; "
            f"your seat is kept {grace_s} s."
        )
    match view.phase:
        case table_pb2.PHASE_SEATING:
            return _seating(view)
        case table_pb2.PHASE_SORTING:
            early = "  r: I am ready." if view.rules.opens_when_sorted else ""
            return f"Look at your hand; trading is not open yet.{early}"
        case table_pb2.PHASE_OPEN:
            return _trading(model, view, now)
        case table_pb2.PHASE_BETWEEN:
            if table_pb2.READY_FOR_NEXT in view.seats[view.seat].ready:
                return "You are ready: waiting for the others, or for the clock."
            return "r: ready for the next round. It comes by itself, too."
    return "The game is over. q leaves."


def _seating(view: TableView) -> str:
    if view.owner == view.seats[view.seat].person:
        return "Waiting for players. r starts with those who sit here; bots fill the rest."
    return "Waiting for the owner to start. r says you are ready."


def _trading(model: Model, view: TableView, now: Now) -> str:
    own = view.seats[view.seat]
    claim = best_claim(view)
    if claim is not None and view.bell_locked_until_us <= now.log_us:
        return f"SPACE RINGS THE BELL: {claim_words(claim, view.deck)}!"
    if own.bot or own.bot_wanted:
        return "A stand-in is on its way to your seat. Any call or answer of yours keeps it."
    if own.away_until_us:
        left = words.clock(own.away_until_us - now.log_us)
        return f"You count as away. Call or answer within {left}, or a stand-in plays for you."
    aimed = model.aimed(view)
    name = words.names(view.deck)[model.choice.lane]
    if aimed != NOBODY:
        size = view.seats[aimed].offer_size
        who = story.player(view, aimed)
        if size <= largest(view, model.choice):
            return (
                f"{who} holds up {size}. ENTER gives {_given(model, view, size)} for them, unseen."
            )
        return f"{who} holds up {size}; you have too few {name}. Choose another, or call 1-4."
    if own.offer_size:
        lot = words.cards(view.offer_lot, view.deck)
        return f"Your {lot} wait for anybody's {own.offer_size}. w takes them back; 1-4 calls anew."
    most = largest(view, model.choice)
    keys = f"1-{most} calls so many" if most > 1 else "1 calls one"
    return f"{keys} of your {name}. ↑↓ chooses another."


def _given(model: Model, view: TableView, size: int) -> str:
    extras = model.choice.bull * ONE[BULL] + model.choice.bear * ONE[BEAR]
    plain = max(0, size - model.choice.bull - model.choice.bear)
    return words.cards(extras + plain * ONE[model.choice.lane], view.deck)
