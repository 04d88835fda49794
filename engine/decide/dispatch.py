"""Which function decides a command, by its type."""

from collections.abc import Callable
from typing import Any, Final

from engine import commands as c
from engine.decide import bell, gate, operators, play, rematch, rounds, seats, streams, timers
from engine.decide.gate import Chance, Decision, Outcome
from engine.events import Answered
from engine.table import Seat, Table

SEAT_ACTS: Final[dict[type, Callable[[Table, int, Seat, Any, int, Chance], Outcome]]] = {
    c.Offer: play.offer,
    c.Withdraw: play.withdraw,
    c.RingBell: bell.ring,
    c.Ready: rounds.ready,
    c.Call: play.call,
}

OTHERS: Final[dict[type, Callable[[Table, Any, int, Chance], Decision]]] = {
    c.OpenTable: seats.open_table,
    c.OpenSeated: seats.open_seated,
    c.Join: seats.join,
    c.Leave: seats.leave,
    c.Start: seats.start,
    c.StartDue: seats.start_due,
    c.RotateInvite: seats.rotate_invite,
    c.RemoveSeat: seats.remove,
    c.VoteRematch: rematch.vote,
    c.Freeze: operators.freeze,
    c.Unfreeze: operators.unfreeze,
    c.VoidRound: operators.void_round,
    c.AdjustScore: operators.adjust_score,
    c.Announce: operators.announce,
    c.CloseTable: operators.close_table,
    c.Attach: streams.attach,
    c.Watch: streams.watch,
    c.Detach: streams.detach,
    c.GatewayLost: streams.gateway_lost,
    c.Tick: timers.tick,
}


def decide(table: Table, command: c.Command, now_ms: int, chance: Chance) -> Decision:
    """Events in order, and the note that is recorded before them, if there is one."""
    kind = type(command)
    if kind not in SEAT_ACTS:
        return OTHERS[kind](table, command, now_ms, chance)
    act = SEAT_ACTS[kind]
    asked: c.SeatCommand = command  # type: ignore[assignment]  # by its type, see SEAT_ACTS
    index = asked.seat
    held = table.seats
    if 0 <= index < len(held):
        seat = held[index]
        numbers = seat.current
        if (
            0 < asked.attach == seat.holder
            and asked.generation == numbers.generation
            and asked.number == numbers.last + 1
        ):
            outcome = act(table, index, seat, asked, now_ms, chance)
            if isinstance(outcome, tuple):
                return outcome, Answered(
                    index, asked.attach, seat.bot, asked.generation, asked.number,
                    asked.content, 0, (), table.seq + 1, True,
                )  # fmt: skip
            return (), gate.refused(table, seat, asked, outcome)
    return gate.out_of_order(table, asked, act, now_ms, chance)
