"""The fair deal by hand: one long pack, shuffled card by card, dealt one at a time."""

import hmac
from collections.abc import Iterator
from hashlib import sha256

from engine.rules import Rules

from .cards import BEAR, BULL, Cards


def words(key: bytes) -> Iterator[int]:
    """An endless stream of 32-bit numbers from a key."""
    block = 0
    while True:
        found = hmac.new(key, block.to_bytes(8, "big"), sha256).digest()
        for start in range(0, len(found), 4):
            yield int.from_bytes(found[start : start + 4], "big")
        block += 1


def below(stream: Iterator[int], bound: int) -> int:
    """A number from 0 to bound - 1, each as likely: words past the last whole run are dropped."""
    whole_runs = 2**32 // bound * bound
    for word in stream:
        if word < whole_runs:
            return word % bound
    raise AssertionError("the stream has no end")


def deal(
    rules: Rules,
    seed: bytes,
    nonces: list[bytes],
    suits: list[str],
    seats: list[int],
    dealer: int | None,
) -> tuple[int, dict[int, Cards]]:
    """Who deals, and each playing seat's hand."""
    stream = words(sha256(seed + b"".join(nonces)).digest())
    pack = [suit for suit in suits for _ in range(9)]
    if rules.bull_and_bear:
        pack += [BULL, BEAR]
    for last in range(len(pack) - 1, 0, -1):
        other = below(stream, last + 1)
        pack[last], pack[other] = pack[other], pack[last]
    if dealer is None:
        dealer = seats[below(stream, len(seats))]
    hands: dict[int, Cards] = {seat: [] for seat in seats}
    turn = seats.index(dealer)
    for card in pack:
        turn = (turn + 1) % len(seats)
        hands[seats[turn]].append(card)
    return dealer, hands
