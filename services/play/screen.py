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
from rich.cells import cell_len
from rich.text import Text

from services.client.view import NOBODY, TableView
from services.play import words
from services.play.cells import sized, wrapped
from services.play.guidance import Now, idle_warning, what_now
from services.play.model import Model, Weight
from services.play.panels import LOUD, QUIET, WARNING, board, fit, result

WIDTH, HEIGHT = 80, 24
"""What it is made for."""
WIDTH_MIN, HEIGHT_MIN = 60, 18
"""Below this it cannot be shown; one is told so instead."""
KEYS: Final = "1-4 call  ENTER answer  TAB next w retract  SPACE bell  r ready  ? help  q leave"
KEYS_WATCHING: Final = "? help  q stop watching"


def draw(model: Model, view: TableView, now: Now, width: int = 80, height: int = 24) -> Text:
    """The whole screen."""
    if width < WIDTH_MIN or height < HEIGHT_MIN:
        return _too_small(width, height)
    keys = KEYS if view.seat != NOBODY else KEYS_WATCHING
    if width < WIDTH or height < HEIGHT:
        keys = f"Only {width}x{height} here; {WIDTH}x{HEIGHT} shows all. ? help  q leave"
    rows = [_table_line(view, now, width), _rule(width)]
    rows += result(model, view, width) if model.result.title else board(model, view, now, width)
    rows.append(_rule(width))
    below = [_rule(width), *_doing(model, view, now, width), fit(Text(keys, QUIET), width)]
    room = height - len(rows) - len(below)
    return Text("\n").join([*rows, *_log(model, now, room, width), *below])


def _too_small(width: int, height: int) -> Text:
    why = (
        f"Too small: {width}x{height} here, {WIDTH_MIN}x{HEIGHT_MIN} is the least and "
        f"{WIDTH}x{HEIGHT} shows all. The game goes on; enlarge the terminal. q leaves."
    )
    rows = [fit(Text(line, WARNING), width) for line in wrapped(why, max(width, 2))]
    rows += [fit(Text(), width) for _ in range(height - len(rows))]
    return Text("\n").join(rows[: max(height, 1)])


def _rule(width: int) -> Text:
    return Text("─" * width, QUIET)


def _table_line(view: TableView, now: Now, width: int) -> Text:
    rules = words.rules_name(view.rule_set, view.rules)
    left = f"{view.display_name}  {rules}, to {view.rules.target}"
    if view.round:
        left += f"  round {view.round}"
    phase, countdown = words.PHASES.get(view.phase, ""), _countdown(view, now)
    if view.frozen_at_us:
        phase = "FROZEN"
    right = f"{phase}  {countdown}" if countdown else phase
    line = Text(sized(left, width - cell_len(right) - 1) + " ", LOUD)
    loud = view.phase == table_pb2.PHASE_OPEN or view.frozen_at_us
    return line.append(right, WARNING if loud else LOUD)


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


FRESH_US: Final = 4_000_000
"""So long a line of the log stands out from those before it."""
_STYLES: Final = {Weight.OWN: "cyan", Weight.ROUND: "", Weight.NEWS: "yellow"}


def _log(model: Model, now: Now, room: int, width: int) -> list[Text]:
    rows: list[Text] = []  # newest first
    for line in model.newest(others=room // 3):
        style = _STYLES.get(line.weight, QUIET)
        if line.weight > Weight.OTHERS and now.log_us - line.at_us < FRESH_US:
            style = f"bold {style}"
        lines = wrapped(line.text, width, indent="    ")
        rows += [fit(Text(text, style), width) for text in reversed(lines)]
        if len(rows) >= room:
            break
    rows = rows[:room][::-1]
    return rows + [fit(Text(), width) for _ in range(room - len(rows))]


def _doing(model: Model, view: TableView, now: Now, width: int) -> list[Text]:
    doing = Text(what_now(model, view, now), LOUD)
    answer = model.notice or idle_warning(model, view, now)
    if not answer and view.phase == table_pb2.PHASE_SORTING:
        answer = model.last_round
    return [fit(doing, width), fit(Text(answer, WARNING), width)]
