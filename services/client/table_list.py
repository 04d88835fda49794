"""The list of tables as it changes, over however many streams."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from grpc import StatusCode, aio
from pit.v1 import lobby_pb2, lobby_pb2_grpc

from services.client.backoff import Backoff
from services.client.channels import Channels
from services.client.credentials import Credentials
from services.client.errors import details_of, refused

COMES_BACK: Final = frozenset({StatusCode.UNAVAILABLE, StatusCode.RESOURCE_EXHAUSTED})
"""Ends after which another stream, perhaps at another gateway, goes on."""


async def watched_tables(
    channels: Channels, credentials: Credentials, wanted: lobby_pb2.TableFilter
) -> AsyncGenerator[lobby_pb2.WatchTablesResponse, None]:
    """Goes on where a stream breaks: what has gone meanwhile is told as gone. Raises `Refused`."""
    backoff = Backoff()
    known: set[str] = set()
    while True:
        connection = channels.lease()
        try:
            stub = lobby_pb2_grpc.LobbyServiceStub(connection.channel)
            request = lobby_pb2.WatchTablesRequest(filter=wanted)
            seen: set[str] = set()
            first = True
            async for news in stub.WatchTables(request, metadata=credentials.metadata()):
                backoff.succeeded()
                seen.update(table.name for table in news.changed)
                if first and news.complete:
                    first = False
                    news.gone.extend(sorted(known - seen))
                seen.difference_update(news.gone)
                known = known | seen if first else set(seen)
                yield news
        except aio.AioRpcError as error:
            if error.code() not in COMES_BACK:
                raise refused(error) from error
            channels.failed(connection.target)
            await asyncio.sleep(backoff.delay_s(details_of(error)[1]))
        finally:
            channels.release(connection)
