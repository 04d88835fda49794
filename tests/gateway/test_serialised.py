"""What is remembered of events is what protobuf would write anew."""

from hypothesis import given
from hypothesis import strategies as some

from engine.cards import BEAR, BULL, ONE
from engine.commands import NOBODY
from engine.events import Event, OfferEnded, OfferOpened, Traded
from engine.view import view
from services.gateway.convert.cards import Deck
from services.gateway.convert.events import concerned, event_message, own_part
from services.gateway.convert.serialised import own_bytes, public_bytes

DECKS = (Deck("classic7"), Deck("deluxe8"), Deck("classic7", bull_and_bear=False))

seats = some.integers(0, 3)
lots = some.tuples(some.integers(0, 6), some.integers(1, 4), some.booleans(), some.booleans()).map(
    lambda drawn: drawn[1] * ONE[drawn[0]] + drawn[2] * ONE[BULL] + drawn[3] * ONE[BEAR]
)
times_ms = some.sampled_from((0, 1, 1_700_000_000_000))
happened = some.one_of(
    some.builds(OfferOpened, seats, some.integers(1, 4), lots, seats, times_ms, times_ms),
    some.builds(
        OfferOpened, seats, some.integers(1, 4), lots, some.just(NOBODY), times_ms, times_ms
    ),
    some.builds(OfferEnded, seats, some.integers(1, 4), times_ms),
    some.builds(Traded, seats, seats, some.integers(1, 4), lots, lots, times_ms),
)


@given(some.sampled_from(DECKS), some.lists(some.tuples(happened, some.integers(1, 2**40))))
def test_remembered_or_not_the_bytes_are_the_same(
    deck: Deck, told: list[tuple[Event, int]]
) -> None:
    for event, seq in told:
        public = view(event, NOBODY)
        expected = event_message(public, seq, deck, {}).SerializeToString()
        assert public_bytes(public, seq, deck, {}) == expected
        for seat in (NOBODY, 0, 1, 2, 3):
            own = own_part(view(event, seat), seat, deck)
            data = None if own is None else own.SerializeToString()
            assert own_bytes(view(event, seat), seat, deck) == data
            assert own is None or seat in concerned(event), "who is not concerned is not asked"
