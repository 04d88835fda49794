"""One table's events on their way to those who follow it through this gateway."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from engine import events
from engine.commands import NOBODY
from engine.events import Answered, Event, Record
from engine.rejections import Rejection
from engine.view import view
from services.gateway import wire
from services.gateway.convert.cards import Deck, deck_of
from services.gateway.convert.events import concerned
from services.gateway.convert.serialised import own_bytes, public_bytes
from services.gateway.errors import Refusal, Refused
from services.gateway.session.limits import IN_FLIGHT_MAX
from services.gateway.session.port import Viewer


class Act(NamedTuple):
    """Which command of a seat an answer is for. Its content tells apart two uses of a number."""

    seat: int
    attach: int
    generation: int
    number: int
    content: int


class TableFeed:
    """Lives while somebody follows the table, waits for a seat of it, or for an answer."""

    def __init__(
        self,
        table: str,
        gateway: str,
        names: Mapping[str, str],
        detach: Callable[[str, int, int], None],
        traded: Callable[[float], None],
    ) -> None:
        self.table = table
        self.epoch = b""
        self.head_seq = 0
        self._gateway = gateway
        self._names = names
        self._detach = detach
        self._traded = traded
        self._deck: Deck | None = None
        self._viewers: tuple[Viewer, ...] = ()
        """Never changed but replaced: somebody may leave while they are told of something."""
        self._seats: dict[int, Viewer] = {}
        self._attaching: dict[bytes, Viewer] = {}
        self._given_up: set[bytes] = set()
        """Streams that ended while they asked for a seat: what they are given is taken back."""
        self._given_up_before: set[bytes] = set()
        """The same, from before the last `forget_given_up`."""
        self._asked: dict[bytes | Act, list[asyncio.Future[Any]]] = {}
        """Who waits for the answer to a request id or an act: a call, and its repeats."""
        self._answered: list[Viewer] = []

    @property
    def idle(self) -> bool:
        given_up = self._given_up or self._given_up_before
        return not (self._viewers or self._attaching or self._asked or given_up)

    @property
    def viewers(self) -> tuple[Viewer, ...]:
        return self._viewers

    # -------------------------------------------------------------- who follows

    def await_attach(self, viewer: Viewer) -> None:
        """The next `Attached` or `AttachRefused` that names this viewer's stream is for it."""
        self._attaching[viewer.stream] = viewer

    def add(self, viewer: Viewer) -> None:
        """From the next event on."""
        if viewer not in self._viewers:
            self._viewers = (*self._viewers, viewer)
        if viewer.seat != NOBODY:
            self._seats[viewer.seat] = viewer

    def remove(self, viewer: Viewer) -> None:
        if self._attaching.pop(viewer.stream, None) is not None:
            self._given_up.add(viewer.stream)
        if viewer in self._viewers:
            self._viewers = tuple(each for each in self._viewers if each is not viewer)
        if self._seats.get(viewer.seat) is viewer:
            del self._seats[viewer.seat]

    def await_answer(self, asked: bytes | Act) -> "asyncio.Future[Any]":
        """The `RequestAnswered` to a request id, or the `Answered` to an act.

        Raises `Refused` where the seat has too many acts in flight through this gateway.
        """
        if isinstance(asked, Act) and asked not in self._asked:
            in_flight = sum(each[:2] == asked[:2] for each in self._asked if type(each) is Act)
            if in_flight >= IN_FLIGHT_MAX:
                raise Refused(Refusal.TOO_MANY_IN_FLIGHT, max=IN_FLIGHT_MAX)
        future = asyncio.get_running_loop().create_future()
        self._asked.setdefault(asked, []).append(future)
        return future

    def give_up_answer(self, asked: bytes | Act, future: "asyncio.Future[Any]") -> None:
        """This one waits no longer; its repeats may."""
        waiting = self._asked.get(asked, [])
        if future in waiting:
            waiting.remove(future)
            if not waiting:
                del self._asked[asked]

    # -------------------------------------------------------------- what happened

    def deliver(self, record: Record, epoch: bytes) -> None:
        """Pass one record on: answers and streams to whom they concern, events to everybody."""
        self.epoch = epoch
        seq = record.first_seq
        for item in record.items:
            note = _NOTES.get(type(item))
            if note is not None:
                note(self, item)
                continue
            self.head_seq = seq
            if self._viewers:
                self._pass_on(item, seq)  # type: ignore[arg-type]
            seq += 1
        if self._answered:
            for viewer in self._answered:
                viewer.record_done()
            self._answered.clear()

    def _pass_on(self, event: Event, seq: int) -> None:
        public = self._public(event, seq)
        shared = wire.item(public)
        parties = concerned(event)
        for viewer in self._viewers:
            if viewer.seat in parties or viewer in self._answered:
                viewer.put_event(self._own_item(event, seq, public, viewer) or shared)
            else:
                viewer.put_event(shared)
        if type(event) in _LAST_EVENTS:
            self._end_streams(event)

    def _own_item(self, event: Event, seq: int, public: bytes, viewer: Viewer) -> bytes:
        """The event for somebody who may know more of it, or has caused it; empty where that is
        nothing."""
        number = viewer.own_number(seq)
        own = self._own(event, viewer.seat) if viewer.seat in concerned(event) else None
        if number and type(event) is events.Traded and viewer.effect_since_s:
            self._traded(viewer.effect_since_s)
        if not number and own is None:
            return b""
        return wire.item(public + wire.own_field(number, own))

    def _end_streams(self, event: Event) -> None:
        """Who has no seat any more is shown no more of its cards; of a closed table nobody is."""
        match event:
            case events.SeatLeft(seat=seat) | events.SeatForfeited(seat=seat):
                viewer = self._seats.get(seat)
                if viewer is not None and not viewer.bot:
                    forfeited = type(event) is events.SeatForfeited
                    viewer.over(Rejection.SEAT_FORFEITED if forfeited else Rejection.NOT_SEATED)
            case events.TableClosed():
                for viewer in self._viewers:
                    viewer.over(Rejection.TABLE_CLOSED)

    def _public(self, event: Event, seq: int) -> bytes:
        """The part shared by all, as the field of an item: built from the spectator's view."""
        if type(event) is events.TableOpened:
            self._deck = deck_of(event.rules)
        told = public_bytes(view(event, NOBODY), seq, self._known_deck(), self._names)
        return wire.public_field(told)

    def _own(self, event: Event, seat: int) -> bytes | None:
        return own_bytes(view(event, seat), seat, self._known_deck())

    def _known_deck(self) -> Deck:
        """Every viewer came by an `Attached` or saw the table opened: both tell the deck."""
        assert self._deck is not None
        return self._deck

    def items(self, record: Record, after_seq: int, up_to_seq: int, viewer: Viewer) -> list[bytes]:
        """Events of an old record as `viewer` sees them, with its own numbers."""
        found: list[bytes] = []
        numbers: dict[int, int] = {}
        seq = record.first_seq
        for item in record.items:
            if type(item) is Answered:
                if (item.seat, item.bot, item.generation) == (
                    viewer.seat,
                    viewer.bot,
                    viewer.generation,
                ) and not item.rejection:
                    numbers[item.seq] = item.number
                continue
            if type(item) in _NOTE_TYPES:
                continue
            if after_seq < seq <= up_to_seq:
                event: Event = item  # type: ignore[assignment]
                own = self._own(event, viewer.seat) if viewer.seat in concerned(event) else None
                fields = self._public(event, seq)
                if seq in numbers or own is not None:
                    fields += wire.own_field(numbers.get(seq, 0), own)
                found.append(wire.item(fields))
            seq += 1
        return found

    # -------------------------------------------------------------- notes

    def _on_answered(self, note: Answered) -> None:
        if self._asked:
            act = Act(note.seat, note.attach, note.generation, note.number, note.content)
            self._tell_asked(act, note)
        viewer = self._seats.get(note.seat)
        if viewer is not None and viewer.attach == note.attach:
            viewer.answered(note)
            self._answered.append(viewer)

    def _on_request_answered(self, note: events.RequestAnswered) -> None:
        self._tell_asked(note.request, note)

    def _tell_asked(self, asked: bytes | Act, note: Answered | events.RequestAnswered) -> None:
        for future in self._asked.pop(asked, ()):
            if not future.done():
                future.set_result(note)

    def _on_attached(self, note: events.Attached) -> None:
        self._deck = deck_of(note.shown.rules)
        self.head_seq = note.shown.seq
        holder = self._seats.get(note.seat)
        same = holder is not None and holder.stream == note.stream
        ours = note.gateway == self._gateway
        viewer = self._attaching.pop(note.stream, None) if ours else None
        if viewer is None and same:
            viewer = holder
        if ours and viewer is None:
            self._gone_by_now(note, holder)
            return
        if holder is not None and not same:
            self.remove(holder)
            holder.superseded()
        if ours and viewer is not None:
            viewer.attached(note)

    def _gone_by_now(self, note: events.Attached, holder: Viewer | None) -> None:
        """A stream has ended before it was given its seat: give that back. Whoever held the seat
        through this gateway, perhaps a newer stream of the same person whose words were on a
        quicker way, asks for it again and misses nothing."""
        self._answered_late(note.stream)
        self._detach(self.table, note.seat, note.attach)
        if holder is not None:
            holder.taken_for_lost()

    def _on_shown(self, note: events.Shown) -> None:
        """A spectator is attached to nothing but the events that follow."""
        self._deck = deck_of(note.shown.rules)
        self.head_seq = note.shown.seq
        if note.gateway != self._gateway:
            return
        self._answered_late(note.stream)
        viewer = self._attaching.pop(note.stream, None)
        if viewer is not None:
            viewer.attached(
                events.Attached(
                    seat=NOBODY,
                    attach=0,
                    generation=0,
                    bot=False,
                    gateway=note.gateway,
                    stream=note.stream,
                    resumed=False,
                    last_number=0,
                    answers=(),
                    shown=note.shown,
                    at_ms=note.shown.at_ms,
                )
            )

    def _on_attach_refused(self, note: events.AttachRefused | events.WatchRefused) -> None:
        if note.gateway == self._gateway:
            self._answered_late(note.stream)
            viewer = self._attaching.pop(note.stream, None)
            if viewer is not None:
                viewer.attach_refused(note.rejection)

    def _on_streams_lost(self, note: events.StreamsLost) -> None:
        """Taken for lost, though we live: we were silent for too long."""
        if note.gateway == self._gateway:
            for viewer in tuple(self._seats.values()):
                viewer.taken_for_lost()

    def _on_other_note(self, note: object) -> None:
        """Of no concern to those who follow."""

    def forget_given_up(self) -> None:
        """What was asked for before the last time has been answered by now, or never will be."""
        self._given_up_before, self._given_up = self._given_up, set()

    def _answered_late(self, stream: bytes) -> None:
        """A stream that was given up has been answered after all."""
        self._given_up.discard(stream)
        self._given_up_before.discard(stream)

    # -------------------------------------------------------------- trouble

    def history_lost(self) -> None:
        """The log went back: everybody who follows needs a fresh start."""
        for viewer in {
            id(each): each for each in (*self._viewers, *self._attaching.values())
        }.values():
            viewer.history_lost()

    def stopped(self) -> None:
        """A record of this table is damaged: nobody knows how it goes on."""
        self._answered.clear()
        for viewer in (*self._viewers, *self._attaching.values()):
            viewer.over(Rejection.TABLE_STOPPED)
        for futures in self._asked.values():
            for future in futures:
                if not future.done():
                    future.set_exception(Refused(Rejection.TABLE_STOPPED))


_NOTES: Final[dict[type, Callable[[TableFeed, Any], None]]] = {
    events.Answered: TableFeed._on_answered,
    events.RequestAnswered: TableFeed._on_request_answered,
    events.Attached: TableFeed._on_attached,
    events.AttachRefused: TableFeed._on_attach_refused,
    events.Detached: TableFeed._on_other_note,
    events.Marked: TableFeed._on_other_note,
    events.Shown: TableFeed._on_shown,
    events.WatchRefused: TableFeed._on_attach_refused,
    events.StreamsLost: TableFeed._on_streams_lost,
}
_NOTE_TYPES: Final = frozenset(_NOTES)


def numbered(record: Record) -> Iterator[tuple[int, Event]]:
    """The events of a record, each with its number."""
    found = (item for item in record.items if type(item) not in _NOTE_TYPES)
    return enumerate(found, record.first_seq)  # type: ignore[arg-type]


_LAST_EVENTS: Final = frozenset({events.SeatLeft, events.SeatForfeited, events.TableClosed})
"""After which some or all who follow have nothing more to see."""
