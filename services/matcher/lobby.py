"""What a list of tables shows of one, and which events change it."""

from typing import Final

from engine.events import (
    BotSeated,
    BotWanted,
    Dealt,
    ExchangeOpened,
    GameEnded,
    InviteRotated,
    OwnerChanged,
    RematchAgreed,
    RoundScored,
    RoundVoid,
    SeatBack,
    SeatForfeited,
    SeatLeft,
    SeatsDropped,
    SeatTaken,
    StartCalled,
    TableClosed,
    TableOpened,
)
from engine.rules import preset_name, rules_hash
from engine.table import Table
from services.log.codec import LobbyLine

CHANGES_LINE: Final = frozenset(
    {
        BotSeated,
        BotWanted,
        Dealt,
        ExchangeOpened,
        GameEnded,
        InviteRotated,
        OwnerChanged,
        RematchAgreed,
        RoundScored,
        RoundVoid,
        SeatBack,
        SeatForfeited,
        SeatLeft,
        SeatsDropped,
        SeatTaken,
        StartCalled,
        TableClosed,
        TableOpened,
    }
)
"""Events after which a table's line may read differently."""


def lobby_line(table: Table) -> LobbyLine:
    """The table's line. Its `seq` is that of the line's last change."""
    seats = table.seats
    rules = table.rules
    return LobbyLine(
        table=table.table,
        display_name=table.display_name,
        owner=table.owner,
        visibility=table.visibility,
        preset=preset_name(rules),
        rules_hash=rules_hash(rules),
        rules=rules,
        seats=len(seats),
        persons=tuple([seat.person for seat in seats]),
        bots=tuple([number for number, seat in enumerate(seats) if seat.bot]),
        bots_wanted=tuple([number for number, seat in enumerate(seats) if seat.bot_wanted]),
        for_bots=table.for_bots,
        phase=table.phase,
        round=table.round,
        seq=table.seq,
        absent_policy=table.absent_policy,
        bots_allowed=table.bots,
        invite_hash=table.invite_hash,
        rematch_table=table.rematch_table,
        rematch=tuple([seat.person if seat.plays_again else "" for seat in seats])
        if table.rematch_table
        else (),
        start_at_s=table.start_at_s,
    )
