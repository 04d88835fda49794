"""What has happened at a table: facts, complete enough that `evolve` alone rebuilds the table.

`Event`s carry the table's gap-free sequence numbers: the number is the event's place in the
table's history, stored once per record (`Record.first_seq`) and not in each event. `Note`s have
no number: they keep what must survive (answers, streams, marks) but is not the game's history.

A field marked *private* is `None` (or `NO_CARDS` where it counts cards) in what `view` shows to
those who may not know it. All times are log time in milliseconds; `..._at_ms` are absolute.

    seats      who sits there; opening, starting and closing a table
    rounds     readiness, deals, the end of a round and of the game, the vote on a rematch
    play       offers, trades, bells, calls
    operators  freezing, correcting, announcing
    notes      answers, streams, marks
    kinds      why an offer ended, why a seat is away, corners, endings
    record     all of them, and a table's part of a log entry
"""

from engine.events.kinds import Absence, Corner, End, Why
from engine.events.notes import (
    Answered,
    Attached,
    AttachRefused,
    Detached,
    Marked,
    Note,
    PastAnswer,
    RequestAnswered,
    Shown,
    StreamsLost,
    WatchRefused,
)
from engine.events.operators import Announced, Frozen, ScoreAdjusted, Thawed
from engine.events.play import BellRefused, Called, Cornered, OfferEnded, OfferOpened, Traded
from engine.events.record import Event, Record
from engine.events.rounds import (
    Committed,
    Dealt,
    ExchangeOpened,
    GameEnded,
    ReadyGiven,
    RematchAgreed,
    RematchFailed,
    RematchVoted,
    RoundScored,
    RoundVoid,
)
from engine.events.seats import (
    BotSeated,
    BotWanted,
    InviteRotated,
    OwnerChanged,
    SeatAway,
    SeatBack,
    SeatForfeited,
    SeatLeft,
    SeatsDropped,
    SeatTaken,
    StartCalled,
    TableClosed,
    TableOpened,
)

__all__ = [
    "Absence",
    "Announced",
    "Answered",
    "AttachRefused",
    "Attached",
    "BellRefused",
    "BotSeated",
    "BotWanted",
    "Called",
    "Committed",
    "Corner",
    "Cornered",
    "Dealt",
    "Detached",
    "End",
    "Event",
    "ExchangeOpened",
    "Frozen",
    "GameEnded",
    "InviteRotated",
    "Marked",
    "Note",
    "OfferEnded",
    "OfferOpened",
    "OwnerChanged",
    "PastAnswer",
    "ReadyGiven",
    "Record",
    "RematchAgreed",
    "RematchFailed",
    "RematchVoted",
    "RequestAnswered",
    "RoundScored",
    "RoundVoid",
    "ScoreAdjusted",
    "SeatAway",
    "SeatBack",
    "SeatForfeited",
    "SeatLeft",
    "SeatTaken",
    "SeatsDropped",
    "Shown",
    "StartCalled",
    "StreamsLost",
    "TableClosed",
    "TableOpened",
    "Thawed",
    "Traded",
    "WatchRefused",
    "Why",
]
