"""What would be worked out again and again for thousands of seats, remembered: cards as packed
counts, lots, corners, commands as bytes. All are pure functions of small values."""

import random
from functools import lru_cache
from typing import Final

from pit.v1 import play_pb2, table_pb2

from services.bots import hands
from services.bots.acts import MakeOffer, command_of
from services.client.deck import Deck
from services.client.view import TableView

KEPT: Final = 1 << 16
"""Of each; four suits and two cards more make some ten thousand hands."""

_packed: Final[dict[tuple[Deck, bytes], tuple[int, int]]] = {}
_commands: Final[dict[tuple[Deck, int, int], bytes]] = {}
_corners: Final[dict[tuple[Deck, str, int, tuple[int, ...]], int]] = {}


def packed(deck: Deck, cards: table_pb2.Cards) -> tuple[int, int]:
    """Cards as packed counts, and how many they are."""
    key = deck, cards.SerializeToString()
    found = _packed.get(key)
    if found is None:
        if len(_packed) >= KEPT:
            _packed.clear()
        number = sum(one.count for one in cards.counts) + cards.bull + cards.bear
        found = _packed[key] = deck.pack(cards), number
    return found


LOT_MAX: Final = 4
"""Cards of a lot."""
Lots = tuple[tuple[int, ...], ...]
"""By size, 0 to `LOT_MAX`: lots of it, the best riddance first."""
NO_LOTS: Final[Lots] = ((),) * (LOT_MAX + 1)


@lru_cache(KEPT)
def lots(spare: int, suits: tuple[int, ...], mixed: bool) -> Lots:
    """All lots in these cards. Of equals always the same one."""
    return (
        (),
        *(
            tuple(hands.lots(spare, suits, size, mixed, random.Random(0)))
            for size in range(1, LOT_MAX + 1)
        ),
    )


@lru_cache
def fours(deck: Deck, suits: tuple[int, ...]) -> tuple[int, ...]:
    """The largest lot of each suit."""
    counts = (
        table_pb2.CardCount(commodity=deck.commodities[lane], count=LOT_MAX) for lane in suits
    )
    return tuple(deck.pack(table_pb2.Cards(counts=[one])) for one in counts)


def corner(view: TableView) -> int:
    """The lane whose corner the hand is, or `hands.NO_LANE`."""
    key = view.deck, view.rule_set.hash, view.hand, view.suits
    lane = _corners.get(key)
    if lane is None:
        if len(_corners) >= KEPT:
            _corners.clear()
        lane = _corners[key] = hands.bell(view.hand, view.suits, view.rules)
    return lane


def offer(act: MakeOffer, view: TableView, chance: random.Random) -> play_pb2.Command:
    """The command that makes a plain offer: a new one each time."""
    key = view.deck, act.lot, act.directed_at
    data = _commands.get(key)
    if data is None:
        if len(_commands) >= KEPT:
            _commands.clear()
        data = _commands[key] = command_of(act, view, chance).SerializeToString()
    return play_pb2.Command.FromString(data)
