"""The protocol of one table of a Watch, without I/O: watching, and commands by Act.

    wanted = protocol.wanted()                 this table's part of the request of every stream
    for happening in protocol.take(part): ...
    acting = protocol.next_act()               the call to make now, if there is one
    for happening in protocol.acted(acting, response): ...
    for happening in protocol.act_failed(acting, rejected): ...

Calls may overtake each other and numbers must not, so one call is on its way at a time. Both the
call and the stream tell what became of a command. Of what is settled for good the first word
counts; of everything else (a number that is not used up, an answer given again) only the call's.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from pit.v1 import play_pb2

from engine.value import value
from services.client.happenings import Effective, Happening, Over
from services.client.protocol import Pending, SeatProtocol

OLD_ATTACHMENT: Final = frozenset({"SUPERSEDED", "GENERATION_ENDED", "INVALID_ATTACHMENT"})
"""Refusals after which the stream says how it goes on: it ends, or brings a new attachment."""


@value
class Acting:
    """A call on its way."""

    request: play_pb2.ActRequest
    pending: Pending


class WatchProtocol(SeatProtocol):
    """See the module's text. Without a seat token it is a spectator's, who has no commands."""

    invite_code = ""
    """Of a private table that is watched without a seat."""
    _attachment = b""
    _acting: Acting | None = None

    # ------------------------------------------------------------------ out

    def wanted(self) -> play_pb2.WatchedTable:
        """What a new stream is asked for."""
        self.attached = False
        self._acting = None
        return play_pb2.WatchedTable(
            table=self.table,
            seat_token=self.seat_token,
            resume=self._resume(),
            invite_code=self.invite_code,
        )

    def next_act(self) -> Acting | None:
        """The command whose turn it is, unless one is on its way or they have to wait."""
        if self._acting is not None or self._held or not self.attached:
            return None
        for pending in self._pending.values():
            if not pending.answered:
                self._count_try(pending)
                request = play_pb2.ActRequest(
                    table=self.table,
                    attachment=self._attachment,
                    generation=self._generation,
                    command=pending.command,
                )
                self._acting = Acting(request, pending)
                return self._acting
        return None

    def _send(self, pending: Pending) -> None:
        """It waits for its turn."""

    # ------------------------------------------------------------------ what became of a call

    def acted(self, acting: Acting, response: play_pb2.ActResponse) -> Iterator[Happening]:
        """The command is effective; its outcome is told when the view has its event."""
        pending = self._returned(acting)
        if pending is None:
            return
        number = pending.command.number
        traded = response.traded if response.HasField("traded") else None
        if self.view is not None and self.view.seq >= response.seq:
            yield self._told(number, Effective(response.seq, traded))
        else:
            pending.answered = True

    def act_failed(self, acting: Acting, rejected: play_pb2.Rejected) -> Iterator[Happening]:
        """The call was refused, or nobody knows what became of it."""
        if self._returned(acting) is None:
            return
        if rejected.reason in OLD_ATTACHMENT:
            acting.pending.refused = rejected
            yield self._wait()
        elif rejected.consumed:
            yield from self._on_rejected(rejected)
        else:
            # Those after it may have been tried before a reset, but none is on its way now.
            self._held = True
            acting.pending.refused = rejected
            yield from self._go_back_to(acting.pending)

    def _returned(self, acting: Acting) -> Pending | None:
        """The command of this call, if it still waits for an outcome under the same number."""
        if self._acting is not acting:
            return None
        self._acting = None
        number = acting.request.command.number
        return acting.pending if self._pending.get(number) is acting.pending else None

    # ------------------------------------------------------------------ in

    def _other(self, item: play_pb2.Item, epoch: bytes) -> Iterator[Happening]:
        kind = item.WhichOneof("kind")
        if kind == "effective" or (kind == "rejected" and not item.rejected.consumed):
            return
        if kind == "ended":
            yield Over(item.ended.code, item.ended.reason)
            return
        if kind == "attached":
            self._attachment = item.attached.attachment
        elif kind == "reset":
            self._attachment = item.reset.attachment
        yield from super()._other(item, epoch)

    def _take_stand(
        self, generation: int, next_number: int, answers: Iterable[play_pb2.Answer]
    ) -> Iterator[Happening]:
        self._acting = None  # what is on its way may carry a number that means another command now
        yield from super()._take_stand(generation, next_number, answers)
