"""Commands that are wrong in exactly one way, each way in turn: what `support.play` mixes in.

Every maker is named after what it gets wrong. A maker that cannot be wrong at this moment gives
`None`, and the next one is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from engine import commands
from engine.cards import BEAR, BULL, DECKS, pack
from engine.commands import NOBODY, Command, Purpose
from engine.shown import Phase
from support.twin.cards import to_packed

if TYPE_CHECKING:
    from support.play import Play

Maker = Callable[[], Command | None]


class Wrong:
    """Makes wrong commands for the table that `play` plays at."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.turn = 0
        names = [name for name in vars(Wrong) if name.startswith("with_")]
        opening = ["with_a_table_of_wrong_size", "with_settings_that_contradict"]
        about_play = names[names.index("with_an_unknown_purpose") :]
        about_play += ["with_another_hand_seen"] * 3  # seldom possible
        self.makers: dict[str, list[Maker]] = {
            "anything": [getattr(self, name) for name in names],
            "opening": [getattr(self, name) for name in opening],
            "play": [getattr(self, name) for name in about_play],
        }

    def command(self) -> Command:
        """A way to be wrong that fits the moment."""
        kind = {Phase.NEW: "opening", Phase.OPEN: "play"}.get(self.play.twin.phase, "anything")
        if self.play.random.random() < 0.3:
            kind = "anything"
        for _ in range(100):
            self.turn += 1
            made = self.play.random.choice(self.makers[kind])()
            if made is not None:
                return made
        return commands.Tick()

    # -------------------------------------------------------------- who asks, and how often

    def with_a_repeat(self) -> Command | None:
        return self.play.random.choice(self.play.sent) if self.play.sent else None

    def with_a_repeat_of_the_newest(self) -> Command | None:
        return self.play.sent[-1] if self.play.sent else None

    def with_a_vote_that_is_not_due(self) -> Command | None:
        """Before the end of the game, by a stranger, or a no to what nobody asked."""
        people = [chair.person for chair in self.play.twin.chairs if chair.person]
        person = self.play.random.choice(["stranger", *people])
        return self.play.vote(person, yes=self.play.random.random() < 0.5)

    def with_a_number_used_for_something_else(self) -> Command | None:
        if not self.play.sent:
            return None
        return replace(self.play.sent[-1], content=self.content())

    def with_a_number_that_skips(self) -> Command | None:
        fields = self.fields()
        fields["number"] += self.play.random.choice([1, 2, 1 << 40])
        return commands.Call(**fields, phrase=1)

    def with_a_number_too_old(self) -> Command | None:
        numbers = [chair.people.last_number for chair in self.play.twin.chairs]
        if not numbers:
            return None
        fields = self.fields(seat=numbers.index(max(numbers)))
        fields["number"] = self.play.random.choice([0, -1, 1, fields["number"] - 17])
        return commands.Call(**fields, phrase=1)

    def with_another_generation(self) -> Command | None:
        return self.call(generation=self.play.random.choice([0, 7, 1 << 40]))

    def with_another_attach_number(self) -> Command | None:
        fields = self.fields()
        fields["attach"] = self.play.random.choice([0, fields["attach"] - 1, fields["attach"] + 1])
        return commands.Call(**fields, phrase=1)

    def with_an_attach_number_given_to_nobody(self) -> Command | None:
        for seat, chair in enumerate(self.play.twin.chairs):
            if chair.person and not chair.held:
                return commands.Call(**self.play.common(seat), phrase=1)
        return None

    def with_no_such_seat(self) -> Command | None:
        return self.call(seat=self.play.random.choice([-1, 8, 99]))

    def with_a_request_used_for_something_else(self) -> Command | None:
        asked = self.play.asked
        return replace(self.play.random.choice(asked), content=self.content()) if asked else None

    def with_a_request_repeated(self) -> Command | None:
        return self.play.random.choice(self.play.asked) if self.play.asked else None

    def with_a_table_that_exists(self) -> Command | None:
        return self.play.open_table()

    def with_a_table_of_wrong_size(self) -> Command | None:
        opening = self.play.open_table()
        assert isinstance(opening, commands.OpenTable)
        return replace(opening, seats=self.play.random.choice([0, 2, 9, -1]))

    def with_settings_that_contradict(self) -> Command | None:
        opening = self.play.open_table()
        assert isinstance(opening, commands.OpenTable)
        wrong = self.play.random.choice(
            [
                {"visibility": 0},
                {"absent_policy": 9},
                {"rules": replace(opening.rules, target=0)},
                {"rules": replace(opening.rules, bear_blocks=True, eight_bull_and_bear=True)},
                {"visibility": commands.Visibility.PRIVATE, "invite_hash": b"short"},
                {"visibility": commands.Visibility.PUBLIC, "absent_policy": 2},
            ]
        )
        return replace(opening, **wrong)

    def with_a_stranger_who_leaves(self) -> Command | None:
        return self.play.leave("stranger")

    def with_a_stranger_who_attaches(self) -> Command | None:
        return self.attach(person="stranger")

    def with_an_attach_to_no_seat(self) -> Command | None:
        return self.attach(seat=self.play.random.choice([-1, 8]), person="stranger")

    def with_a_bot_nobody_wants(self) -> Command | None:
        return self.attach(bot=True, person="b9")

    def with_an_attach_to_a_forfeited_seat(self) -> Command | None:
        for seat, chair in enumerate(self.play.twin.chairs):
            if chair.forfeited:
                return self.play.attach(seat)
        return None

    def with_a_command_from_a_forfeited_seat(self) -> Command | None:
        for seat, chair in enumerate(self.play.twin.chairs):
            if chair.forfeited:
                return commands.Call(**self.play.common(seat), phrase=1)
        return None

    def with_a_detach_of_an_old_stream(self) -> Command | None:
        if not self.play.twin.chairs:
            return None
        seat = self.seat()
        return commands.Detach(seat, self.play.twin.chairs[seat].attaches - 1)

    def with_a_detach_of_no_seat(self) -> Command | None:
        return commands.Detach(self.play.random.choice([-1, 8]), 1)

    # -------------------------------------------------------------- wrong at any time

    def with_an_unknown_purpose(self) -> Command | None:
        return self.ready(self.play.random.choice([0, 4, -1]))

    def with_another_hand_seen(self) -> Command | None:
        """To a seat other than the one left in this round: a free one, as a rule."""
        if not self.play.twin.left_this_round:
            return None
        person, left = self.play.random.choice(self.play.twin.left_this_round)
        free = [
            seat
            for seat, chair in enumerate(self.play.twin.chairs)
            if seat != left and not chair.person and not chair.forfeited
        ]
        return self.play.join(person, self.play.random.choice(free)) if free else None

    def with_a_nonce_of_wrong_length(self) -> Command | None:
        purpose = self.play.random.choice(list(Purpose))
        wrong = [b"x", b"x" * 15, b"x" * 17]
        return self.ready(purpose, self.play.random.choice(wrong))

    def with_a_lot_of_wrong_size(self) -> Command | None:
        five = {0: 3, 1: 2} if self.play.rules.mixed_lots else {0: 5}
        lots = [{}, five, {0: 9}, {0: 15, 1: 15}]
        return self.offer(pack(self.play.random.choice(lots)))

    def with_a_lot_that_is_no_cards(self) -> Command | None:
        return self.offer(self.play.random.choice([-1, 16, 17, 1 << 50, (1 << 50) + 1, 1 << 80]))

    def with_two_bulls(self) -> Command | None:
        return self.offer(pack(self.play.random.choice([{BULL: 2}, {0: 2, BEAR: 2}, {BEAR: 1}])))

    def with_a_commodity_of_another_deck(self) -> Command | None:
        return self.offer(pack({7: 1}))

    def with_two_commodities(self) -> Command | None:
        return self.offer(pack({0: 1, 1: 1}))

    def with_an_offer_to_oneself(self) -> Command | None:
        seat = self.seat()
        return self.offer(pack({0: 1}), seat=seat, directed_at=seat)

    def with_an_offer_to_no_seat(self) -> Command | None:
        return self.offer(pack({0: 1}), directed_at=self.play.random.choice([8, -2, 99]))

    def with_a_limit_out_of_range(self) -> Command | None:
        limit_ms = self.play.random.choice([1, 999, 60_001, -5])
        return self.offer(pack({0: 1}), limit_ms=limit_ms)

    def with_an_unknown_phrase(self) -> Command | None:
        return self.call(phrase=self.play.random.choice([0, 9, -1]))

    def with_a_bell_for_no_commodity(self) -> Command | None:
        return self.bell(self.play.random.choice([-1, BULL, 99]))

    def with_a_bell_for_a_commodity_of_another_deck(self) -> Command | None:
        return self.bell(7)

    def with_a_seat_out_of_range(self) -> Command | None:
        return self.play.join(f"late{self.turn}", self.play.random.choice([-2, 8, 99]))

    # -------------------------------------------------------------- wrong now

    def with_one_more_person(self) -> Command | None:
        return self.play.join(f"late{self.turn}", NOBODY)

    def with_a_seat_already_taken(self) -> Command | None:
        return self.play.join(f"late{self.turn}", self.seat())

    def with_a_person_already_seated(self) -> Command | None:
        return self.play.join(self.play.random.choice(self.play.people), self.seat())

    def with_no_invitation(self) -> Command | None:
        joining = self.play.join(f"late{self.turn}", NOBODY)
        assert isinstance(joining, commands.Join)
        return replace(joining, invite_hash=self.play.random.choice([b"", b"j" * 32]))

    def with_a_start_by_somebody(self) -> Command | None:
        person = self.play.random.choice([self.play.people[1], self.play.twin.owner])
        return commands.Start(self.play.request(), self.content(), person)

    def with_somebody_who_was_removed(self) -> Command | None:
        removed = self.play.twin.removed
        return self.play.join(self.play.random.choice(removed), NOBODY) if removed else None

    def with_a_word_from_the_office(self) -> Command | None:
        office = self.play.random.random() < 0.2 and self.play.twin.chairs
        return self.play.office.command() if office else None

    def with_readiness_out_of_season(self) -> Command | None:
        return self.ready(self.play.random.choice(list(Purpose)))

    def with_an_old_round(self) -> Command | None:
        return self.offer(
            pack({0: 1}), round=self.play.random.choice([self.play.twin.round - 1, 99])
        )

    def with_an_offer_at_any_time(self) -> Command | None:
        return self.offer(pack({0: 1}))

    def with_an_offer_to_anybody(self) -> Command | None:
        return self.offer(pack({0: 1}), directed_at=self.seat())

    def with_cards_of_others(self) -> Command | None:
        if not self.play.twin.chairs:
            return None
        seat = self.seat()
        held = self.play.twin.chairs[seat].hand
        others = [suit for suit in self.play.twin.suits if held.count(suit) < 4]
        lot = to_packed(self.play.rules, others[:1] * 4)
        return self.offer(lot, seat=seat) if others else None

    def with_an_immediate_offer(self) -> Command | None:
        if not self.play.twin.suits:
            return None
        seat = self.seat()
        lot = to_packed(self.play.rules, self.play.twin.chairs[seat].hand[:1])
        return self.offer(lot, seat=seat, immediate=True)

    def with_nothing_to_withdraw(self) -> Command | None:
        return commands.Withdraw(**self.fields())

    def with_an_offer_traded_unseen(self) -> Command | None:
        for seat, chair in enumerate(self.play.twin.chairs):
            if chair.last_trade_seq and chair.offer is None:
                fields = self.play.common(seat) | {"seen_seq": chair.last_trade_seq - 1}
                return commands.Withdraw(**fields)
        return None

    def with_a_false_bell(self) -> Command | None:
        return self.bell(self.play.random.randrange(len(DECKS[self.play.rules.deck])))

    def with_a_bell_for_nearly_a_corner(self) -> Command | None:
        """Seven of it, or all of it with the Bear in hand: corners under other rules, perhaps."""
        for seat, chair in enumerate(self.play.twin.chairs):
            for commodity in self.play.twin.suits:
                if chair.connected and chair.hand.count(commodity) >= 7:
                    return self.play.bell(seat, commodity)
        return None

    def with_a_false_bell_after_an_unseen_trade(self) -> Command | None:
        for seat, chair in enumerate(self.play.twin.chairs):
            if chair.last_trade_seq:
                return self.bell(0, seat=seat, seen_seq=chair.last_trade_seq - 1)
        return None

    def with_a_second_false_bell(self) -> Command | None:
        for seat, chair in enumerate(self.play.twin.chairs):
            if chair.bell_locked_until_ms > self.play.now_ms:
                return self.bell(0, seat=seat)
        return None

    def with_a_tick_too_early(self) -> Command | None:
        return commands.Tick()

    def with_a_gateway_nobody_uses(self) -> Command | None:
        return commands.GatewayLost("gateway-9")

    # -------------------------------------------------------------- small parts

    def content(self) -> int:
        return self.play.random.getrandbits(60)

    def seat(self) -> int:
        return self.play.anybody() if self.play.twin.chairs else 0

    def fields(self, **changed: int) -> dict[str, int]:
        seat = changed.get("seat", self.seat())
        inside = 0 <= seat < len(self.play.twin.chairs)
        fields = self.play.common(seat) if inside else self.nowhere(seat)
        return fields | changed

    def nowhere(self, seat: int) -> dict[str, int]:
        """A seat command's fields for a seat that does not exist."""
        return {
            "seat": seat,
            "attach": 1,
            "generation": 1,
            "number": 1,
            "round": 1,
            "seen_seq": 0,
            "content": self.content(),
        }

    def call(self, phrase: int = 1, **changed: int) -> Command:
        return commands.Call(**self.fields(**changed), phrase=phrase)

    def ready(self, purpose: int, nonce: bytes = b"") -> Command:
        return commands.Ready(**self.fields(), purpose=purpose, nonce=nonce)

    def bell(self, commodity: int, **changed: int) -> Command:
        return commands.RingBell(**self.fields(**changed), commodity=commodity)

    def offer(
        self,
        lot: int,
        *,
        directed_at: int = NOBODY,
        immediate: bool = False,
        limit_ms: int = 0,
        **changed: int,
    ) -> Command:
        return commands.Offer(
            **self.fields(**changed),
            lot=lot,
            directed_at=directed_at,
            immediate=immediate,
            limit_ms=limit_ms,
        )

    def attach(self, *, seat: int | None = None, person: str, bot: bool = False) -> Command:
        where = self.seat() if seat is None else seat
        return commands.Attach(where, person, "gateway-1", self.play.bytes16(), bot, 0)
