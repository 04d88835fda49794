"""What a key would do with the hand as it is: the lot it makes, or why it makes none."""

from engine.cards import BEAR, BULL, LOT_MAX, NO_CARDS, ONE, count
from engine.score import corner
from engine.value import value
from services.client.deck import Deck
from services.client.view import NOBODY, TableView
from services.play import words


@value
class Claim:
    """The best bell a hand can ring."""

    lane: int
    kind: int
    points: int


@value
class Choice:
    """What the person has marked to be given."""

    lane: int
    bull: bool = False
    bear: bool = False


def best_claim(view: TableView) -> Claim | None:
    """The corner that pays most, if there is one."""
    best = None
    for lane in view.suits:
        kind, points = corner(view.hand, lane, view.rules)
        if points > (best.points if best else 0):
            best = Claim(lane, kind, points)
    return best


def lot_of(view: TableView, choice: Choice, size: int) -> int | str:
    """The lot of `size` cards that the choice makes, Bull and Bear first; else words why not."""
    extras = choice.bull * ONE[BULL] + choice.bear * ONE[BEAR]
    plain = size - choice.bull - choice.bear
    name = words.names(view.deck)[choice.lane]
    if plain < 0:
        return "Bull and Bear together are two cards: press 2, or unmark one with b or e."
    held = count(view.hand, choice.lane)
    if plain > held:
        wanted = f"{plain} {name}" if extras else f"{size} {name}"
        return f"You hold {held} {name}, not {wanted}: {_instead(view, choice, plain)}"
    return extras + plain * ONE[choice.lane] or "Press 1 to 4."


def _instead(view: TableView, choice: Choice, plain: int) -> str:
    names = words.names(view.deck)
    able = [names[lane] for lane in view.suits if count(view.hand, lane) >= plain]
    if able:
        return f"choose {' or '.join(able[:3])} with the arrows."
    most = largest(view, choice)
    return f"call {most} or fewer." if most else "choose another with the arrows."


def largest(view: TableView, choice: Choice) -> int:
    """The most cards that the choice could give at once."""
    return min(LOT_MAX, count(view.hand, choice.lane) + choice.bull + choice.bear)


def first_choice(view: TableView) -> Choice:
    """After a deal: the commodity there is least of, which most players give away first."""
    held = [lane for lane in view.suits if count(view.hand, lane)]
    if not held:
        return Choice(view.suits[0] if view.suits else 0)
    return Choice(min(held, key=lambda lane: (count(view.hand, lane), -lane)))


def still_held(view: TableView, choice: Choice) -> Choice:
    """The choice without what has left the hand; where its commodity is gone, another one."""
    bull = choice.bull and count(view.hand, BULL) > 0
    bear = choice.bear and count(view.hand, BEAR) > 0
    if view.hand != NO_CARDS and not count(view.hand, choice.lane):
        return Choice(first_choice(view).lane, bull, bear)
    return Choice(choice.lane, bull, bear)


def moved(view: TableView, choice: Choice, step: int) -> Choice:
    """The next commodity in hand, upwards or downwards."""
    held = [lane for lane in view.suits if count(view.hand, lane)] or list(view.suits)
    if choice.lane not in held:
        return Choice(held[0], choice.bull, choice.bear)
    place = (held.index(choice.lane) + step) % len(held)
    return Choice(held[place], choice.bull, choice.bear)


def answerable(view: TableView, order: list[int]) -> list[int]:
    """Seats whose open offers this seat may answer, the oldest first."""
    return [
        seat
        for seat in order
        if seat != view.seat
        and view.seats[seat].offer_size
        and view.seats[seat].offer_directed_at in (NOBODY, view.seat)
    ]


def claim_words(claim: Claim, deck: Deck) -> str:
    """`corner on corn: nine, 75 points`."""
    name = words.names(deck)[claim.lane]
    return f"corner on {name}: {words.CORNERS[claim.kind]}, {claim.points} points"
