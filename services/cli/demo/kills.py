"""Kills matchers under play and starts them again, to show that play goes on."""

import asyncio
import time

from services.cli.demo.exchange import Exchange
from services.cli.demo.follow import Follower
from services.log.lease import OWNER_MARK_BYTES, owner_mark
from services.log.port import LogError


class Killer:
    """`kill` is what the key k and `--kill-every` do."""

    def __init__(self, exchange: Exchange, follower: Follower) -> None:
        self._exchange = exchange
        self._follower = follower

    async def run(self, every_s: float) -> None:
        """Kill every so often until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            self.kill()

    def kill(self) -> None:
        """SIGKILL the matcher with most play, then start it again.

        Called from the main thread: a child dies with the thread that started it.
        """
        owned: dict[str, dict[int, bytes]] = {name: {} for name in self._exchange.matchers}
        marks = {owner_mark(name): name for name in owned}
        try:
            for shard, nonce in self._exchange.owners().items():
                name = marks.get(nonce[:OWNER_MARK_BYTES])
                if name is not None:
                    owned[name][shard] = nonce
        except LogError:
            return
        played = self._follower.shards_played()
        victim = max(owned, key=lambda name: (len(played & owned[name].keys()), len(owned[name])))
        if not owned[victim]:
            return
        waiting = {shard: nonce for shard, nonce in owned[victim].items() if shard in played}
        self._follower.takeovers.killed(waiting, time.monotonic())
        child = self._exchange.matchers[victim]
        child.kill()
        child.start()
