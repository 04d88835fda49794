"""Servers that lie once: pretended tables of which one event is told wrongly."""

import random
from collections.abc import Callable, Iterator

from pit.v1 import play_pb2, table_pb2

from loadtest.null.table import NullTable, Tell

FIRST = 3
"""The lie is about the third event of its kind, when play is in full swing."""
LIED_TO = 2
"""The seat that is lied to, where it is one."""

Event = table_pb2.Event
Told = Iterator[play_pb2.Item]


class Liar(NullTable):
    """Tells the truth; `told` may make something else of it for one seat."""

    kind = "traded"

    def __init__(self, name: str, seats: int, tell: Tell, chance: random.Random) -> None:
        super().__init__(name, seats, self._lie, chance)
        self._really = tell
        self._seen = [0] * seats
        self.lied = False

    def told(self, seat: int, item: play_pb2.Item, event: Event, nth: int) -> Told:
        """`nth` counts the events of the kind lied about, 0 for all others."""
        yield item

    def _lie(self, seat: int, item: play_pb2.Item) -> None:
        event = play_pb2.PublicItem.FromString(item.public).event
        nth = 0
        if item.public and event.WhichOneof("kind") == self.kind:
            self._seen[seat] += 1
            nth = self._seen[seat]
        for one in self.told(seat, item, event, nth):
            self._really(seat, one)


def numbered(item: play_pb2.Item, seq: int) -> play_pb2.Item:
    """The same event under another number."""
    public = play_pb2.PublicItem.FromString(item.public)
    public.event.seq = seq
    changed = play_pb2.Item()
    changed.CopyFrom(item)
    changed.public = public.SerializeToString()
    return changed


class DropsATrade(Liar):
    """One seat is not told of a trade; what follows keeps its number."""

    def told(self, seat: int, item: play_pb2.Item, event: Event, nth: int) -> Told:
        if nth != FIRST or seat != LIED_TO:
            yield item


class DropsATradeUnseen(Liar):
    """One seat is not told of a trade, and all that follows has a number less."""

    def told(self, seat: int, item: play_pb2.Item, event: Event, nth: int) -> Told:
        if seat != LIED_TO or not item.public or self._seen[seat] < FIRST:
            yield item
        elif nth != FIRST:
            yield numbered(item, event.seq - 1)


class KeepsATradeToItself(Liar):
    """Nobody is told of a trade: whoever asked for it waits."""

    def happen(self, event: Event, own: dict[int, play_pb2.Own]) -> None:
        if event.WhichOneof("kind") == "traded" and self.round and not self.lied and self.seq > 20:
            self.lied = True
            return
        super().happen(event, own)


class DoublesATrade(Liar):
    """One seat is told of a trade twice."""

    def told(self, seat: int, item: play_pb2.Item, event: Event, nth: int) -> Told:
        yield item
        if nth == FIRST and seat == LIED_TO:
            yield item


class DoublesATradeForAll(Liar):
    """Everybody is told of a trade twice, as if there had been two."""

    def happen(self, event: Event, own: dict[int, play_pb2.Own]) -> None:
        super().happen(event, own)
        if event.WhichOneof("kind") == "traded" and not self.lied and self.seq > 20:
            self.lied = True
            super().happen(event, own)


class ReordersATrade(Liar):
    """One seat is told of a trade after the event that followed it."""

    def __init__(self, name: str, seats: int, tell: Tell, chance: random.Random) -> None:
        super().__init__(name, seats, tell, chance)
        self._kept: play_pb2.Item | None = None

    def told(self, seat: int, item: play_pb2.Item, event: Event, nth: int) -> Told:
        if seat == LIED_TO and nth == FIRST:
            self._kept = item
            return
        yield item
        if seat == LIED_TO and item.public and self._kept is not None:
            yield self._kept
            self._kept = None


