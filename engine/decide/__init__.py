"""What a command does to a table, as events; nothing is changed here.

`decide(table, command, now_ms, chance)` gives `(events, answer)`. The guards of every command
run in the order of `Rejection`, all of them before the first event is made.

    dispatch  which of the others decides a command
    gate      streams, generations, numbers: what comes before a seat's act is looked at
    play      offers and withdrawals
    bell      the bell, true, false and late
    rounds    readiness, deals, the end of a round and of the game
    requests  what acts of unary methods have in common
    seats     opening, joining, leaving, removing, starting
    rematch   the vote on playing again
    operators freezing, voiding, correcting, announcing, closing
    streams   attaching, detaching, watching, lost gateways
    timers    what the table does by itself when its time has come
"""

from engine.decide.dispatch import decide
from engine.decide.gate import Chance, Decision, refuse

__all__ = ["Chance", "Decision", "decide", "refuse"]
