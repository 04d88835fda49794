"""A seat's commands on their way into the log, and what becomes of them."""

from pit.v1 import play_pb2

from engine.events import Answered
from services.gateway.convert.commands import Origin, seat_command
from services.gateway.errors import Refusal, Refused
from services.gateway.session.limits import IN_FLIGHT_MAX, Rank
from services.gateway.session.numbers import Numbers
from services.gateway.session.outlet import Outlet, State
from services.gateway.session.port import Door, Exchange
from services.gateway.session.roles import Caller
from services.log.codec import pack_command
from services.log.port import LogError, StoreFull


class Intake(Outlet):
    """The commanding half of a stream: each command gets one answer, refused ones too."""

    def __init__(self, exchange: Exchange, door: Door, caller: Caller) -> None:
        super().__init__(exchange, door, caller)
        self.effect_since_s = 0.0
        self._origin: Origin | None = None
        self._numbers = Numbers()
        self._held: list[play_pb2.Command] = []
        self._effect_seq = 0
        self._effect_number = 0

    # -------------------------------------------------------------- to the table

    def _receive_command(self, command: play_pb2.Command) -> None:
        if self._state is State.ATTACHING:
            self._hold(command)
            return
        number = command.number
        exchange = self._exchange
        try:
            exchange.spend(self.caller, self._table)
            self._numbers.admit(number)
            assert self._origin is not None
            packed = pack_command(seat_command(self._origin, command))
            exchange.submit(self._table, packed, _CommandReceipt(self, number), Rank.TRADING)
        except Refused as refused:
            self._refuse(number, refused)
            return
        self._numbers.sent(number, exchange.now_s())
        exchange.watch_acceptance(self, number)

    def _hold(self, command: play_pb2.Command) -> None:
        if len(self._held) < IN_FLIGHT_MAX:
            self._held.append(command)
        else:
            refused = Refused(Refusal.TOO_MANY_IN_FLIGHT, max=IN_FLIGHT_MAX)
            self._refuse(command.number, refused)

    def _send_held(self) -> None:
        held, self._held = self._held, []
        for command in held:
            self._receive_command(command)

    def _refuse(self, number: int, refused: Refused) -> None:
        self._exchange.observer.refused(refused.why.name)
        self._put_other(play_pb2.Item(rejected=refused.rejected(number)))

    def command_landed(self, number: int, error: LogError | None) -> None:
        if self._state is State.ENDED:
            return
        if error is None:
            if number in self._numbers.in_flight:
                self._numbers.in_flight[number] = True
            return
        full = isinstance(error, StoreFull)
        refused = Refused(Refusal.STORE_FULL if full else Refusal.TABLE_UNAVAILABLE)
        self._numbers.refused(number, refused)
        self._refuse(number, refused)

    def overdue(self, number: int) -> None:
        """The effect of a command has not come quickly."""
        if self._state is State.ENDED or number not in self._numbers.in_flight:
            return
        if self._numbers.in_flight[number]:
            self._put_other(play_pb2.Item(accepted=play_pb2.Accepted(number=number)))
        else:
            self._exchange.watch_acceptance(self, number)

    # -------------------------------------------------------------- from the table

    def answered(self, note: Answered) -> None:
        """The table's answer to a command of this stream."""
        self.record_done()
        number = note.number
        if note.rejection:
            refused = Refused.by_table(note.rejection, note.parameters)
            if refused.consumed:
                self._numbers.answered(number)
            else:
                self._numbers.refused(number, refused)
            self._put_other(play_pb2.Item(rejected=refused.rejected(number)))
            return
        self.effect_since_s = self._numbers.answered(number)
        self._effect_seq = note.seq
        self._effect_number = number
        if not note.kept:
            self.record_done()

    def own_number(self, seq: int) -> int:
        if self._effect_seq != seq:
            return 0
        self._effect_seq = 0
        return self._effect_number

    def record_done(self) -> None:
        """Tell of an effect that no event of the record carried."""
        if self._effect_seq:
            effective = play_pb2.Effective(number=self._effect_number, seq=self._effect_seq)
            self._effect_seq = 0
            self._put_other(play_pb2.Item(effective=effective))


class _CommandReceipt:
    """Carries what became of appending one command back to its stream."""

    __slots__ = ("_intake", "_number")

    answer_due = True

    def __init__(self, intake: Intake, number: int) -> None:
        self._intake = intake
        self._number = number

    def landed(self, error: LogError | None) -> None:
        self._intake.command_landed(self._number, error)