class ReordersATradeForAll(Liar):
    """Everybody is told of an offer and of the trade that met it the other way round."""

    def __init__(self, name: str, seats: int, tell: Tell, chance: random.Random) -> None:
        super().__init__(name, seats, tell, chance)
        self._kept: tuple[Event, dict[int, play_pb2.Own]] | None = None

    def happen(self, event: Event, own: dict[int, play_pb2.Own]) -> None:
        opened = event.WhichOneof("kind") == "offer_opened"
        if opened and self._kept is None and not self.lied and self.seq > 20:
            self._kept = event, own
            return
        if self._kept is None:
            super().happen(event, own)
            return
        if event.WhichOneof("kind") == "traded":
            meets = self._kept[0].offer_opened.seat == event.traded.partner
            self.lied = self.lied or meets
            later, self._kept = self._kept, None
            super().happen(event, own) if meets else super().happen(*later)
            super().happen(*later) if meets else super().happen(event, own)
            return
        later, self._kept = self._kept, None
        super().happen(*later)
        super().happen(event, own)


class LeaksALot(Liar):
    """A seat is shown cards of a trade between two others."""

    def told(self, seat: int, item: play_pb2.Item, event: Event, nth: int) -> Told:
        if nth >= FIRST and not item.HasField("own"):
            leaking = play_pb2.Item(public=item.public)
            one = table_pb2.CardCount(commodity=table_pb2.COMMODITY_WHEAT, count=1)
            leaking.own.received.counts.append(one)
            yield leaking
        else:
            yield item


class LeaksInAnUnknownField(Liar):
    """An offer's event carries a field that the schema has not."""

    kind = "offer_opened"

    def told(self, seat: int, item: play_pb2.Item, event: Event, nth: int) -> Told:
        if nth >= FIRST:
            inside = event.SerializeToString() + b"\xfa\x07\x01\x05"  # field 127: one byte
            size = len(inside)
            public = b"\x0a" + bytes([size]) + inside
            changed = play_pb2.Item()
            changed.CopyFrom(item)
            changed.public = public
            yield changed
        else:
            yield item


class SwapsACard(Liar):
    """One side of a trade gets another card than the other side gave."""

    def told(self, seat: int, item: play_pb2.Item, event: Event, nth: int) -> Told:
        if nth == FIRST and seat == event.traded.partner and item.own.received.counts:
            changed = play_pb2.Item()
            changed.CopyFrom(item)
            count = changed.own.received.counts[0]
            count.commodity = table_pb2.Commodity.ValueType(count.commodity % 3 + 1)
            yield changed
        else:
            yield item


class DealsACardTwice(Liar):
    """A seat is dealt a card that another one holds."""

    kind = "dealt"

    def told(self, seat: int, item: play_pb2.Item, event: Event, nth: int) -> Told:
        if nth == 1 and seat == LIED_TO:
            changed = play_pb2.Item()
            changed.CopyFrom(item)
            first, *_, last = changed.own.received.counts
            first.count, last.count = first.count + 1, last.count - 1
            yield changed
        else:
            yield item


class TellsAnotherWinner(Liar):
    """One seat is told that somebody else has won."""

    kind = "game_ended"

    def told(self, seat: int, item: play_pb2.Item, event: Event, nth: int) -> Told:
        if nth and seat == LIED_TO:
            public = play_pb2.PublicItem(event=event)
            places = list(event.game_ended.places)
            public.event.game_ended.places[:] = places[1:] + places[:1]
            yield play_pb2.Item(public=public.SerializeToString())
        else:
            yield item


LIES: dict[Callable[..., NullTable], set[str]] = {
    DropsATrade: {"sequences"},
    DropsATradeUnseen: {"trades"},
    KeepsATradeToItself: {"trades"},
    DoublesATrade: {"sequences"},
    DoublesATradeForAll: {"trades"},
    ReordersATrade: {"sequences"},
    ReordersATradeForAll: {"trades"},
    LeaksALot: {"hidden"},
    LeaksInAnUnknownField: {"hidden"},
    SwapsACard: {"trades"},
    DealsACardTwice: {"cards"},
    TellsAnotherWinner: {"winners"},
}
"""Each with the check that must find it."""
