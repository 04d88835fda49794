"""Clients that hardly read: spectators that take a message now and then, or none at all."""

import asyncio
import random
from typing import Final

from grpc import StatusCode, aio
from pit.v1 import play_pb2

from loadtest.samples import Samples
from loadtest.scenarios import SLOW_READ_EVERY_S
from services.client.backoff import Backoff
from services.client.channels import Channels
from services.client.errors import details_in, details_of
from services.client.exchange import Exchange

WATCH: Final = "/pit.v1.PlayService/Watch"
NEVER_SHARE: Final = 0.5
"""Of the slow, so many never read at all."""
SLOW_READER: Final = "SLOW_READER"


class SlowReaders:
    """Keeps so many of them on tables, again and again: each is cut for it sooner or later."""

    def __init__(self, exchange: Exchange, samples: Samples, chance: random.Random) -> None:
        self._channels: Channels = exchange.channels
        self._exchange = exchange
        self._samples = samples
        self._chance = chance
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, tables: list[str], count: int) -> None:
        for _ in range(count):
            table = self._chance.choice(tables)
            never = self._chance.random() < NEVER_SHARE
            self._tasks.append(asyncio.create_task(self._watch(table, never=never)))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(self, table: str, *, never: bool) -> None:
        request = play_pb2.WatchRequest(tables=[play_pb2.WatchedTable(table=table)])
        backoff = Backoff(self._chance)
        while True:
            connection = self._channels.lease()
            watch: aio.UnaryStreamMultiCallable[bytes, bytes]
            watch = connection.channel.unary_stream(WATCH)
            call = watch(
                request.SerializeToString(), metadata=self._exchange.credentials.metadata()
            )
            try:
                reason = await self._read(call, never=never)
            finally:
                self._channels.release(connection)
                call.cancel()
            if reason in ("TABLE_NOT_FOUND", "TABLE_CLOSED", ""):
                return  # the game is over: nothing is left to read slowly
            await asyncio.sleep(backoff.delay_s())

    async def _read(self, call: "aio.UnaryStreamCall[bytes, bytes]", *, never: bool) -> str:
        """Until the stream ends; why it did."""
        try:
            while not never and isinstance(await call.read(), bytes):  # noqa: ASYNC110
                await asyncio.sleep(SLOW_READ_EVERY_S)
            code = await call.code()
            reason = "" if code is StatusCode.OK else await _reason(call)
        except aio.AioRpcError as error:
            reason = details_of(error)[0] or error.code().name
        if reason == SLOW_READER:
            self._samples.counts["slow_readers_cut"] += 1
        return reason


async def _reason(call: "aio.UnaryStreamCall[bytes, bytes]") -> str:
    trailing = await call.trailing_metadata()
    return details_in(trailing or ())[0] or (await call.code()).name
