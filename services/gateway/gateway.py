"""One gateway process: its sessions, and everything they share."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import structlog
from pit.v1 import lobby_pb2

from engine.events import Record
from services.gateway.acts import ActService
from services.gateway.admission import Admission, Network
from services.gateway.appender import ALIVE_EVERY_S
from services.gateway.bot_seats import BotSeats
from services.gateway.directory import Directory
from services.gateway.errors import Refusal, Refused, unexpected
from services.gateway.feed import TableFeed
from services.gateway.hub import GIVEN_UP_S, Hub, Sleep
from services.gateway.identity.expiries import Expiries
from services.gateway.identity.limits import name_life_s
from services.gateway.identity.service import IdentityService
from services.gateway.identity.store import PeopleStore
from services.gateway.identity.tokens import SignedTokens
from services.gateway.identity.transfer import TransferCodes
from services.gateway.lobby.news import TableNews, TableWatch
from services.gateway.lobby.service import LobbyService
from services.gateway.names import NameBook
from services.gateway.observer import UNOBSERVED, Observer
from services.gateway.operate.orders import READ_EVERY_S, Orders, OrdersStore
from services.gateway.records.reader import GameReader
from services.gateway.records.service import RecordService
from services.gateway.session.core import Session
from services.gateway.session.limits import PUBLIC, Profile, Rank
from services.gateway.session.port import Door, Ending, Expiring, Flushed, Overdue, Receipt
from services.gateway.session.roles import Caller, refuse_operators
from services.gateway.session.watch import WatchStream
from services.gateway.wire import Turn
from services.log.port import GatewayLog, LogError, StoreChanged
from services.settings import SESSIONS_MAX

log = structlog.get_logger()

TICK_S: Final = 1.0
TICK_SHARES: Final = 20
"""Thousands of sessions are looked at a share at a time: nobody's trade waits for all of them."""
ACCEPTANCE_CHECK_S: Final = 0.05
DRAIN_S: Final = 1.0
"""From telling clients to go elsewhere until their streams are ended."""


