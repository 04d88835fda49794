"""All bots of one process: follows which seats want one, and seats it."""

import asyncio
import random
from collections.abc import Coroutine, Sequence
from typing import Final

import structlog
from grpc import StatusCode, aio
from pit.v1 import lobby_pb2, lobby_pb2_grpc

from engine.value import value
from services.bots.careful import CAREFUL
from services.bots.chaser import CHASER
from services.bots.pace import Pace
from services.bots.player import Player
from services.bots.seat import SeatedBot
from services.bots.statistics import Statistics
from services.bots.strategy import Strategy
from services.bots.tables import BotTables
from services.bots.wild import WILD
from services.client.backoff import Backoff
from services.client.errors import Refused, details_of, refused
from services.client.exchange import Exchange, Place

STRATEGIES: Final[dict[str, tuple[Strategy, ...]]] = {
    "careful": (CAREFUL,),
    "chaser": (CHASER,),
    "random": (WILD,),
    "mixed": (CAREFUL, CAREFUL, CAREFUL, CHASER),
}
"""By name on the command line; of several, each seat draws one."""
MAINTENANCE: Final = "MAINTENANCE"
"""Why a gateway opens no tables for a while."""
TABLE_RETRY_S: Final = 1.0
"""Before another try to open a table that was refused."""
TOLD_AFTER_TRIES: Final = 2
"""That found nobody, or were refused, one after the other."""
LEAVING_S: Final = 2.0
"""How long leaving bots wait for the outcomes of what they sent."""
FATAL: Final = frozenset({StatusCode.PERMISSION_DENIED, StatusCode.UNIMPLEMENTED})
"""Ends of the list of wanted seats that waiting does not mend."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


@value
class Manner:
    """How the bots of a process play."""

    strategies: Sequence[Strategy]
    pace: Pace
    skill: float


class House:
    """Seats bots until told to `close`."""

    def __init__(
        self,
        exchange: Exchange,
        manner: Manner,
        chance: random.Random,
        tables: BotTables | None = None,
    ) -> None:
        self.statistics = Statistics()
        self._exchange = exchange
        self._manner = manner
        self._chance = chance
        self._tables = tables
        self._seated: dict[tuple[str, int], SeatedBot] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self._told: set[str] = set()
        """What was said of gateways since one of them last did what we ask."""

    async def open_tables(self, count: int) -> None:
        """Open so many tables of our own; each is followed by another when its game ends.

        Raises `Refused`, but not for what passes: maintenance, no gateway, a token that none takes.
        `follow` tells of the last two.
        """
        tables = self._tables
        assert tables is not None
        await asyncio.gather(*(self._open_one(tables) for _ in range(count)))

    async def _open_one(self, tables: BotTables) -> None:
        backoff = Backoff()
        while not self._closing:
            try:
                await tables.open_one()
                return
            except Refused as failure:
                if failure.code is StatusCode.UNAUTHENTICATED:
                    await self._exchange.credentials.renew()
                elif failure.code is not StatusCode.UNAVAILABLE and failure.reason != MAINTENANCE:
                    raise
                await asyncio.sleep(backoff.delay_s(TABLE_RETRY_S))

    async def follow(self) -> None:
        """Seat a bot wherever one is wanted, for ever. Raises `ClientError` when refused."""
        backoff, tries = Backoff(), 0
        while True:
            connection = self._exchange.channels.lease()
            stub = lobby_pb2_grpc.LobbyServiceStub(connection.channel)
            wait_s = 0.0
            try:
                call = stub.WatchBotSeats(
                    lobby_pb2.WatchBotSeatsRequest(),
                    metadata=self._exchange.credentials.metadata(),
                )
                async for response in call:
                    backoff.succeeded()
                    tries = 0
                    self._answered(connection.target)
                    for wanted in response.wanted:
                        self._seat(wanted)
            except aio.AioRpcError as error:
                self._exchange.channels.failed(connection.target)
                wait_s = details_of(error)[1]
                tries += 1
                await self._tell(error.code(), connection.target, tries)
                if error.code() == StatusCode.UNAUTHENTICATED:
                    await self._exchange.credentials.renew()
                elif error.code() in FATAL:
                    raise refused(error) from error
            finally:
                self._exchange.channels.release(connection)
            await asyncio.sleep(backoff.delay_s(wait_s))

    async def _tell(self, code: StatusCode, target: str, tries: int) -> None:
        """Other gateways may be fine, and what is wrong is mended while we wait: say it once. A
        gateway that restarts, or a token that has just expired, is not worth a word."""
        untrusted = None
        if code == StatusCode.UNAVAILABLE:
            untrusted = await self._exchange.channels.why_not(target)
        if untrusted is not None:
            event, reason, fix = "gateway_not_trusted", untrusted.message, untrusted.remedy
        elif tries < TOLD_AFTER_TRIES:
            return
        elif code == StatusCode.UNAUTHENTICATED:
            event, reason = "token_refused", f"{target} does not take a token that we signed"
            fix = "give bots and gateways the same PIT_TOKEN_KEYS, and machines the same time"
        elif code == StatusCode.UNAVAILABLE:
            event, reason = "gateway_unreachable", f"nobody answers at {target}"
            fix = "see that a gateway runs there; PIT_GATEWAY names it"
        else:
            return
        if reason not in self._told:
            self._told.add(reason)
            log.error(event, reason=reason, fix=fix)

    def _answered(self, target: str) -> None:
        if self._told:
            self._told.clear()
            log.info("gateway_answers", target=target)

    async def close(self) -> None:
        """Let every bot finish what it has begun, then go."""
        self._closing = True
        for bot in self._seated.values():
            bot.leave()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=LEAVING_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def report(self) -> dict[str, object]:
        """What the bots have seen and done, see README.md."""
        return self.statistics.report(max((bot.log_us for bot in self._seated.values()), default=0))

    # ------------------------------------------------------------------ inside

    def _seat(self, wanted: lobby_pb2.BotSeat) -> None:
        """Seats are told again after a reconnect, and while their bot is still attaching. That
        one is no longer wanted is not looked at: the person's return ends the bot's stream."""
        key = wanted.table, wanted.seat
        if self._closing or key in self._seated:
            return
        chance = random.Random(self._chance.getrandbits(64))
        manner = self._manner
        player = Player(chance.choice(manner.strategies), manner.pace, chance, manner.skill)
        place = Place(wanted.table, wanted.seat, wanted.seat_token)
        bot = SeatedBot(self._exchange, place, player, self.statistics, chance)
        self._seated[key] = bot
        self._start(self._play(key, bot))

    async def _play(self, key: tuple[str, int], bot: SeatedBot) -> None:
        try:
            await bot.play()
        finally:
            del self._seated[key]
        if bot.game_over:
            await self._follow_up(bot.place.table)

    async def _follow_up(self, table: str) -> None:
        """A table of our own has ended: open another one in its place."""
        backoff = Backoff()
        if self._tables is None or not self._tables.ended(table):
            return
        while not self._closing:
            try:
                await self._tables.open_one()
            except Refused as failure:
                log.warning("table_not_opened", code=failure.code.name, reason=failure.reason)
                await asyncio.sleep(backoff.delay_s(TABLE_RETRY_S))
            else:
                return

    def _start(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        """A bot that fails is a bug of ours: it is said aloud and counted, the others play on."""
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            log.error("bot_failed", exc_info=failure)
            self.statistics.failed(failure)
