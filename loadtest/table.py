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
from loadtest.record import Record
from loadtest.samples import OVER_TIME, Samples
from loadtest.view import OwnView
from services.client.happenings import Happened
from services.client.view import NOBODY, TableView

_NO_CARDS: Final = table_pb2.Cards()


class Window(Protocol):
    """What is measured."""

    def measured(self, at: float) -> bool:
        """Whether something intended at this time counts."""


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
        self, name: str, seats: int, checks: Checks, samples: Samples, window: Window,
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
        self.told_parts: tuple[bytes, int, list[table_pb2.Event]] = (b"", 0, [])
        """Its epoch, its log time and its events, which follow each other."""
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
        self._window = window
        self._user = user

    @property
    def open(self) -> bool:
        """Whether the exchange is open here."""
        public = self.public
        return public is not None and public.phase == table_pb2.PHASE_OPEN and not self.broken

    def up_to_date(self, seat: int) -> bool:
        """Whether this seat has its hand of the round that is played."""
        return self.public is not None and self.seated[seat].round == self.public.round

    # ------------------------------------------------------------------ attaching

    def snapshot(self, seat: int, view: OwnView, snapshot: table_pb2.Snapshot) -> None:
        """A seat knows the table afresh: at its first attach, or after a reset."""
        self.views[seat] = view
        self._snapshots[seat] = snapshot
        if self.public is None:
            self._begin_when_all_agree()
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

    def _begin_when_all_agree(self) -> None:
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

    def saw(self, seat: int, happened: Happened, now: float) -> Record | None:
        """A seat has seen an event, in its order; the record where it was about its own cards."""
        event = happened.event
        if self.public is None:
            self._begin_when_all_agree()
            return None
        record = self._record_of(event, now)
        if record.event is not event and record.event != event:
            self._judge(scrutiny.difference(record.kind, event, seat))
        record.missing &= ~(1 << seat)
        if self.broken:
            return None
        if seat in record.sides and _OWN[record.kind](self, seat, record, happened, now):
            return record
        self._checks.checked["hidden"] += 1
        self._judge(scrutiny.nothing_shown(happened, seat))
        return None

    def followed(self, seat: int, event: table_pb2.Event, now: float) -> None:
        """The same for an event that came with nothing but what everybody is told."""
        place = event.seq - self._base
        if 0 <= place < len(self._records):
            record = self._records[place]
            if record.event is event and seat not in record.sides:
                record.missing &= ~(1 << seat)
                return
        self.saw(seat, Happened(event, 0, _NO_CARDS, _NO_CARDS), now)

    def _record_of(self, event: table_pb2.Event, now: float) -> Record:
        place = event.seq - self._base
        records = self._records
        if place < 0:  # told again to a seat that lags behind a reset: only its cards matter
            record = Record(0)
        else:
            while place >= len(records):
                records.append(Record(self._following))
            record = records[place]
        if record.event is None:
            record.event = event
            record.kind = event.WhichOneof("kind") or ""
            sides = _SIDES.get(record.kind)
            record.sides = sides(event) if sides is not None else self._nobody_or_all(record.kind)
            record.first_at = now
            self._judge(scrutiny.shape(event))
            if event.seq == self._applied + 1:
                self._advance()
        return record

    def _nobody_or_all(self, kind: str) -> tuple[int, ...]:
        return self._all if kind in _OWN else ()

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
        """Move the public view over every event that is known without a hole."""
        public = self.public
        assert public is not None
        while (record := self.record(self._applied + 1)) is not None:
            event = record.event
            if event is None:
                return
            if record.kind == "traded":
                self._checks.checked["trades"] += 1
                self._judge(scrutiny.trade(public, event))
            elif record.kind == "offer_opened":
                self._judge(scrutiny.opened(public, event))
            public.apply(event)
            self._applied = event.seq

    # ------------------------------------------------------------------ what a seat alone sees

    def _own_dealt(self, seat: int, record: Record, happened: Happened, now: float) -> bool:
        view = self._view(seat)
        dealt = happened.event.dealt
        hand, told = remembered.packed(view.deck, happened.received)
        view.dealt(dealt, hand)
        record.cards[seat] = hand, 0
        if told != dealt.cards[seat]:
            self.fail("cards", f"event {happened.event.seq}: seat {seat} was dealt {told} cards, "
                      f"others were told {dealt.cards[seat]}")  # fmt: skip
        if dealt.round == 1 and self.starts_at:
            self._samples.latency("deal", now - self.starts_at)
        if self.public is not None and self.public.rules.opens_when_sorted:
            self._user.must_be_ready(self, seat, table_pb2.READY_FOR_OPEN)
        return not happened.given.ByteSize()

    def _own_offer(self, seat: int, record: Record, happened: Happened, now: float) -> bool:
        opened = happened.event.offer_opened
        view = self._view(seat)
        view.offer_lot, told = remembered.packed(view.deck, happened.received)
        if told != opened.size:
            self.fail("cards", f"event {happened.event.seq}: seat {seat} offers {opened.size}, "
                      f"its lot has {told} cards")  # fmt: skip
        return not happened.given.ByteSize()

    def _own_offer_ended(self, seat: int, record: Record, happened: Happened, now: float) -> bool:
        self._view(seat).offer_lot = 0
        return False

    def _own_trade(self, seat: int, record: Record, happened: Happened, now: float) -> bool:
        traded = happened.event.traded
        if seat == traded.partner:
            record.seen_at = now
            self._trade_latency(record)
        view = self._view(seat)
        received, got = remembered.packed(view.deck, happened.received)
        given, gave = remembered.packed(view.deck, happened.given)
        record.cards[seat] = received, given
        if not got == gave == traded.size:
            self.fail("trades", f"event {happened.event.seq}: a trade of {traded.size} gave seat "
                      f"{seat} {got} cards for {gave}")  # fmt: skip
        if seat == traded.partner and view.offer_lot != given:
            self.fail("trades", f"event {happened.event.seq}: seat {seat} gave other cards than "
                      "it had offered")  # fmt: skip
        if not view.traded(received, given):
            self.fail("cards", f"event {happened.event.seq}: seat {seat} gave cards it had not")
        return True

    def _own_round_end(self, seat: int, record: Record, happened: Happened, now: float) -> bool:
        view = self._view(seat)
        record.cards[seat] = view.hand, 0
        view.offer_lot = 0
        self._user.must_be_ready(self, seat, table_pb2.READY_FOR_NEXT)
        return False

    def _own_hand(self, seat: int, record: Record, happened: Happened, now: float) -> bool:
        record.cards[seat] = self._view(seat).hand, 0
        return False

    def _view(self, seat: int) -> OwnView:
        view = self.views[seat]
        assert view is not None
        return view

    # ------------------------------------------------------------------ latencies

    def caused(self, seq: int, intended_at: float, sent_at: float) -> None:
        """One of our commands had its effect with this event."""
        record = self.record(seq)
        if record is None:
            return
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
        if self._window.measured(record.intended_at):
            self._samples.latency("trade", record.seen_at - record.intended_at)
            self._samples.latency("service_trade", record.seen_at - record.sent_at)

    # ------------------------------------------------------------------ closing

    def _close(self, record: Record, now: float) -> None:
        self._checks.checked["sequences"] += 1
        if not record.skipped and not self.broken:
            if self._window.measured(record.first_at):
                self._samples.latency("fanout_skew", now - record.first_at)
            close = _CLOSE.get(record.kind)
            if close is not None:
                close(self, record, now)
        if record.kind in ("game_ended", "table_closed") and not self.ended:
            self.ended = True
            self._user.over(self)

    def _close_dealt(self, record: Record, now: float) -> None:
        self._checks.checked["cards"] += 1
        self._judge(scrutiny.pack(record, self._public(), "dealt"))

    def _close_round(self, record: Record, now: float) -> None:
        self._checks.checked["cards"] += 1
        self._judge(scrutiny.pack(record, self._public(), "at the end of a round"))
        if self.bell_at and record.kind == "round_scored":
            if self._window.measured(self.bell_at):
                self._samples.latency("bell", now - self.bell_at)
            self.bell_at = 0.0

    def _close_trade(self, record: Record, now: float) -> None:
        self._judge(scrutiny.both_sides(record))

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


