"""What a key would do with the hand as it is: the lot it makes, or why it makes none."""

from engine.cards import BEAR, BULL, LOT_MAX, NO_CARDS, ONE, SUIT_SIZE, count, counts, size
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
    """What the person means to give: the cards marked, filled up with the chosen commodity."""

    lane: int
    marked: int = NO_CARDS
    """Bull and Bear; where the rules mix lots, cards of any commodity."""


def best_claim(view: TableView) -> Claim | None:
    """The corner that pays most, if there is one."""
    best = None
    for lane in view.suits:
        kind, points = corner(view.hand, lane, view.rules)
        if points > (best.points if best else 0):
            best = Claim(lane, kind, points)
    return best


def lot_of(view: TableView, choice: Choice, cards: int) -> int | str:
    """The lot of so many cards that the choice makes, the marked ones first; else words why not."""
    marked = size(choice.marked)
    rest = cards - marked
    if rest < 0:
        these = words.cards(choice.marked, view.deck)
        return f"{marked} cards are marked ({these}): press {marked}, or x unmarks them."
    lot = choice.marked + rest * ONE[choice.lane]
    held, wanted = count(view.hand, choice.lane), count(lot, choice.lane)
    if wanted > held:
        name = words.names(view.deck)[choice.lane]
        return f"You hold {held} {name}, not {wanted}: {_instead(view, choice, rest)}"
    return lot or "Press 1 to 4."


def able_to_give(view: TableView, choice: Choice, cards: int) -> list[str]:
    """What would make a lot of so many cards, the marked ones included; what there is most of,
    which most players keep, comes last."""
    names, rest = words.names(view.deck), cards - size(choice.marked)
    lanes = sorted(view.suits, key=lambda lane: unmarked(view, choice, lane))
    able = [names[lane] for lane in lanes if unmarked(view, choice, lane) >= rest]
    bear = int(unmarked(view, choice, BEAR) > 0)
    with_bear = [
        f"{names[lane]} + Bear"
        for lane in lanes[:-1]
        if bear and unmarked(view, choice, lane) == rest - 1 > 0
    ]
    return [*able[:-1], *with_bear, *able[-1:]]


def one_of(able: list[str]) -> str:
    """The first three of `able_to_give`, with the key that marks the Bear."""
    return " or ".join(able[:3]).replace("+ Bear", "+ Bear (e)", 1)


def hindered(view: TableView) -> str:
    """Why a hand that looks like a corner is none; empty where it does not."""
    for lane in view.suits:
        held = count(view.hand, lane) + count(view.hand, BULL)
        if held >= SUIT_SIZE and count(view.hand, BEAR):
            name = words.names(view.deck)[lane]
            return f"The Bear stands before your corner on {name}: e marks it, then give it away."
    return ""


def _instead(view: TableView, choice: Choice, cards: int) -> str:
    able = able_to_give(view, choice, cards + size(choice.marked))
    if view.rules.mixed_lots:
        return "mark others with →, up to four."
    if able:
        choose = f"choose {one_of(able)}"
        return f"{choose}." if "Bear" in choose else f"{choose} with the arrows."
    most = largest(view, choice)
    return f"call {most} or fewer." if most else "choose another with the arrows."


def unmarked(view: TableView, choice: Choice, lane: int) -> int:
    """Cards of a commodity in hand that are not marked."""
    return count(view.hand, lane) - count(choice.marked, lane)


def largest(view: TableView, choice: Choice) -> int:
    """The most cards that the choice could give at once."""
    return min(LOT_MAX, size(choice.marked) + unmarked(view, choice, choice.lane))


def with_mark(view: TableView, choice: Choice, lane: int) -> Choice | str:
    """One card more marked; else words why not."""
    if size(choice.marked) == LOT_MAX:
        return f"A lot has {LOT_MAX} cards at most; ← unmarks one, x all."
    if unmarked(view, choice, lane) <= 0:
        return f"You hold no more {words.lane_name(view.deck, lane)} to mark."
    return Choice(choice.lane, choice.marked + ONE[lane])


def without_mark(view: TableView, choice: Choice, lane: int) -> Choice | str:
    """One card fewer marked; else words why not."""
    if not count(choice.marked, lane):
        return f"No {words.lane_name(view.deck, lane)} is marked."
    return Choice(choice.lane, choice.marked - ONE[lane])


def first_choice(view: TableView) -> Choice:
    """After a deal: the commodity there is least of, which most players give away first."""
    held = [lane for lane in view.suits if count(view.hand, lane)]
    if not held:
        return Choice(view.suits[0] if view.suits else 0)
    return Choice(min(held, key=lambda lane: (count(view.hand, lane), -lane)))


def still_held(view: TableView, choice: Choice, given: int = NO_CARDS) -> Choice:
    """The choice after `given` has left the hand: what was given is no longer marked, and where
    the chosen commodity is gone, another one is chosen."""
    left = [
        max(0, min(marked - gone, held))
        for marked, gone, held in zip(
            counts(choice.marked), counts(given), counts(view.hand), strict=True
        )
    ]
    marked = sum(number * ONE[lane] for lane, number in enumerate(left))
    if view.hand != NO_CARDS and not count(view.hand, choice.lane):
        return Choice(first_choice(view).lane, marked)
    return Choice(choice.lane, marked)


def moved(view: TableView, choice: Choice, step: int) -> Choice:
    """The next commodity in hand, upwards or downwards."""
    held = [lane for lane in view.suits if count(view.hand, lane)] or list(view.suits)
    if choice.lane not in held:
        return Choice(held[0], choice.marked)
    place = (held.index(choice.lane) + step) % len(held)
    return Choice(held[place], choice.marked)


def plain(cards: int) -> int:
    """Cards without Bull and Bear."""
    return cards & (ONE[BULL] - 1)


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
