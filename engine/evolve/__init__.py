"""The only code that changes a table.

`evolve(table, item)` applies what has happened. It never refuses and never decides: an event
holds all that is needed, so that any later version of this code rebuilds the same table from it.

    dispatch   which of the others applies an item
    seats      who sits there; opening, starting and closing a table
    rounds     readiness, deals, the end of a round and of the game, the vote on a rematch
    play       offers, trades, bells, calls
    operators  freezing, correcting, announcing
    notes      answers, streams, marks
"""

from engine.evolve.dispatch import evolve

__all__ = ["evolve"]
