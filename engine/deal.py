"""A deal from chance nobody could choose alone: the server's seed and the seats' nonces.

    key      = SHA-256(seed || nonces in seat order), 16 zero bytes for a seat that sent none
    block i  = HMAC-SHA-256(key, i as 8 bytes, big-endian)           i = 0, 1, 2, ...
    words    = the blocks' bytes, 4 at a time, big-endian
    below(n) = the next word under the largest multiple of n that 32 bits hold, modulo n

Fisher-Yates from the last card down, over the cards sorted by lane. The first dealer is drawn
after that from the same words. Cards go round one at a time, beginning left of the dealer. All
of it is written out here so that any Python, and any other language, draws the same.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from hmac import digest

from engine.cards import BEAR, BULL, DECKS, ONE, SUIT_SIZE
from engine.limits import NONCE_BYTES
from engine.rules import Rules

WORD_BYTES = 4
WORDS = 1 << (8 * WORD_BYTES)
NO_NONCE = bytes(NONCE_BYTES)


def commitment(seed: bytes) -> bytes:
    """What is published before the seats send their nonces."""
    return sha256(seed).digest()


def _words(seed: bytes, nonces: Sequence[bytes]) -> Iterator[int]:
    key = sha256(seed + b"".join(nonces)).digest()
    block = 0
    while True:
        data = digest(key, block.to_bytes(8, "big"), "sha256")
        for start in range(0, len(data), WORD_BYTES):
            yield int.from_bytes(data[start : start + WORD_BYTES], "big")
        block += 1


def _below(bound: int, words: Iterator[int]) -> int:
    """A number under `bound`, every one equally likely: words of an uneven rest are passed over."""
    fair = WORDS - WORDS % bound
    word = next(words)
    while word >= fair:
        word = next(words)
    return word % bound


def suits_in_play(rules: Rules, players: int) -> tuple[int, ...]:
    """Lanes of the commodities of a game: as many as players, the most valuable first."""
    names = [name for name, _ in DECKS[rules.deck]]
    lanes = sorted(names.index(suit) for suit in rules.suits) or range(len(names))
    return tuple(lanes[:players])


def deal(
    seed: bytes,
    nonces: Sequence[bytes],
    suits: Sequence[int],
    bull_and_bear: bool,
    playing: Sequence[int],
    dealer: int,
) -> tuple[tuple[int, ...], int]:
    """Packed hands by seat and the dealer.

    `nonces` has one entry for every seat of the table. `playing` are the seats that play, in
    ascending order; the others get no cards. A negative `dealer` is drawn.
    """
    words = _words(seed, nonces)
    lanes = [lane for lane in suits for _ in range(SUIT_SIZE)]
    if bull_and_bear:
        lanes += [BULL, BEAR]
    for last in range(len(lanes) - 1, 0, -1):
        chosen = _below(last + 1, words)
        lanes[last], lanes[chosen] = lanes[chosen], lanes[last]
    if dealer < 0:
        dealer = playing[_below(len(playing), words)]
    first = playing.index(dealer) + 1
    hands = [0] * len(nonces)
    for turn, lane in enumerate(lanes):
        hands[playing[(first + turn) % len(playing)]] += ONE[lane]
    return tuple(hands), dealer
