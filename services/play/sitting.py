"""The way to a seat: back to one's own, to a table that is named, or to a new one."""

from contextlib import AsyncExitStack
from typing import Final

from pit.v1 import lobby_pb2, table_pb2

from services.client.errors import Refused
from services.client.exchange import Exchange, Place
from services.client.seat import SeatSession
from services.play.wish import RULES_USUAL, SEATS_USUAL, Wish, switched, table_name

OVER: Final = frozenset({table_pb2.PHASE_ENDED, table_pb2.PHASE_CLOSED})


class Sitting:
    """A seat of ours, and what is asked of the exchange about it: the `House` of `player`."""

    def __init__(
        self, exchange: Exchange, seats: AsyncExitStack, place: Place, invite_code: str = ""
    ) -> None:
        self.place = place
        self.invite_code = invite_code
        self.back = False
        """Whether the seat was ours before."""
        self._exchange = exchange
        self._seats = seats

    async def take_back(self) -> SeatSession:
        return await self._seats.enter_async_context(self._exchange.play(self.place))

    async def start(self) -> None:
        await self._exchange.start_table(self.place.table)

    async def leave(self) -> None:
        await self._exchange.leave_table(self.place.table)

    async def transfer_code(self) -> str:
        return await self._exchange.create_transfer_code(self.place.table)

    async def new_invite(self) -> str:
        self.invite_code = await self._exchange.rotate_invite(self.place.table)
        return self.invite_code


async def sit_down(
    exchange: Exchange, seats: AsyncExitStack, wish: Wish
) -> tuple[Sitting, SeatSession]:
    """A seat as wished, and its stream. Raises `Refused`, `Impossible`."""
    if wish.transfer:
        moved = Sitting(exchange, seats, await exchange.redeem_transfer_code(wish.transfer))
        return moved, await moved.take_back()
    if not wish.joins and not wish.opens and (found := await _back(exchange, seats)):
        return found
    sitting = await (_join if wish.joins else _open)(exchange, seats, wish)
    seat = await sitting.take_back()
    if not wish.joins and not (wish.wait or wish.private):
        await sitting.start()
    return sitting, seat


async def _back(exchange: Exchange, seats: AsyncExitStack) -> tuple[Sitting, SeatSession] | None:
    """The first of our seats at which there is still something to play."""
    for place in await exchange.my_seats():
        try:
            if (await exchange.get_table(place.table)).table.phase in OVER:
                continue
            sitting = Sitting(exchange, seats, place)
            seat = await sitting.take_back()
        except Refused:
            continue  # closed meanwhile, or forfeited
        sitting.back = True
        return sitting, seat
    return None


async def _join(exchange: Exchange, seats: AsyncExitStack, wish: Wish) -> Sitting:
    table = table_name(wish.table) if wish.table else ""
    return Sitting(exchange, seats, await exchange.join_table(table, wish.code, wish.seat))


async def _open(exchange: Exchange, seats: AsyncExitStack, wish: Wish) -> Sitting:
    request = lobby_pb2.CreateTableRequest(
        display_name=f"{wish.name}'s table",
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
    return Sitting(exchange, seats, place, created.invite_code)
