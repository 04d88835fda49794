"""The list of tables as it changes, over however many streams."""

import asyncio
from collections.abc import AsyncGenerator

from grpc import StatusCode, aio
from pit.v1 import lobby_pb2, lobby_pb2_grpc

from services.client.backoff import Backoff
from services.client.channels import Channels
from services.client.credentials import Credentials
from services.client.errors import details_of, refused


async def watched_tables(
    channels: Channels, credentials: Credentials, wanted: lobby_pb2.TableFilter
) -> AsyncGenerator[lobby_pb2.WatchTablesResponse, None]:
    """Goes on where a stream breaks: what has gone meanwhile is told as gone. Raises `Refused`,
    `SignedOut`."""
    backoff = Backoff()
    known: set[str] = set()
    while True:
        connection = channels.lease()
        try:
            stub = lobby_pb2_grpc.LobbyServiceStub(connection.channel)
            request = lobby_pb2.WatchTablesRequest(filter=wanted)
            listed: set[str] = set()
            first = True
            async for news in stub.WatchTables(request, metadata=credentials.metadata()):
                backoff.succeeded()
                listed.update(table.name for table in news.changed)
                if first and news.complete:
                    news.gone.extend(sorted(known - listed))
                    first = False
                listed.difference_update(news.gone)
                known = known | listed if first else set(listed)
                yield news
        except aio.AioRpcError as error:
            channels.failed(connection.target)
            await _before_the_next(error, credentials, backoff)
        finally:
            channels.release(connection)


async def _before_the_next(
    error: aio.AioRpcError, credentials: Credentials, backoff: Backoff
) -> None:
    """What must be done before another stream. Raises where none can help."""
    reason, wait_s = details_of(error)
    if reason == "TOKEN_EXPIRED":
        await credentials.renew()
    elif error.code() != StatusCode.UNAVAILABLE and not wait_s:
        raise refused(error) from error
    await asyncio.sleep(backoff.delay_s(wait_s))
