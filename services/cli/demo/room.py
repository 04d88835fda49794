"""Whether there is room: on the disk of the demo's data, and in the store. Without it play stands
still until there is some again, and nothing that was acknowledged is lost."""

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from services.cli.demo.plan import Plan
from services.cli.failures import Exit, Failure, say
from services.log.connection import AsyncConnection
from services.log.port import LogError
from services.log.store import parse_info

LOOK_S: Final = 1.0
ROOM_MIN_BYTES: Final = 64 << 10
"""With less the next entry of a busy turn does not fit."""


def disk_is_full(data: Path) -> bool:
    try:
        return shutil.disk_usage(data).free < ROOM_MIN_BYTES
    except OSError:
        return False


def how_to_make_room(plan: Plan) -> str:
    return f"make room on the disk of {plan.data}, or {plan.elsewhere}"


def full_disk(plan: Plan, what: str) -> Failure:
    """Of something that could not be begun, or ended, for want of room."""
    why = f"the disk is full: {plan.data}"
    return Failure(Exit.NOT_WRITTEN, what, why, how_to_make_room(plan))


class Room:
    """Looks once a second; `lack` says what is missing just now, empty for nothing."""

    def __init__(self, url: str, plan: Plan, *, told: bool) -> None:
        """`told`: on standard error, where there is no screen to show it."""
        self.lack = ""
        self.lacked = ""
        """What was missing last, for the sum of the run."""
        self._server = AsyncConnection(url)
        self._plan = plan
        self._told = told

    async def run(self) -> None:
        """Look until cancelled."""
        try:
            while True:
                await self.look()
                await asyncio.sleep(LOOK_S)
        finally:
            await self._server.close()

    async def look(self) -> None:
        try:
            [info] = await self._server.ask_all([("INFO",)])
        except LogError:
            return  # others say that it cannot be reached
        lack = self._lack(parse_info(info))
        if lack and lack != self.lack and self._told:
            say(f"pit demo: {lack}")
        self.lack = lack
        self.lacked = lack or self.lacked

    def _lack(self, info: Mapping[str, str]) -> str:
        most = int(info.get("maxmemory", "0"))
        if disk_is_full(self._plan.data):
            return f"the disk is full, play stands still: {how_to_make_room(self._plan)}"
        if info.get("aof_last_write_status", "ok") != "ok":
            return "the store's disk is full, play stands still: make room there, and it goes on"
        if most and int(info.get("used_memory", "0")) >= most:
            return "the store's memory is full, play stands still: raise its maxmemory"
        return ""
