"""Bots that are to open tables while none are opened wait for the end of the maintenance."""

import asyncio
import random
from pathlib import Path

import pytest

from services.bots.careful import CAREFUL
from services.bots.house import House, Manner
from services.bots.pace import MAX
from services.bots.tables import BotTables
from services.bots.token import mint, new_bot_id
from services.client.credentials import Credentials
from services.client.exchange import Exchange
from support.operated import eventually, operated, people, refused_in_maintenance


@pytest.mark.all
async def test_bots_wait_for_the_end_of_the_maintenance(valkey_url: str, tmp_path: Path) -> None:
    with operated(valkey_url, tmp_path) as system:
        bot = new_bot_id()

        async def renew() -> tuple[str, float]:
            return mint(system.gateway.keys, bot, "sid")

        credentials = Credentials(*await renew(), renew)
        async with (
            system.operator() as operator,
            people(system.gateway.target, "Ada") as [ada],
            Exchange([system.gateway.target], credentials) as exchange,
        ):
            await operator.set_maintenance(on=True, reason="a new version")
            await refused_in_maintenance(ada)
            house = House(
                exchange,
                Manner((CAREFUL,), MAX, 1.0),
                random.Random(1),
                BotTables(exchange, "blitz", 4),
            )
            opening = asyncio.create_task(house.open_tables(2))
            done, _ = await asyncio.wait({opening}, timeout=1.0)
            assert not done
            await operator.set_maintenance(on=False, reason="")
            await asyncio.wait_for(opening, 20)

            async def both_are_listed() -> bool:
                listed = (await ada.list_tables()).tables
                return sum(table.display_name.startswith("Bots ") for table in listed) == 2

            assert await eventually(both_are_listed)
