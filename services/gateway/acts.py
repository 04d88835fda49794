"""`PlayService.Act`: one command of a seat whose stream is a Watch, through any gateway.

Nothing is kept here between two calls. Which seat it is for stands in the attachment that the
seat's stream was given; whether that stream still holds the seat, and whether the number is the
next, the table decides as it does for a command of a Play stream.
"""

from collections.abc import Callable

from pit.v1 import play_pb2

from engine import events
from engine.events import Answered, Record
from services.gateway.admission import Admission
from services.gateway.convert.cards import deck_by_number
from services.gateway.convert.commands import Origin, seat_command
from services.gateway.errors import Refusal, Refused
from services.gateway.feed import Act, numbered
from services.gateway.hub import Hub
from services.gateway.identity.tokens import SignedTokens
from services.gateway.observer import Observer
from services.gateway.resource_names import parse_table
from services.gateway.session.roles import Caller
from services.log.codec import pack_command


class ActService:
    """See the module's text."""

    def __init__(
        self,
        hub: Hub,
        tokens: SignedTokens,
        admission: Admission,
        clock: Callable[[], float],
        observer: Observer,
    ) -> None:
        self._hub = hub
        self._clock = clock
        self._tokens = tokens
        self._admission = admission
        self._observer = observer

    async def act(self, caller: Caller, request: play_pb2.ActRequest) -> play_pb2.ActResponse:
        """Append the command and wait for its effect. Raises `Refused`.

        The refusal's parameters say whether it has used the command's number up.
        """
        began_s = self._clock()
        try:
            table = parse_table(request.table, self._hub.shards)
            answer = await self._answer(caller, table, request)
        except Refused as refused:
            refused.parameters["consumed"] = str(refused.consumed).lower()
            raise
        traded = None
        if request.command.HasField("offer"):
            record = self._hub.ring.holding(table, answer.seq)
            traded = _traded(record, answer) if record is not None else None
            if traded and answer.kept and self._hub.shown(table):
                self._observer.traded(began_s)  # the seats are told at the end of this turn
        return play_pb2.ActResponse(seq=answer.seq, traded=traded)

    async def _answer(self, caller: Caller, table: str, request: play_pb2.ActRequest) -> Answered:
        held = self._tokens.attachment_held(request.attachment, table, caller.person)
        if request.generation < 0:
            raise Refused.field("generation", "not negative")
        origin = Origin(held.seat, held.attach, request.generation, deck_by_number(held.deck))
        try:
            self._admission.at_table(caller, table)
            answer = await self._ask(table, origin, request.command)
        except Refused as refused:
            self._observer.refused(refused.why.name)
            raise
        if answer.rejection:
            raise Refused.by_table(answer.rejection, answer.parameters)
        return answer

    async def _ask(self, table: str, origin: Origin, command: play_pb2.Command) -> Answered:
        if command.number < 1:
            raise Refused(Refusal.NUMBER_INVALID)
        asked = seat_command(origin, command)
        act = Act(origin.seat, origin.attach, origin.generation, command.number, asked.content)
        return await self._hub.act(table, act, pack_command(asked))


def _traded(record: Record, answer: Answered) -> bool | None:
    """Of an offer that is effective: whether it met another one at once."""
    for seq, event in numbered(record):
        if seq >= answer.seq:
            match event:  # what comes before it may be the return of a player who was away
                case events.Traded(seat=answer.seat):
                    return True
                case events.OfferOpened(seat=answer.seat):
                    return False
    return None
