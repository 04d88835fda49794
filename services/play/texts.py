"""The texts that lie over the table for a moment, and the keys that answer them."""

from typing import Final

from pit.v1 import table_pb2

from engine.limits import NO_PEOPLE_MS
from engine.rules import Rules
from services.client.muted import Muted
from services.client.view import TableView
from services.play import story, words

ALONE_S: Final = NO_PEOPLE_MS // 1_000
HELP: Final = """\
Collect nine of one commodity, or eight and the Bull, and ring the bell
first. Everybody trades at once. You call a number; whoever calls the same
number swaps that many cards with you, unseen. Bull and Bear each may take a
card's place; holding one costs points when somebody else corners.

  UP DOWN     choose the commodity to give (or press the letter before it)
  1 2 3 4     call so many cards of it; a new call replaces your old one
  ENTER       answer the offer marked with ▶ with as many of yours
  TAB         mark another offer       w   take your open offer back
  b  e        the Bull, the Bear goes with the next call (again: it stays)
{mixing}  SPACE       ring the bell, in the commodity that pays most
  c           say something            m   mute a player's words, or unmute
  r           ready: start, hand sorted, next round; play again (n: no)
  v           the rules of this table  i   invite others to your own table
  t           move your seat to another device
  q           leave

{idle}
                                                        Any key closes this."""
MIXING: Final = """\
  RIGHT LEFT  mark a card of the chosen commodity for a mixed lot; unmark it
  x           unmark all
"""
HELP_WATCHING: Final = """\
You watch: every call, every trade's size, the cards shown at a corner. Hands
stay hidden until then, for you as for the players.

  v   the rules of this table
  m   mute a player's words, or unmute
  q   stop watching
                                                        Any key closes this."""
LEAVE: Final = f"""\
Leave the table?

  k   keep the seat and quit: a stand-in plays your hand, and `pit play`
      brings you back to it. A game without any person ends after {words.span(ALONE_S)}.
  y   leave for good: the seat is given up
      any other key: stay"""
PHRASE_KEYS: Final[dict[str, table_pb2.Phrase.ValueType]] = {
    "h": table_pb2.PHRASE_HURRY,
    "w": table_pb2.PHRASE_WELL_PLAYED,
    "s": table_pb2.PHRASE_SORRY,
    "t": table_pb2.PHRASE_THANKS,
    "1": table_pb2.PHRASE_ONE,
    "2": table_pb2.PHRASE_TWO,
    "3": table_pb2.PHRASE_THREE,
    "4": table_pb2.PHRASE_FOUR,
}
NOT_OPEN: Final[dict[int, str]] = {
    table_pb2.PHASE_SEATING: "The game has not started. r starts it, or says you are ready.",
    table_pb2.PHASE_SORTING: "Nothing was sent: trading is not open yet.",
    table_pb2.PHASE_BETWEEN: "Nothing was sent: the round is over.",
}


def help_text(rules: Rules, watching: bool) -> str:
    """All keys, those that these rules give a meaning."""
    if watching:
        return HELP_WATCHING
    idle = f"Who makes no move for {rules.idle_s} s counts as away; then a stand-in plays."
    return HELP.format(mixing=MIXING if rules.mixed_lots else "", idle=idle)


def phrases() -> str:
    """The menu of what can be said."""
    lines = [f"  {key}   {words.PHRASES[phrase]}" for key, phrase in PHRASE_KEYS.items()]
    return "\n".join(["Say to everybody at the table:", "", *lines, "", "any other key: nothing"])


def mutes(view: TableView, muted: Muted) -> str:
    """The menu of whose words are not shown."""
    lines = [
        f"  {seat}   {story.player(view, seat)}{'   muted' if muted.has(view, seat) else ''}"
        for seat in story.others(view)
    ]
    head = "Whose words are not to be shown to you? The same key brings them back."
    return "\n".join([head, "", *lines, "", "any other key: nothing changes"])


def invitation(code: str) -> str:
    """The invite code, where it is known here, and how to get another one."""
    how = f"Others join by:\n\n  pit play --code {code}\n\n" if code else ""
    return f"{how}  n   a new code; earlier ones are worth nothing then\n\nany other key: nothing"


def transfer(code: str) -> str:
    """How to go on at another device."""
    return (
        "To go on at another device, there:\n\n"
        f"  pit play --transfer {code}\n\n"
        "Soon worth nothing, and for you alone: whoever has it is you.\n"
        "When it is used, this terminal gives the seat up.         Any key closes this."
    )
