"""The random player, for tests: legal acts of every kind, few of them wise."""

from typing import Final

from engine.cards import LOT_MAX
from services.bots import hands
from services.bots.acts import Act, MakeOffer, Ring, TakeBack
from services.bots.strategy import Sight, Strategy, offer_of_size
from services.client.view import NOBODY


def target(sight: Sight) -> int:
    return sight.chance.choice(sight.view.suits)


def act(sight: Sight) -> Act | None:
    """Ring whenever a corner is held; else withdraw, wait, or offer anything to anybody."""
    view, chance = sight.view, sight.chance
    lane = hands.bell(view.hand, view.suits, view.rules)
    if lane != hands.NO_LANE:
        return Ring(lane)
    if view.offer_lot and chance.random() < 0.1:
        return TakeBack()
    if chance.random() < 0.1:
        return None
    sizes = [offer.size for offer in sight.offers] or [chance.randint(1, LOT_MAX)]
    offer = offer_of_size(sight, view.hand, chance.choice(sizes))
    if offer is None or offer.directed_at != NOBODY:
        return offer
    return MakeOffer(
        offer.lot,
        immediate=chance.random() < 0.05,
        limit_ms=chance.randint(1_000, 60_000) if chance.random() < 0.2 else 0,
    )


WILD: Final = Strategy("random", target, act, pace=1.0)