class Gateway:
    """`services.gateway.session.port.Exchange` for the sessions of this process."""

    def __init__(
        self,
        log_port: GatewayLog,
        store: PeopleStore,
        tokens: SignedTokens,
        name: str,
        shards: int,
        people: Profile = PUBLIC,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        observer: Observer = UNOBSERVED,
        sessions_max: int = SESSIONS_MAX,
        allowed: Sequence[Network] = (),
        archive: Path | None = None,
        archive_days: int = 30,
        orders: Orders | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """`people`: limits on everybody who is not ours; `allowed`: see `Admission`; `archive`:
        directory of the records, without which there is only the live log; `archive_days`: how
        long they are kept, and with them the names they show."""
        self.name = name
        self.shards = shards
        self.tokens: SignedTokens = tokens
        self.draining = False
        self.observer: Observer = observer
        self._sessions_max = sessions_max
        self.expiries = Expiries(store)
        self.admission = Admission(people, clock, allowed, self._limited)
        self.name_book = names = NameBook(store, name_life_s(archive_days))
        self.names: Mapping[str, str] = names
        self.now_s = clock
        self.wall_s = wall
        self.orders = orders or Orders(wall)
        self.hub = Hub(
            log_port, name, shards, names, clock, observer, self.orders.check_open, sleep
        )
        self.directory = directory = Directory(log_port, shards, clock)
        self.identity = IdentityService(tokens, store, names, self.admission, self.orders)
        transfers = TransferCodes(self.identity, tokens, store, self.admission)
        self.lobby = LobbyService(
            self.hub, directory, tokens, names, store, self.admission, transfers, wall
        )
        self.acts = ActService(self.hub, tokens, self.admission, clock, observer)
        self.table_news = TableNews(directory)
        self.bot_seats = BotSeats(directory, store, name)
        self.games = GameReader(archive, log_port)
        self.records = RecordService(self.games, directory, names, shards)
        self._sessions: dict[int, Session | WatchStream | TableWatch] = {}
        self._streams: Counter[str] = Counter()
        self._touched: list[Flushed] = []
        self._read_s = 0.0
        """When that was read which the next flush tells of."""
        self._longest_queue = 0
        """In this round of ticks."""

    # -------------------------------------------------------------- life

    async def begin(self) -> None:
        """Find the ends of the shards' histories. Raises `LogError`."""
        await self.hub.begin()

    async def run(self, orders: OrdersStore) -> None:
        """Serve until cancelled. Ends in a group with `StoreChanged` on another store."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.hub.append_forever())
            tasks.create_task(self.hub.follow_forever())
            tasks.create_task(self.bot_seats.share_forever())
            tasks.create_task(self.table_news.tell_forever())
            tasks.create_task(self._every(ALIVE_EVERY_S, self.hub.say_alive))
            tasks.create_task(self._every(ACCEPTANCE_CHECK_S, self.hub.check_acceptances))
            tasks.create_task(self._tick_forever())
            tasks.create_task(self._every(GIVEN_UP_S, self.hub.forget_given_up))
            tasks.create_task(self.expiries.settle_forever())
            tasks.create_task(self._obey_forever(orders))

    @staticmethod
    async def _every(seconds: float, act: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(seconds)
            act()

    async def _tick_forever(self) -> None:
        while True:
            for share in range(TICK_SHARES):
                await asyncio.sleep(TICK_S / TICK_SHARES)
                self.tick(share, TICK_SHARES)

    def tick(self, share: int = 0, shares: int = 1) -> None:
        """What sessions do by the clock: this share of them, counted from 0."""
        now_s, wall_s = self.now_s(), self.wall_s()
        sessions = tuple(self._sessions.values())[share::shares]
        for session in sessions:
            session.tick(now_s, wall_s)
            self._longest_queue = max(self._longest_queue, session.waiting)
        if share == shares - 1:
            self.observer.queues(self._longest_queue)
            self._longest_queue = 0
            self.admission.forget()

    async def drain(self) -> None:
        """Tell every client to resume elsewhere, then end the streams."""
        self.draining = True
        for session in tuple(self._sessions.values()):
            session.drain()
        if self._sessions:
            await asyncio.sleep(DRAIN_S)
        for session in tuple(self._sessions.values()):
            session.end(Refused(Refusal.DRAINING))
        await self.hub.appended()
        self.games.close()

    # -------------------------------------------------------------- sessions

    def open(self, door: Door, caller: Caller) -> Session:
        """A stream begins. Raises `Refused`."""
        refuse_operators(caller)
        self._admit(caller)
        session = Session(self, door, caller)
        self._opened(session)
        return session

    def open_watch(self, door: Door, caller: Caller) -> WatchStream:
        """A stream of several tables begins. Raises `Refused`."""
        self._admit(caller)
        stream = WatchStream(self, door, caller)
        self._opened(stream)
        return stream

    def open_table_watch(self, caller: Caller, wanted: lobby_pb2.TableFilter) -> TableWatch:
        """A stream of the list of tables begins. Raises `Refused`."""
        self._admit(caller)
        watch = TableWatch(self, self.name_book, caller, wanted)
        self._opened(watch)
        return watch

    def table_watch_ended(self, watch: TableWatch) -> None:
        self.table_news.leave(watch)
        self.session_ended(watch, watch.end_reason)

    def _admit(self, caller: Caller) -> None:
        self.orders.check(caller)  # again: a ban may have come while the request was on its way
        if self.draining:
            raise Refused(Refusal.DRAINING)
        if len(self._sessions) >= self._sessions_max:
            raise Refused(Refusal.GATEWAY_FULL)
        streams_max = self.profile(caller).streams_max
        if streams_max and self._streams[caller.sign_in] >= streams_max:
            raise Refused(Refusal.TOO_MANY_STREAMS, max=streams_max)

    def _opened(self, session: Session | WatchStream | TableWatch) -> None:
        self._sessions[id(session)] = session
        self.observer.opened(session.caller.role.value)
        self._streams[session.caller.sign_in] += 1

    def session_ended(self, session: Ending, reason: str) -> None:
        """One table of a Watch is no stream of its own, and only lets its table go."""
        if self._sessions.pop(id(session), None) is not None:
            self.observer.ended(session.caller.role.value, reason)
            sign_in = session.caller.sign_in
            self._streams[sign_in] -= 1
            if not self._streams[sign_in]:
                del self._streams[sign_in]
        if session.table:
            self.hub.release(session.table)

    def profile(self, caller: Caller) -> Profile:
        return self.admission.profile(caller)

    def new_stream(self) -> bytes:
        return secrets.token_bytes(16)

    def touched(self, session: Flushed) -> None:
        if not self._touched:
            asyncio.get_running_loop().call_soon(self.flush)
        self._read_s = self._read_s or self.hub.following_s
        self._touched.append(session)

    def flush(self) -> None:
        """End of a turn of the loop: each session sends what has collected, in one message."""
        sessions, self._touched = self._touched, []
        turn = Turn(int(self.wall_s() * 1_000_000), self.now_s())
        items: list[int] = []
        broken: list[tuple[Flushed, Exception]] = []
        for session in sessions:
            try:
                if sent := session.flush(turn):
                    items.append(sent)
            except Exception as error:  # ours, and no reason to say nothing to the others
                broken.append((session, error))
        read_s, self._read_s = self._read_s, 0.0
        self.observer.flushed(items, self.now_s(), read_s)
        for session, why in broken:
            session.end(unexpected(why))

    def _limited(self, scope: str) -> None:
        self.observer.limited(scope)

    def spend(self, caller: Caller, table: str = "") -> None:
        self.admission.command(caller, table)

    # -------------------------------------------------------------- operators

    async def obey(self, store: OrdersStore) -> None:
        """Do what operators have ordered since the last time. Raises `LogError`."""
        changed = await self.orders.read(store)
        if changed:
            self.name_book.forget()
        self.name_book.know(self.orders.operators)
        if changed:
            for session in tuple(self._sessions.values()):
                banned = self.orders.ban_of(session.caller.person)
                if banned is not None:
                    session.end(banned)

    async def _obey_forever(self, store: OrdersStore) -> None:
        """What was ordered last holds while the store is away."""
        while True:
            await asyncio.sleep(READ_EVERY_S)
            try:
                await self.obey(store)
            except StoreChanged:
                raise
            except LogError as error:
                log.warning("orders_unknown", error=type(error).__name__)

    def invite_tried(self, caller: Caller) -> None:
        self.admission.invite(caller)

    def invite_wrong(self, caller: Caller) -> None:
        self.admission.wrong_invite(caller)

    # -------------------------------------------------------------- the table's side

    def log_us(self, table: str) -> int:
        return self.hub.log_us(table)

    def feed(self, table: str) -> TableFeed:
        return self.hub.feed(table)

    def replay(self, table: str, seq: int, head_seq: int) -> list[Record] | None:
        return self.hub.replay(table, seq, head_seq)

    def submit(self, table: str, command: bytes, receipt: Receipt, rank: Rank) -> None:
        self.hub.submit(table, command, receipt, rank)

    def detach(self, table: str, seat: int, attach: int) -> None:
        self.hub.detach(table, seat, attach)

    def watch_acceptance(self, session: Overdue, number: int) -> None:
        self.hub.watch_acceptance(session, number)

    # -------------------------------------------------------------- expiry

    def newer_expiry_wanted(self, session: Expiring) -> None:
        self.expiries.wanted(session)

    def expiry_raised(self, caller: Caller) -> None:
        self.expiries.raised(caller)
