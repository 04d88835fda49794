"""The first item after an Attach: `Attached`, or `Reset` where the client must start anew."""

from collections.abc import Mapping

from pit.v1 import play_pb2

from engine.events import Attached, PastAnswer
from services.gateway.convert.tables import snapshot_message
from services.gateway.errors import Refused


def _answer(past: PastAnswer) -> play_pb2.Answer:
    if past.rejection:
        rejected = Refused.by_table(past.rejection, past.parameters).rejected(past.number)
        return play_pb2.Answer(number=past.number, rejected=rejected)
    effective = play_pb2.Effective(number=past.number, seq=past.seq)
    return play_pb2.Answer(number=past.number, effective=effective)


def attached_item(
    note: Attached, names: Mapping[str, str], attachment: bytes, *, with_snapshot: bool
) -> play_pb2.Item:
    return play_pb2.Item(
        attached=play_pb2.Attached(
            snapshot=snapshot_message(note.shown, names) if with_snapshot else None,
            generation=note.generation,
            next_number=note.last_number + 1,
            answers=[_answer(past) for past in note.answers],
            attachment=attachment,
        )
    )


def reset_item(
    note: Attached,
    reason: play_pb2.ResetReason.ValueType,
    names: Mapping[str, str],
    attachment: bytes,
) -> play_pb2.Item:
    return play_pb2.Item(
        reset=play_pb2.Reset(
            reason=reason,
            snapshot=snapshot_message(note.shown, names),
            generation=note.generation,
            last_number=note.last_number,
            answers=[_answer(past) for past in note.answers],
            attachment=attachment,
        )
    )
