"""Which command number may come next, and which wait for their answers."""

from engine.rejections import Rejection
from services.gateway.errors import Refusal, Refused
from services.gateway.session.limits import IN_FLIGHT_MAX


class Numbers:
    """Command numbers of one generation.

    A refusal that consumes no number leaves `next` where it is, so until that number arrives
    again every later one is a gap and refused here.
    """

    def __init__(self) -> None:
        self.next = 1
        self.in_flight: dict[int, bool] = {}
        """Number -> whether it is known to be in the table's log."""
        self._since_s: dict[int, float] = {}

    def restart(self, last_number: int) -> None:
        """The table's word, on attaching."""
        self.next = last_number + 1
        self.in_flight.clear()
        self._since_s.clear()

    def admit(self, number: int) -> None:
        """Raise `Refused` unless this number may be sent on: the next, or one used before."""
        if number < 1:
            raise Refused(Refusal.NUMBER_INVALID, expected=self.next)
        if number > self.next:
            raise Refused(Rejection.NUMBER_OUT_OF_RANGE, expected=self.next)
        if number == self.next and len(self.in_flight) >= IN_FLIGHT_MAX:
            raise Refused(Refusal.TOO_MANY_IN_FLIGHT, max=IN_FLIGHT_MAX)

    def sent(self, number: int, now_s: float) -> None:
        self.in_flight[number] = False
        self._since_s[number] = now_s
        self.next = max(self.next, number + 1)

    def answered(self, number: int) -> float:
        """The table has used the number up. When it was sent, 0 where that is not known."""
        self.in_flight.pop(number, None)
        self.next = max(self.next, number + 1)
        return self._since_s.pop(number, 0.0)

    def refused(self, number: int, why: Refused) -> None:
        """Refused without being used up."""
        self.in_flight.pop(number, None)
        self._since_s.pop(number, None)
        if why.why is Rejection.NUMBER_OUT_OF_RANGE:
            self.next = int(why.parameters["expected"])
        elif why.why is not Rejection.NUMBER_REUSED:
            self.next = min(self.next, number)
