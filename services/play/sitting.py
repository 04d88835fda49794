"""The way to a seat: back to one's own, to a table that is named, or to a new one."""

from contextlib import AsyncExitStack
from typing import Final, Self

from pit.v1 import lobby_pb2, table_pb2

from services.client.errors import ClientError, Refused
from services.client.exchange import Exchange, Place
from services.client.seat import SeatSession
from services.play.wish import RULES_USUAL, SEATS_USUAL, Wish, switched, table_name

OVER: Final = frozenset({table_pb2.PHASE_ENDED, table_pb2.PHASE_CLOSED})
STREAMS_MAX: Final = 2
"""The seat that is shown, and the one before it until the next: closed under the eyes of its
reader it would look like a lost connection."""

TABLE_NAME_CHARACTERS_MAX: Final = 64
"""As the exchange takes it (`CreateTableRequest.display_name`)."""


class Sitting:
    """A seat of ours, and what is asked of the exchange about it: the `House` of `player`.

    `async with` it: what it has opened it closes.
    """

    def __init__(self, exchange: Exchange, place: Place, invite_code: str = "") -> None:
        self.place = place
        self.invite_code = invite_code
        self.back = False
        """Whether the seat was ours before."""
        self._exchange = exchange
        self._open: list[AsyncExitStack] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        for stream in self._open:
            await stream.aclose()

    async def take_back(self) -> SeatSession:
        stream = AsyncExitStack()
        seat = await stream.enter_async_context(self._exchange.play(self.place))
        self._open.append(stream)
        if len(self._open) > STREAMS_MAX:
            await self._open.pop(0).aclose()
        return seat

    async def start(self) -> None:
        await self._exchange.start_table(self.place.table)

    async def leave(self) -> None:
        await self._exchange.leave_table(self.place.table)

    async def rematch(self, yes: bool) -> SeatSession | None:
        found = await self._exchange.rematch(self.place.table, yes)
        if found is None:
            return None
        self.place, self.invite_code = found, ""
        seat = await self.take_back()
        view = seat.view
        people = [shown.person for shown in view.seats if shown.person]
        if view.phase == table_pb2.PHASE_SEATING and people == [view.owner]:
            await self.start()  # there is nobody to wait for
        return seat

    async def transfer_code(self) -> str:
        return await self._exchange.create_transfer_code(self.place.table)

    async def new_invite(self) -> str:
        self.invite_code = await self._exchange.rotate_invite(self.place.table)
        return self.invite_code


async def sit_down(exchange: Exchange, wish: Wish) -> tuple[Sitting, SeatSession]:
    """A seat as wished, and its stream. Raises `Refused`, `Impossible`."""
    if wish.transfer:
        moved = Sitting(exchange, await exchange.redeem_transfer_code(wish.transfer))
        return moved, await moved.take_back()
    if not wish.joins and not wish.opens and (found := await _back(exchange)):
        return found
    sitting = await (_join if wish.joins else _open)(exchange, wish)
    try:
        seat = await sitting.take_back()
        if not wish.joins and not (wish.wait or wish.private):
            await sitting.start()
    except ClientError:
        await sitting.close()
        raise
    return sitting, seat


async def _back(exchange: Exchange) -> tuple[Sitting, SeatSession] | None:
    """The first of our seats at which there is still something to play."""
    for place in await exchange.my_seats():
        try:
            if (await exchange.get_table(place.table)).table.phase in OVER:
                continue
            sitting = Sitting(exchange, place)
            seat = await sitting.take_back()
        except Refused:
            continue  # closed meanwhile, or forfeited
        sitting.back = True
        return sitting, seat
    return None


async def _join(exchange: Exchange, wish: Wish) -> Sitting:
    table = table_name(wish.table) if wish.table else ""
    return Sitting(exchange, await exchange.join_table(table, wish.code, wish.seat))


def _table_of(name: str) -> str:
    """`Ada's table`; of a long name as much as a table's name may have."""
    whose = "'s table"
    return name[: TABLE_NAME_CHARACTERS_MAX - len(whose)].rstrip() + whose


async def _open(exchange: Exchange, wish: Wish) -> Sitting:
    request = lobby_pb2.CreateTableRequest(
        display_name=_table_of(wish.name),
        preset=wish.rules or RULES_USUAL,
        switches=switched(wish.all_switches),
        seats=wish.seats or SEATS_USUAL,
        visibility=(table_pb2.VISIBILITY_PRIVATE if wish.private else table_pb2.VISIBILITY_PUBLIC),
        absent_policy=table_pb2.ABSENT_POLICY_BOT,
        bots=True,
    )
    created = await exchange.create_table(request)
    where = ("", created.invite_code) if wish.private else (created.table.name, "")
    place = await exchange.join_table(*where, seat=wish.seat)
    return Sitting(exchange, place, created.invite_code)
