"""What a list of tables shows of one, and which events change it."""

from typing import Final

from engine.commands import NOBODY
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
from engine.rules import PRESETS, Rules, rules_hash
from engine.table import Table
from engine.view import show
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
    shown = show(table, NOBODY)
    seats = shown.seats
    return LobbyLine(
        table=shown.table,
        display_name=shown.display_name,
        owner=shown.owner,
        visibility=shown.visibility,
        preset=_preset(shown.rules),
        rules_hash=rules_hash(shown.rules),
        rules=shown.rules,
        seats=len(seats),
        persons=tuple(seat.person for seat in seats),
        bots=tuple(number for number, seat in enumerate(seats) if seat.bot),
        bots_wanted=tuple(number for number, seat in enumerate(seats) if seat.bot_wanted),
        for_bots=table.for_bots,
        phase=shown.phase,
        round=shown.round,
        seq=shown.seq,
        absent_policy=table.absent_policy,
        bots_allowed=table.bots,
        invite_hash=table.invite_hash,
        rematch_table=table.rematch_table,
        rematch=tuple(seat.person if seat.plays_again else "" for seat in table.seats)
        if table.rematch_table
        else (),
        start_at_s=shown.start_at_s,
    )


def _preset(rules: Rules) -> str:
    return next((name for name, preset in PRESETS.items() if preset == rules), "")