Own = Callable[[LoadTable, int, Record, Happened, float], bool]
_OWN: Final[dict[str, Own]] = {
    "dealt": LoadTable._own_dealt,
    "offer_opened": LoadTable._own_offer,
    "offer_ended": LoadTable._own_offer_ended,
    "traded": LoadTable._own_trade,
    "cornered": LoadTable._own_hand,
    "round_scored": LoadTable._own_round_end,
    "round_void": LoadTable._own_round_end,
}
"""What an event means for a seat; true if it may be shown cards beside it."""
_SIDES: Final[dict[str, Callable[[table_pb2.Event], tuple[int, ...]]]] = {
    "offer_opened": lambda event: (event.offer_opened.seat,),
    "offer_ended": lambda event: (event.offer_ended.seat,),
    "traded": lambda event: (event.traded.seat, event.traded.partner),
}
"""Which seats those are; of other kinds in `_OWN` all, of the rest nobody."""
_CLOSE: Final[dict[str, Callable[[LoadTable, Record, float], None]]] = {
    "dealt": LoadTable._close_dealt,
    "traded": LoadTable._close_trade,
    "cornered": LoadTable._close_corner,
    "round_scored": LoadTable._close_round,
    "round_void": LoadTable._close_round,
    "game_ended": LoadTable._close_game,
}
