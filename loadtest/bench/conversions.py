"""How often an action is converted on its way, and how many bytes are copied.

One table of four seats through the real session core, hub, codec, matcher and engine, on the log in
memory. Every place that turns a message into another form is wrapped from here while it is
counted; beside that the interpreter itself counts calls of the converting libraries, so that a
conversion nobody listed shows.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any, Final

from pit.v1 import play_pb2

from engine.cards import LANE_BITS, ONE
from engine.value import value
from loadtest.bench._table import BenchSeat, BenchTable
from services.gateway import appender, feed, hub, wire
from services.gateway.session import intake
from services.matcher import shard, turn

ACTIONS: Final = 200

LIBRARY_CALLS: Final = frozenset({"FromString", "SerializeToString", "packb", "unpackb", "pack"})
"""Names of C functions that convert: protobuf's and msgpack's."""


@value
class Place:
    """Somewhere a message changes its form."""

    what: str
    module: ModuleType
    name: str
    expected: str
    """How often an action should pass here, and why."""


PLACES: Final = (
    Place("command: values to packed", intake, "pack_command", "1"),
    Place(
        "entry: packed commands to bytes",
        appender,
        "pack_batch",
        "1 a turn and shard",
    ),
    Place("matcher: entry to packed commands", shard, "unpack_batch", "as entries"),
    Place("matcher: packed command to values", turn, "unpack_command", "1"),
    Place("matcher: record to bytes", turn, "pack_items", "1 a turn and table"),
    Place("record: bytes to values", hub, "unpack_record", "1 a record"),
    Place(
        "event: spectator's view and own views",
        feed,
        "view",
        "1, and 1 a seat if it has a private part",
    ),
    Place("event: values to public bytes", feed, "public_bytes", "1"),
    Place("event: values to private bytes", feed, "own_bytes", "1 for its owner, 2 for a trade"),
    Place("event: public bytes to field", wire, "public_field", "1"),
    Place("event: private part to bytes", wire, "own_field", "1 for its owner, 2 for a trade"),
    Place("item: fields to bytes", wire, "item", "1 shared, 1 for each private part"),
    Place("message: items to bytes", wire, "batch", "as items, in one turn"),
)


class Count:
    """Calls and bytes made at each place, and calls of the libraries."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.made_bytes: Counter[str] = Counter()
        self.library: Counter[str] = Counter()
        self.actions = 0

    def wrap(self, what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            self.calls[what] += 1
            if isinstance(result, bytes):
                self.made_bytes[what] += len(result)
            return result

        return counted

    def profile(self, frame: FrameType, event: str, function: Any) -> None:
        if event == "c_call" and getattr(function, "__name__", "") in LIBRARY_CALLS:
            where = frame.f_code.co_filename
            if "/loadtest/" not in where and "/services/client/" not in where:
                self.library[f"{function.__name__} in {_short(where)}"] += 1

    @contextmanager
    def on(self) -> Iterator[None]:
        """Count what happens within."""
        before = [(place, getattr(place.module, place.name)) for place in PLACES]
        for place, function in before:
            setattr(place.module, place.name, self.wrap(place.what, function))
        sys.setprofile(self.profile)
        try:
            yield
        finally:
            sys.setprofile(None)
            for place, function in before:
                setattr(place.module, place.name, function)


def _short(path: str) -> str:
    for root in ("/services/", "/engine/", "/site-packages/"):
        _, found, tail = path.rpartition(root)
        if found:
            return root.strip("/") + "/" + tail if root != "/site-packages/" else tail
    return path


async def count(actions: int = ACTIONS) -> Count:
    """Offers of one card by all seats in turn: some stay open, some trade."""
    counted = Count()
    async with BenchTable() as table:
        with counted.on():
            for number in range(actions):
                seat = number % len(table.seats)
                table.send(seat, _offer(table.seats[seat]))
                await table.settle()
    counted.actions = actions
    return counted


def _offer(seat: BenchSeat) -> play_pb2.Command:
    view = seat.protocol.view
    assert view is not None
    lane = next(lane for lane in view.suits if view.hand >> (LANE_BITS * lane) & 15)
    return play_pb2.Command(offer=play_pb2.Offer(lot=view.deck.lot(ONE[lane])))


def main() -> None:
    """Print what an action costs at every place."""
    counted = asyncio.run(count())
    actions = counted.actions
    print(f"one offer at a table of four, {actions} of them; an action is one command")
    print(f"{'per action':>10} {'bytes':>7}  place (expected)")
    for place in PLACES:
        calls = counted.calls[place.what] / actions
        made = counted.made_bytes[place.what] / actions
        print(f"{calls:10.2f} {made:7.0f}  {place.what} ({place.expected})")
    print("calls of the converting libraries, wherever they are made:")
    for what, calls in sorted(counted.library.items(), key=lambda each: -each[1]):
        print(f"{calls / actions:10.2f} {'':7}  {what}")
