"""Which bot process is told of which seat that wants a bot.

A wanted seat is offered to one watcher at a time, so that several bot processes do not storm one
seat. Between gateways a claim in the store decides which one offers; within a gateway the seat's
hash ranks the watchers. A seat still wanted when its offer has run out goes to the next in rank.
"""

import asyncio
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import structlog

from engine.value import value
from services.gateway.directory import Directory
from services.gateway.identity.store import PeopleStore
from services.log.codec import LobbyLine
from services.log.port import LogError

log = structlog.get_logger()

LOOK_EVERY_S: Final = 0.2
"""People wait for the bot: well below what they notice."""
OFFER_S: Final = 3.0
"""A bot attaches within milliseconds; one that has not by then will not."""
CLAIM_MS: Final = 2_900
"""A little less, so that the claim has gone when the offer has."""

Seat = tuple[str, int]


@value
class Wanted:
    """A seat that wants a bot."""

    line: LobbyLine
    seat: int


@value
class News:
    """What one watcher is told."""

    wanted: tuple[Wanted, ...]
    no_longer_wanted: tuple[Seat, ...]


class Watcher:
    """One `WatchBotSeats` stream."""

    def __init__(self, person: str) -> None:
        self.person = person
        self.news: asyncio.Queue[News] = asyncio.Queue()
        self.rank_key = person.encode()

    async def next_news(self, within_s: float) -> News | None:
        """`None` when none came in time."""
        try:
            async with asyncio.timeout(within_s):
                return await self.news.get()
        except TimeoutError:
            return None


@dataclass
class _Offer:
    watcher: Watcher
    until_s: float
    tried: set[Watcher] = field(default_factory=set)


class BotSeats:
    """Looks at the lobby while anybody watches, and shares the wanted seats out."""

    def __init__(self, directory: Directory, store: PeopleStore, gateway: str) -> None:
        self._directory = directory
        self._store = store
        self._gateway = gateway
        self._watchers: list[Watcher] = []
        self._offers: dict[Seat, _Offer] = {}
        self._somebody = asyncio.Event()

    def watch(self, person: str) -> Watcher:
        watcher = Watcher(person)
        self._watchers.append(watcher)
        self._somebody.set()
        return watcher

    def leave(self, watcher: Watcher) -> None:
        """Its seats go to others at the next look."""
        self._watchers.remove(watcher)
        for seat in [seat for seat, offer in self._offers.items() if offer.watcher is watcher]:
            self._offers[seat].until_s = 0
        if not self._watchers:
            self._offers.clear()
            self._somebody.clear()

    async def share_forever(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._somebody.wait()
            try:
                await self._share(await self._directory.lines(), loop.time())
            except LogError as error:
                log.warning("bot_seats_unknown", error=type(error).__name__)
            await asyncio.sleep(LOOK_EVERY_S)

    async def _share(self, lines: dict[str, LobbyLine], now_s: float) -> None:
        wanted = {
            (line.table, seat): Wanted(line, seat)
            for line in lines.values()
            for seat in line.bots_wanted
        }
        told: dict[Watcher, tuple[list[Wanted], list[Seat]]] = {}
        for seat in [seat for seat in self._offers if seat not in wanted]:
            offer = self._offers.pop(seat)
            told.setdefault(offer.watcher, ([], []))[1].append(seat)
        open_seats = [
            seat
            for seat in wanted
            if seat not in self._offers or self._offers[seat].until_s <= now_s
        ]
        claimed = await self._store.claim_bot_seats(open_seats, self._gateway, CLAIM_MS)
        for seat, is_ours in zip(open_seats, claimed, strict=True):
            watcher = self._next_watcher(seat) if is_ours else None
            if watcher is not None:
                self._offers[seat].until_s = now_s + OFFER_S
                told.setdefault(watcher, ([], []))[0].append(wanted[seat])
        for watcher, (offered, gone) in told.items():
            watcher.news.put_nowait(News(tuple(offered), tuple(gone)))

    def _next_watcher(self, seat: Seat) -> Watcher | None:
        """The best in rank that has not had this seat yet; when all have had it, from the top."""
        if not self._watchers:
            return None
        offer = self._offers.get(seat)
        tried = offer.tried if offer is not None else set()
        left = [watcher for watcher in self._watchers if watcher not in tried]
        if not left:
            tried.clear()
            left = self._watchers
        watcher = max(left, key=lambda each: _rank(seat, each))
        tried.add(watcher)
        self._offers[seat] = _Offer(watcher, 0, tried)
        return watcher


def _rank(seat: Seat, watcher: Watcher) -> bytes:
    text = f"{seat[0]}:{seat[1]}:".encode()
    return blake2b(text + watcher.rank_key, digest_size=8).digest()
