"""One table as all its seats see it together, and what must be true of that. No I/O.

Every seat's stream brings the same events. The first seat to bring one makes its record and moves
the public view; the others only confirm it. A record whose event every seat has seen is closed:
then what its seats were shown in private is compared.

    seat 0   ... 41 42 43          record 41: closed
    seat 1   ... 41 42             record 42: waits for seat 3
    seat 3   ... 41                record 43: waits for seats 1 and 3

A seat whose stream was reset by a snapshot skips the records before it.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from pit.v1 import table_pb2

from loadtest import remembered, scrutiny
from loadtest.checks import Checks
from loadtest.course import Course
from loadtest.record import Record
from loadtest.samples import OVER_TIME, Samples
from loadtest.view import OwnView
from services.client.view import NOBODY, TableView

_NO_CARDS: Final = table_pb2.Cards()


class TableUser(Protocol):
    """Who plays at the table."""

    def must_be_ready(self, table: "LoadTable", seat: int, ready_for: int) -> None: ...

    def began(self, table: "LoadTable") -> None:
        """All its seats are attached, and know the same."""

    def over(self, table: "LoadTable") -> None:
        """The game has ended, and all seats have seen it."""


class LoadTable:
    """See the module's text. Times are monotonic seconds."""

    def __init__(
        self, name: str, seats: int, checks: Checks, samples: Samples, course: Course,
        user: TableUser,
    ) -> None:  # fmt: skip
        self.name = name
        self.public: TableView | None = None
        """As a spectator knows it; `None` until all seats are attached."""
        self.views: list[OwnView | None] = [None] * seats
        self.seated: list[OwnView] = []
        """The same once all are known."""
        self.broken = False
        """A check has failed here; what follows from it is not told again."""
        self.ended = False
        self.starts_at = 0.0
        """When its first deal was intended."""
        self.bell_at = 0.0
        """When the bell that ends the round was intended."""
        self.told = b""
        """The last message that told a seat nothing of its own; others are sent the same."""
        self.told_epoch = b""
        self.told_log_us = 0
        self.told_records: list[Record] = []
        """Its events, which follow each other; empty for none."""
        self._snapshots: list[table_pb2.Snapshot | None] = [None] * seats
        self._base = 0
        """Sequence number of the first record."""
        self._applied = 0
        """Up to here events are in the public view."""
        self._records: deque[Record] = deque()
        self._all = tuple(range(seats))
        self._following = 0
        """A bit for each seat that has a stream, or will have one again."""
        self._checks = checks
        self._samples = samples
        self._course = course
        self._user = user

    @property
    def open(self) -> bool:
        """Whether the exchange is open here."""
        public = self.public
        return public is not None and public.phase == table_pb2.PHASE_OPEN and not self.broken

    # ------------------------------------------------------------------ attaching

    def snapshot(self, seat: int, view: OwnView, snapshot: table_pb2.Snapshot) -> None:
        """A seat knows the table afresh: at its first attach, or after a reset."""
        self.views[seat] = view
        self._snapshots[seat] = snapshot
        if self.public is None:
            self.begin_when_all_agree()
            return
        view.seats = self.public.seats
        self.seated[seat] = view
        bit = 1 << seat
        for offset, record in enumerate(self._records):
            if self._base + offset > view.seq:
                break
            if record.missing & bit:
                record.missing &= ~bit
                record.skipped = True
        if all(one is None or one.seq > self._applied for one in self.views):
            newest = self._newest()
            self._show(newest, newest.seq)

    def begin_when_all_agree(self) -> None:
        """Before the start, events only tell who sits down: they are not recorded."""
        first = self.views[0]
        if first is None or any(one is None or one.seq != first.seq for one in self.views):
            return
        self._following = (1 << len(self.views)) - 1
        self._show(self._newest(), first.seq)
        self._user.began(self)

    def _newest(self) -> table_pb2.Snapshot:
        return max((one for one in self._snapshots if one), key=lambda one: one.seq)

    def _show(self, snapshot: table_pb2.Snapshot, seq: int) -> None:
        """Take the public view from a snapshot: nobody will tell what was before `seq`."""
        public = TableView(snapshot)
        public.seat = NOBODY
        public.seq = self._applied = seq
        self.public = public
        while self._records and self._base <= seq:
            self._records.popleft()
            self._base += 1
        self._base = max(self._base, seq + 1)
        self.seated = [view for view in self.views if view is not None]
        for view in self.seated:
            view.seats = public.seats
        self._advance()

    # ------------------------------------------------------------------ events

    def known(self, seq: int, public: bytes) -> Record | None:
        """The record of the event of this number, if another seat has brought it in equal bytes."""
        place = seq - self._base
        if 0 <= place < len(self._records):
            record = self._records[place]
            if record.public == public:
                return record
        return None

    def record_of(self, event: table_pb2.Event, public: bytes, seat: int, now: float) -> Record:
        """The record of an event that this seat has brought, in these bytes."""
        place = event.seq - self._base
        records = self._records
        if place < 0:  # told again to a seat that lags behind a reset: only its cards matter
            record = Record(event.seq, 0)
        else:
            while place >= len(records):
                records.append(Record(self._base + len(records), self._following))
            record = records[place]
        if record.event is None:
            record.fill(event, public, self._all)
            record.first_at = now
            self._judge(scrutiny.shape(event))
            if event.seq == self._applied + 1:
                self._advance()
        elif record.event != event:
            self._judge(scrutiny.difference(record.kind, event, seat))
        return record

    def saw(
        self,
        seat: int,
        record: Record,
        now: float,
        received: table_pb2.Cards = _NO_CARDS,
        given: table_pb2.Cards = _NO_CARDS,
    ) -> bool:
        """A seat has seen the record's event, in its order, and was perhaps shown cards beside it;
        whether they were its own to see."""
        record.missing &= ~(1 << seat)
        if self.broken:
            return False
        if seat in record.sides and self._took(seat, record, now, received, given):
            return True
        self._checks.checked["hidden"] += 1
        event = record.event
        assert event is not None
        self._judge(scrutiny.nothing_shown(event, seat, received, given))
        return False

    def close_records(self, now: float) -> None:
        """Close what all seats have seen by now."""
        records = self._records
        while records and not records[0].missing:
            record = records.popleft()
            self._base += 1
            if record.event is not None:
                self._close(record, now)

    def record(self, seq: int) -> Record | None:
        """Of an event that is not closed yet."""
        place = seq - self._base
        return self._records[place] if 0 <= place < len(self._records) else None

    def unseen(self) -> int:
        """Events that some seat has not seen."""
        return len(self._records)

    def must_be_seen(self) -> None:
        """Enough has been waited: every seat has seen every event, or one was kept from it."""
        for record in self._records:
            if record.missing and record.event is not None:
                seats = [seat for seat in range(len(self.views)) if record.missing >> seat & 1]
                check = "trades" if record.kind == "traded" else "sequences"
                self.fail(check, f"event {record.event.seq} ({record.kind}) never came to {seats}")

    def fail(self, check: str, what: str) -> None:
        if not self.broken:
            self.broken = True
            self._checks.fail(check, self.name, what)

    def _advance(self) -> None:
        """Move the public view over every event that is known without a hole. The commonest are
        applied by what their records know: nobody here asks when an offer ends."""
        public = self.public
        assert public is not None
        while (record := self.record(self._applied + 1)) is not None:
            event = record.event
            if event is None:
                return
            if record.kind == "offer_opened":
                self._judge(scrutiny.opened(public, record))
                public.seq = record.seq
                public.seats[record.seat].open_offer(record.size, record.aim, 0)
            elif record.kind == "traded":
                self._checks.checked["trades"] += 1
                self._judge(scrutiny.trade(public, record))
                public.seq = record.seq
                public.seats[record.seat].end_offer()
                public.seats[record.partner].end_offer()
            else:
                public.apply(event)
            self._applied = record.seq

    # ------------------------------------------------------------------ what a seat alone sees

    def _took(
        self, seat: int, record: Record, now: float, received: table_pb2.Cards,
        given: table_pb2.Cards,
    ) -> bool:  # fmt: skip
        """What the event means for one of its sides; true if it may be shown cards beside it."""
        view, kind = self._view(seat), record.kind
        if kind == "offer_opened":
            self._took_offer(seat, view, record, received)
            return not given.ByteSize()
        if kind == "traded":
            self._took_trade(seat, view, record, now, received, given)
            return True
        if kind == "dealt":
            self._took_deal(seat, view, record, now, received)
            return not given.ByteSize()
        if kind in ("round_scored", "round_void"):
            self._user.must_be_ready(self, seat, table_pb2.READY_FOR_NEXT)
        if kind != "offer_ended":
            record.cards[seat] = view.hand, 0
        if kind != "cornered":
            view.offer_lot = 0
        return False

    def _took_deal(
        self, seat: int, view: OwnView, record: Record, now: float, received: table_pb2.Cards
    ) -> None:
        assert record.event is not None
        dealt = record.event.dealt
        hand, told = remembered.packed(view.deck, received)
        view.dealt(dealt, hand)
        record.cards[seat] = hand, 0
        if told != dealt.cards[seat]:
            self.fail("cards", f"event {record.seq}: seat {seat} was dealt {told} cards, "
                      f"others were told {dealt.cards[seat]}")  # fmt: skip
        if dealt.round == 1 and self.starts_at:
            self._samples.latency("deal", now - self.starts_at)
        if self.public is not None and self.public.rules.opens_when_sorted:
            self._user.must_be_ready(self, seat, table_pb2.READY_FOR_OPEN)

    def _took_offer(
        self, seat: int, view: OwnView, record: Record, received: table_pb2.Cards
    ) -> None:
        view.offer_lot, told = remembered.packed(view.deck, received)
        if told != record.size:
            self.fail("cards", f"event {record.seq}: seat {seat} offers {record.size}, "
                      f"its lot has {told} cards")  # fmt: skip

    def _took_trade(
        self, seat: int, view: OwnView, record: Record, now: float, received: table_pb2.Cards,
        given: table_pb2.Cards,
    ) -> None:  # fmt: skip
        if seat == record.partner:
            record.seen_at = now
            self._trade_latency(record)
        cards, got = remembered.packed(view.deck, received)
        lost, gave = remembered.packed(view.deck, given)
        record.cards[seat] = cards, lost
        if not got == gave == record.size:
            self.fail("trades", f"event {record.seq}: a trade of {record.size} gave seat "
                      f"{seat} {got} cards for {gave}")  # fmt: skip
        if seat == record.partner and view.offer_lot != lost:
            self.fail("trades", f"event {record.seq}: seat {seat} gave other cards than "
                      "it had offered")  # fmt: skip
        if not view.traded(cards, lost):
            self.fail("cards", f"event {record.seq}: seat {seat} gave cards it had not")

    def _view(self, seat: int) -> OwnView:
        view = self.views[seat]
        assert view is not None
        return view

    # ------------------------------------------------------------------ latencies

    def caused(self, record: Record, intended_at: float, sent_at: float) -> None:
        """One of our commands had its effect with this event."""
        if record.kind == "traded":
            record.intended_at, record.sent_at = intended_at, sent_at
            self._trade_latency(record)
        elif record.kind == "cornered":
            self.bell_at = intended_at

    def _trade_latency(self, record: Record) -> None:
        """From the intended sending of the completing offer to the other side's receipt."""
        if not record.seen_at or not record.intended_at:
            return
        self._samples.latency(OVER_TIME, record.seen_at - record.intended_at)
        if self._course.measured(record.intended_at):
            self._samples.latency("trade", record.seen_at - record.intended_at)
            self._samples.latency("service_trade", record.seen_at - record.sent_at)

    # ------------------------------------------------------------------ closing

    def _close(self, record: Record, now: float) -> None:
        self._checks.checked["sequences"] += 1
        kind = record.kind
        if not record.skipped and not self.broken:
            if self._course.measured(record.first_at):
                self._samples.fanout_skew.append(now - record.first_at)
            if kind == "traded":
                self._judge(scrutiny.both_sides(record))
            elif kind in _CLOSE:
                _CLOSE[kind](self, record, now)
        if kind in ("game_ended", "table_closed") and not self.ended:
            self.ended = True
            self._user.over(self)

    def _close_dealt(self, record: Record, now: float) -> None:
        self._checks.checked["cards"] += 1
        self._judge(scrutiny.pack(record, self._public(), "dealt"))

    def _close_round(self, record: Record, now: float) -> None:
        self._checks.checked["cards"] += 1
        self._judge(scrutiny.pack(record, self._public(), "at the end of a round"))
        if self.bell_at and record.kind == "round_scored":
            if self._course.measured(self.bell_at):
                self._samples.latency("bell", now - self.bell_at)
            self.bell_at = 0.0

    def _close_corner(self, record: Record, now: float) -> None:
        self._judge(scrutiny.corner(record, self._public()))

    def _close_game(self, record: Record, now: float) -> None:
        self._checks.checked["winners"] += 1
        self._judge(scrutiny.winner(record))

    def _public(self) -> TableView:
        assert self.public is not None
        return self.public

    def _judge(self, fault: scrutiny.Fault | None) -> None:
        if fault is not None:
            self.fail(*fault)


_CLOSE: Final[dict[str, Callable[[LoadTable, Record, float], None]]] = {
    "dealt": LoadTable._close_dealt,
    "cornered": LoadTable._close_corner,
    "round_scored": LoadTable._close_round,
    "round_void": LoadTable._close_round,
    "game_ended": LoadTable._close_game,
}
