"""Bots at whole tables, in virtual time: rounds end, and people can bear to play with them."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from engine.events import Cornered, Dealt, Event, ExchangeOpened, OfferOpened, RoundVoid, Traded
from engine.rules import PRESETS
from services.bots.careful import CAREFUL
from services.bots.chaser import CHASER
from services.bots.pace import BELL_MIN_S, COMMAND_MIN_S, HUMAN, MAX, OFFER_MIN_S, Pace
from services.bots.player import Player
from services.bots.strategy import JUST_RECEIVED_S, Strategy
from services.bots.wild import WILD
from support.bot_rounds import BotTable, Tally, play_rounds

VOIDS_MAX = 0.02
"""Rules, "Bots at the table": at most 2 % of 500 rounds."""
PACES = {"human": HUMAN, "max": MAX}


def players(strategy: Strategy, pace: Pace) -> Callable[[random.Random], Player]:
    return lambda chance: Player(strategy, pace, chance)


def assert_few_voids(preset: str, pace: str, rounds: int) -> None:
    tally = play_rounds(preset, rounds, players(CAREFUL, PACES[pace]), seed=rounds)
    assert tally.rounds == rounds
    assert tally.voids <= VOIDS_MAX * tally.rounds, f"{tally.voids} of {tally.rounds} rounds"


@pytest.mark.parametrize("pace", PACES)
@pytest.mark.parametrize("preset", PRESETS)
def test_four_careful_bots_come_to_corners(preset: str, pace: str) -> None:
    assert_few_voids(preset, pace, rounds=50)


@pytest.mark.all
@pytest.mark.parametrize("pace", PACES)
@pytest.mark.parametrize("preset", PRESETS)
def test_at_most_two_percent_of_500_rounds_are_void(preset: str, pace: str) -> None:
    assert_few_voids(preset, pace, rounds=500)


@pytest.mark.parametrize("strategy", [CHASER, WILD], ids=lambda one: one.name)
def test_the_other_strategies_finish_games_too(strategy: Strategy) -> None:
    tally = play_rounds("blitz", 30, players(strategy, HUMAN), seed=3)
    assert tally.games >= 3
    assert tally.voids < tally.rounds / 2


@pytest.mark.parametrize("seats", [3, 5, 7])
def test_tables_of_every_size_come_to_corners(seats: int) -> None:
    tally = play_rounds("household", 20, players(CAREFUL, HUMAN), seed=4, seats=seats)
    assert tally.voids == 0


class Reactions:
    """How soon each seat acted after what it could have acted on, by virtual time."""

    def __init__(self) -> None:
        self.offers_s: list[float] = []
        self.bells_s: list[float] = []
        self.back_to_giver = 0
        self._traded_at: dict[int, float] = {}
        self._offered_at: dict[int, tuple[float, int]] = {}
        self._received: dict[int, tuple[int, int | None]] = {}

    def __call__(self, game: BotTable, event: Event) -> None:
        now = game.now
        match event:
            case Dealt():
                self._received.clear()
            case ExchangeOpened():
                self._traded_at = dict.fromkeys(range(len(game.players)), now)
                self._offered_at.clear()
            case OfferOpened(seat=seat, size=size, lot=lot, directed_at=directed_at):
                self.offers_s.append(now - self._traded_at[seat])
                self._offered_at[seat] = now, size
                self._check(seat, directed_at, lot, now)
            case Traded(seat=seat, partner=partner, size=size, given=given, received=received):
                assert given is not None
                assert received is not None
                self.offers_s.append(now - self._offered_at[partner][0])
                self.offers_s.append(now - self._traded_at[seat])
                self._check(seat, partner, given, now)
                self._check(partner, seat, received, now)
                self._received[seat], self._received[partner] = (partner, received), (seat, given)
                self._traded_at[seat] = self._traded_at[partner] = now
            case Cornered(seat=seat):
                self.bells_s.append(now - self._traded_at[seat])

    def _check(self, seat: int, to: int, lot: int | None, now: float) -> None:
        recent = now - self._traded_at[seat] < JUST_RECEIVED_S
        self.back_to_giver += recent and self._received.get(seat) == (to, lot)


@pytest.mark.parametrize("strategy", [CAREFUL, CHASER], ids=lambda one: one.name)
def test_at_human_pace_nobody_is_faster_than_a_person(strategy: Strategy) -> None:
    seen = Reactions()
    play_rounds("classic", 40, players(strategy, HUMAN), seed=5, watcher=seen)
    assert min(seen.offers_s) >= OFFER_MIN_S
    assert min(seen.bells_s) >= BELL_MIN_S
    assert len(seen.bells_s) >= 40
    assert seen.back_to_giver == 0


def test_no_lot_goes_back_where_it_came_from_without_directed_offers() -> None:
    seen = Reactions()
    play_rounds("tournament", 40, players(CAREFUL, HUMAN), seed=6, watcher=seen)
    assert seen.back_to_giver == 0


def test_whatever_the_pace_a_bot_sends_at_most_four_commands_a_second() -> None:
    sent: dict[int, list[float]] = {}
    game_players: list[Player] = []

    class Counted(Player):
        def sent(self, now: float) -> None:
            super().sent(now)
            sent.setdefault(id(self), []).append(now)

    def make(chance: random.Random) -> Player:
        game_players.append(Counted(CAREFUL, MAX, chance))
        return game_players[-1]

    play_rounds("blitz", 30, make, seed=7)
    gaps = [later - earlier for times in sent.values() for earlier, later in pairwise(times)]
    assert len(gaps) > 500
    assert min(gaps) >= COMMAND_MIN_S - 1e-9


def test_where_a_person_sits_the_pace_is_human() -> None:
    seen = Reactions()

    def seat_a_person(game: BotTable, event: Event) -> None:
        for view in game.views.values():
            view.seats[0].person = "people/p"
        seen(game, event)

    play_rounds("classic", 20, players(CAREFUL, MAX), seed=8, watcher=seat_a_person)
    assert min(seen.offers_s[50:]) >= OFFER_MIN_S
    assert min(seen.bells_s[2:]) >= BELL_MIN_S


def test_where_people_have_time_to_think_bots_take_theirs() -> None:
    seen = Reactions()

    def seat_a_person(game: BotTable, event: Event) -> None:
        for view in game.views.values():
            view.seats[0].person = "people/p"
        seen(game, event)

    rules = replace(PRESETS["classic"], idle_s=60, round_cap_s=600)
    chance, tally = random.Random(8), Tally()
    seated = [Player(CAREFUL, MAX, random.Random(seat)) for seat in range(4)]
    game = BotTable(rules, seated, chance, tally, seat_a_person)
    while tally.rounds < 5 and not game.over:
        game.step()
    assert min(seen.offers_s[50:]) >= 6 * OFFER_MIN_S
    assert min(seen.bells_s[2:]) >= 6 * BELL_MIN_S
    assert tally.voids == 0


def test_a_void_round_needs_no_bot_to_be_wrong() -> None:
    """The watchers above would see a void round, if there were one."""
    voids = []

    class Asleep(Player):
        def act(self, view: object, now: float) -> None:
            self.wake_at = now + 60.0

    def watch(game: BotTable, event: Event) -> None:
        if isinstance(event, RoundVoid):
            voids.append(event)

    tally = play_rounds(
        "blitz", 2, lambda chance: Asleep(CAREFUL, HUMAN, chance), seed=9, watcher=watch
    )
    assert tally.voids == len(voids) == 2
