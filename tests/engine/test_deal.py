"""Deals: what is dealt to whom, and why nobody can have chosen it (rules.md "Decks", api.md
"Fair deals")."""

from dataclasses import replace
from hashlib import sha256

import pytest

from engine import events as e
from engine.cards import BEAR, BULL, ONE, counts, size
from engine.commands import NOBODY, Purpose
from engine.deal import commitment, deal
from engine.rules import PRESETS
from support.playing import Playing

NONCES = [bytes([seat]) * 16 for seat in range(4)]


def dealt_by(playing: Playing) -> e.Dealt:
    return next(item for item in reversed(playing.items) if isinstance(item, e.Dealt))


def test_hands_are_nine_cards() -> None:
    """Without Bull and Bear everybody holds nine (all sheets)."""
    playing = Playing("basic", 5).dealt()
    assert [size(hand or 0) for hand in dealt_by(playing).hands] == [9] * 5


@pytest.mark.parametrize("seed", range(4))
def test_the_two_seats_left_of_the_dealer_hold_ten(seed: int) -> None:
    """With Bull and Bear in play (all sheets)."""
    dealt = dealt_by(Playing("classic", 5, seed).dealt())
    sizes = [size(hand or 0) for hand in dealt.hands]
    left = [(dealt.dealer + 1) % 5, (dealt.dealer + 2) % 5]
    assert [seat for seat in range(5) if sizes[seat] == 10] == sorted(left)
    assert sum(sizes) == 5 * 9 + 2


def test_every_suit_is_complete() -> None:
    """As many complete suits of nine as there are players, with Bull and Bear."""
    hands = dealt_by(Playing("deluxe", 8).dealt()).hands
    assert counts(sum(hand or 0 for hand in hands)) == (9,) * 8 + (1, 1)


def test_fewer_players_play_for_the_most_valuable_suits() -> None:
    """A's habit, our default."""
    assert dealt_by(Playing("deluxe", 4).dealt()).suits == (0, 1, 2, 3)


def test_or_for_a_list_chosen_when_the_table_is_opened() -> None:
    """rules.md "Decks": a list, of which as many as players, the most valuable first."""
    rules = replace(PRESETS["classic"], suits=("flax", "rye", "corn", "hay"))
    playing = Playing(rules, 3).dealt()
    assert dealt_by(playing).suits == (2, 3, 5)
    assert counts(sum(playing.hand(seat) for seat in range(3)))[:7] == (0, 0, 9, 9, 0, 9, 0)


def test_the_server_commits_before_the_seats_send_nonces() -> None:
    """api.md "Fair deals": the commitment is the second event of a table."""
    playing = Playing()
    playing.open_table()
    committed = playing.items[2]
    assert isinstance(committed, e.Committed)
    assert committed.round == 1
    assert committed.next_deal_at_ms == 0
    assert committed.commitment == sha256(playing.table.seed).digest()


def test_a_new_commitment_follows_every_round_that_is_not_the_last() -> None:
    playing = Playing().trading()
    events = playing.corner(0)
    assert isinstance(events[-1], e.Committed)
    assert events[-1].round == 2
    assert events[-1].next_deal_at_ms == playing.now_ms + 8_000
    assert commitment(playing.table.seed) == playing.table.commitment


def test_the_deal_is_drawn_from_seed_and_nonces_and_can_be_drawn_again() -> None:
    """The seed is published with the result; from it and the nonces follow the hands."""
    playing = Playing().dealt()
    dealt = dealt_by(playing)
    published = next(ev for ev in playing.corner(2) if isinstance(ev, e.RoundScored))
    assert commitment(published.seed) == playing.items[2].commitment  # type: ignore[union-attr]
    assert published.nonces == tuple(NONCES)
    hands, dealer = deal(published.seed, published.nonces, dealt.suits, True, range(4), NOBODY)
    assert hands == dealt.hands
    assert dealer == dealt.dealer


def test_a_seat_that_sent_no_nonce_counts_as_zero_bytes() -> None:
    playing = Playing().seated()
    for seat in range(4):
        playing.ready(seat, Purpose.START, NONCES[1] if seat == 1 else b"")
    assert playing.table.nonces == (bytes(16), NONCES[1], bytes(16), bytes(16))


def test_one_bit_of_one_nonce_changes_the_deal() -> None:
    other = [*NONCES[:3], bytes([3]) * 15 + b"\x02"]
    suits = (0, 1, 2, 3)
    first = deal(bytes(48), NONCES, suits, True, range(4), NOBODY)
    assert deal(bytes(48), other, suits, True, range(4), NOBODY) != first


def test_the_deal_is_the_same_on_every_python() -> None:
    """Known answers: a change here would break every recorded game."""
    hands, dealer = deal(bytes(range(48)), NONCES, (0, 1, 2, 3), True, range(4), NOBODY)
    assert [counts(hand) for hand in hands] == KNOWN_HANDS
    assert dealer == KNOWN_DEALER


KNOWN_HANDS = [
    (2, 2, 3, 1, 0, 0, 0, 0, 0, 1),
    (2, 2, 3, 1, 0, 0, 0, 0, 1, 0),
    (3, 2, 2, 3, 0, 0, 0, 0, 0, 0),
    (2, 3, 1, 4, 0, 0, 0, 0, 0, 0),
]
KNOWN_DEALER = 1


def test_every_card_reaches_every_seat_about_equally_often() -> None:
    """Over 4,000 deals the Bull's seat is uniform within five standard deviations (chi-square)."""
    found = [0] * 4
    for number in range(4_000):
        hands, _ = deal(number.to_bytes(48, "big"), NONCES, (0, 1, 2, 3), True, range(4), 0)
        found[next(seat for seat, hand in enumerate(hands) if hand & ONE[BULL])] += 1
    # Seats 1 and 2 hold ten of the 38 cards, seats 3 and 0 nine.
    expected = [4_000 * held / 38 for held in (9, 10, 10, 9)]
    assert sum((f - x) ** 2 / x for f, x in zip(found, expected, strict=True)) < 25


def test_the_first_dealer_is_drawn_with_the_first_deal() -> None:
    dealers = {
        deal(number.to_bytes(48, "big"), NONCES, (0, 1, 2, 3), True, range(4), NOBODY)[1]
        for number in range(60)
    }
    assert dealers == {0, 1, 2, 3}


def test_seats_that_fell_away_get_no_cards() -> None:
    """rules.md "Leaving": suits and hands are those of the seats that play."""
    hands, _ = deal(bytes(48), [bytes(16)] * 5, (0, 1, 2), True, (0, 2, 4), 2)
    assert hands[1] == hands[3] == 0
    assert [size(hands[seat]) for seat in (4, 0, 2)] == [10, 10, 9]
    assert sum(hands) & ONE[BEAR]
