"""What each key does: no terminal, no time, no exchange."""

import pytest
from grpc import StatusCode
from pit.v1 import table_pb2

from engine.cards import BEAR, BULL, ONE, pack
from services.client.errors import Left, Refused, Superseded
from services.client.happenings import Rejected
from services.client.view import NOBODY
from services.play.guidance import what_now
from services.play.model import Model
from services.play.player import Player
from support.own_table import SECOND_US, FakeHouse, FakeSeat, FakeStage, happen, view_of
from support.play_screens import NOW

HURRY, THANKS = table_pb2.PHRASE_HURRY, table_pb2.PHRASE_THANKS


class Played:
    """A player, and what its keys did."""

    def __init__(self, phase: int = table_pb2.PHASE_OPEN, preset: str = "blitz") -> None:
        self.seat = FakeSeat(view_of(phase, preset))
        self.view = self.seat.view
        self.house = FakeHouse()
        self.stage = FakeStage()
        self.model = Model(self.view)
        self.player = Player(self.seat, self.house, self.stage, self.model)

    @property
    def acts(self) -> list[tuple[object, ...]]:
        return self.seat.acts

    @property
    def notice(self) -> str:
        return self.model.notice

    @property
    def told(self) -> list[str]:
        return [line.text for line in self.model.told]

    async def press(self, *keys: str) -> None:
        await self.stage.press(self.player, *keys)

    def offered(self, seat: int, size: int) -> None:
        opened = table_pb2.OfferOpened(seat=seat, size=size)
        happen(self.model, self.view, offer_opened=opened)


# ---------------------------------------------------------------------- calling


async def test_a_number_calls_so_many_of_the_chosen() -> None:
    played = Played()
    await played.press("d", "3", "f", "2")
    assert played.acts == [
        ("offer", 3 * ONE[2], NOBODY, False),
        ("offer", 2 * ONE[3], NOBODY, False),
    ]


async def test_arrows_choose_and_the_bear_goes_along() -> None:
    played = Played()
    await played.press("down", "e", "2")
    assert played.acts == [("offer", ONE[2] + ONE[BEAR], NOBODY, False)]
    await played.press("e")
    assert not played.model.choice.marked


async def test_too_many_is_said_and_not_sent() -> None:
    played = Played()
    await played.press("f", "4")
    assert played.acts == []
    assert played.notice.startswith("You hold 2 rye, not 4")


async def test_a_key_without_a_meaning_says_so() -> None:
    played = Played()
    await played.press("z")
    assert played.notice == "That key does nothing here; ? shows all keys."


async def test_w_takes_back() -> None:
    played = Played()
    await played.press("w")
    assert played.acts == [("withdraw",)]


# ---------------------------------------------------------------------- mixed lots


async def test_marked_cards_go_first_and_the_chosen_commodity_fills_up() -> None:
    played = Played(preset="deluxe")
    await played.press("a", "right", "f", "right", "right", "d", "4")
    assert played.acts == [("offer", pack({0: 1, 3: 2, 2: 1}), NOBODY, False)]


async def test_what_was_called_is_no_longer_marked_and_the_bear_stays_so() -> None:
    played = Played(preset="deluxe")
    await played.press("f", "right", "e", "2")
    lot = ONE[3] + ONE[BEAR]
    happen(
        played.model, played.view, lot, number=1,
        offer_opened=table_pb2.OfferOpened(seat=0, size=2),
    )  # fmt: skip
    assert played.model.choice.marked == ONE[BEAR]


async def test_marks_end_where_the_hand_and_the_lot_end() -> None:
    played = Played(preset="deluxe")
    await played.press("a", "right", "right")
    assert played.notice == "You hold no more wheat to mark."
    await played.press("d", "right", "right", "right", "right")
    assert played.notice.startswith("A lot has 4 cards at most")
    await played.press("3")
    assert played.notice == "4 cards are marked (1 wheat, 3 coffee): press 4, or x unmarks them."
    await played.press("left", "left", "left", "left")
    assert played.notice == "No coffee is marked."
    await played.press("x")
    assert not played.model.choice.marked
    assert played.acts == []


async def test_rules_without_mixed_lots_say_so() -> None:
    played = Played()
    await played.press("d", "right")
    assert played.notice.startswith("These rules know no mixed lots")
    assert not played.model.choice.marked


# ---------------------------------------------------------------------- answering


async def test_enter_answers_the_marked_offer_and_tab_marks_another() -> None:
    played = Played()
    played.offered(1, 2)
    played.offered(3, 1)
    await played.press("d", "enter", "tab", "enter")
    assert played.acts == [("offer", 2 * ONE[2], 1, True), ("offer", ONE[2], 3, True)]


async def test_an_offer_too_large_to_answer_is_named() -> None:
    played = Played()
    played.offered(1, 4)
    await played.press("f", "enter")
    assert played.acts == []
    assert played.notice == ("Bo holds up 4. You hold 2 rye, not 4: choose corn with the arrows.")


@pytest.mark.parametrize("key", ["enter", "tab"])
async def test_without_an_offer_there_is_nothing_to_answer(key: str) -> None:
    played = Played()
    await played.press(key)
    assert played.acts == []
    assert "No open offer" in played.notice


async def test_a_lost_race_is_explained() -> None:
    played = Played()
    played.offered(1, 1)
    played.seat.answer = Rejected(9, "NO_PARTNER", {}, "no partner")
    await played.press("d", "enter")
    assert played.notice.startswith("Too late: that offer is gone")


async def test_an_offer_that_slipped_under_the_finger_is_not_answered_unseen() -> None:
    played = Played()
    played.offered(1, 2)
    played.offered(3, 1)
    taken = table_pb2.OfferEnded(seat=1, end=table_pb2.OFFER_END_WITHDRAWN)
    happen(played.model, played.view, offer_ended=taken)
    await played.press("d", "enter")
    assert played.acts == []
    assert played.notice == "Nothing given: ▶ has just moved to Cy's 1. Again?"
    await played.press("enter")
    assert played.acts == [("offer", ONE[2], 3, True)]


async def test_a_change_of_the_marked_offer_that_could_be_seen_is_no_slip() -> None:
    played = Played()
    played.offered(1, 2)
    played.offered(1, 3)
    played.seat.log_us += SECOND_US
    await played.press("d", "enter")
    assert played.acts == [("offer", 3 * ONE[2], 1, True)]


async def test_who_comes_too_late_is_told_whose_offer_is_gone() -> None:
    played = Played()
    played.offered(1, 2)
    taken = table_pb2.Traded(seat=2, partner=1, size=2)
    happen(played.model, played.view, traded=taken)
    await played.press("d", "enter")
    assert played.notice.startswith("Too late: Bo's offer is gone.")


# ---------------------------------------------------------------------- the bell


async def test_space_rings_only_with_a_corner() -> None:
    played = Played()
    await played.press("space")
    assert played.acts == []
    assert "No corner yet" in played.notice
    played.view.hand = pack({3: 8, BULL: 1})
    await played.press("space")
    assert played.acts == [("bell", 3)]


# ---------------------------------------------------------------------- ready


@pytest.mark.parametrize(
    ("phase", "ready_for"),
    [
        (table_pb2.PHASE_SORTING, table_pb2.READY_FOR_OPEN),
        (table_pb2.PHASE_BETWEEN, table_pb2.READY_FOR_NEXT),
    ],
)
async def test_r_is_ready_for_what_comes_next(phase: int, ready_for: int) -> None:
    played = Played(phase)
    await played.press("r", "2")
    assert played.acts == [("ready", ready_for)]
    assert played.notice  # trading is not open: said, not sent


async def test_r_is_not_needed_where_the_clock_alone_opens() -> None:
    played = Played(table_pb2.PHASE_SORTING, preset="classic")
    await played.press("r")
    assert played.acts == []
    assert played.notice == "By these rules trading opens by the clock alone."


async def test_r_starts_the_own_table() -> None:
    played = Played(table_pb2.PHASE_SEATING)
    await played.press("r")
    assert (played.house.asked, played.acts) == (["start"], [])


async def test_a_start_that_is_refused_is_explained() -> None:
    played = Played(table_pb2.PHASE_SEATING)
    played.house.refusal = Refused(StatusCode.FAILED_PRECONDITION, "ALREADY_STARTED", "")
    await played.press("r")
    assert played.notice == "The game has started already."


async def test_r_at_another_ones_table_says_ready() -> None:
    played = Played(table_pb2.PHASE_SEATING)
    played.view.owner = "people/p1"
    await played.press("r")
    assert (played.house.asked, played.acts) == ([], [("ready", table_pb2.READY_FOR_START)])


async def test_r_takes_the_seat_back_from_a_stand_in() -> None:
    played = Played()
    played.view.seats[0].bot = True
    played.seat.tell(Superseded("SUPERSEDED"))
    await played.player.follow()
    await played.press("d", "1")
    assert played.acts == []
    played.house.other.tell(Superseded("SUPERSEDED"))  # so that following it ends
    await played.press("r")
    assert played.house.asked == ["take back"]
    assert "You have your seat again" in played.told
    assert played.player.seat is played.house.other


async def test_who_comes_back_after_the_end_is_told_how_it_ended() -> None:
    played = Played()
    played.model.superseded(played.view)
    played.house.other = FakeSeat(view_of(table_pb2.PHASE_ENDED))
    played.house.other.tell(Superseded("SUPERSEDED"))
    await played.press("r")
    assert "The game ended meanwhile: Cy 110, you 85, Bot 2 0, Bo -20" in played.told


# ---------------------------------------------------------------------- playing again


def voted(played: Played, seat: int, yes: bool = True) -> None:
    vote = table_pb2.RematchVoted(seat=seat, yes=yes, until_us=50 * SECOND_US)
    happen(played.model, played.view, rematch_voted=vote)


async def test_r_after_the_game_votes_and_waits_for_the_others() -> None:
    played = Played(table_pb2.PHASE_ENDED)
    await played.press("r")
    assert played.house.asked == ["rematch True"]
    voted(played, 0)
    assert what_now(played.model, played.view, NOW) == (
        "You play again: waiting for the others, 0:40 more."
    )
    assert played.player.seat is played.seat


async def test_anothers_wish_is_told_and_n_declines_it() -> None:
    played = Played(table_pb2.PHASE_ENDED)
    await played.press("n")
    assert played.notice == "Nothing waits for your n just now."
    voted(played, 1)
    assert "Bo wants to play again" in played.told
    assert what_now(played.model, played.view, NOW) == (
        "Bo would play again. r: you too; n: no. 0:40 left."
    )
    await played.press("n")
    assert played.house.asked == ["rematch False"]


async def test_the_last_yes_leads_to_the_new_table() -> None:
    played = Played(table_pb2.PHASE_ENDED)
    voted(played, 1)
    played.house.agreed = True
    played.house.other.tell(Superseded("SUPERSEDED"))  # so that following it ends
    await played.press("r")
    assert played.player.seat is played.house.other
    assert any(line.startswith("Another game: you sit at") for line in played.told)
    assert not played.model.result.title


async def test_who_said_yes_goes_along_when_the_others_agree() -> None:
    played = Played(table_pb2.PHASE_ENDED)
    await played.press("r")
    voted(played, 0)
    agreed = table_pb2.RematchAgreed(table="tables/01" + "a" * 20)
    played.house.agreed = True
    played.seat.tell(happen(played.model, played.view, rematch_agreed=agreed))
    played.seat.tell(Left())
    played.house.other.tell(Superseded("SUPERSEDED"))
    await played.player.follow()
    await played.stage.finish()
    assert played.house.asked == ["rematch True", "rematch True"]
    assert played.player.seat is played.house.other


# ---------------------------------------------------------------------- frozen


async def test_a_frozen_table_takes_no_calls() -> None:
    played = Played()
    happen(
        played.model,
        played.view,
        frozen=table_pb2.Frozen(reason="a dispute", operator="Ann", at_us=10 * SECOND_US),
    )
    await played.press("d", "1", "space")
    assert played.acts == []
    assert "frozen" in played.notice
    happen(played.model, played.view, resumed=table_pb2.Resumed(frozen_us=5 * SECOND_US))
    await played.press("1")
    assert len(played.acts) == 1


# ---------------------------------------------------------------------- words


async def test_c_asks_what_to_say_and_any_other_key_says_nothing() -> None:
    played = Played()
    await played.press("c", "h", "c", "t", "c", "q")
    assert played.acts == [("call", HURRY), ("call", THANKS)]


async def test_m_mutes_and_unmutes_a_seat() -> None:
    played = Played()
    hurry = table_pb2.Called(seat=1, phrase=HURRY)
    await played.press("m")
    assert "1   Bo" in played.stage.text
    assert "Ada" not in played.stage.text
    await played.press("1")
    assert played.notice == "Bo is muted."
    happen(played.model, played.view, called=hurry)
    assert "Bo says: Hurry!" not in played.told
    await played.press("m", "1")
    assert played.notice == "Bo is heard again."
    happen(played.model, played.view, called=hurry)
    assert "Bo says: Hurry!" in played.told


async def test_oneself_and_empty_seats_cannot_be_muted() -> None:
    played = Played()
    await played.press("m", "0", "m", "7", "m", "z")
    assert not any(played.model.muted.has(played.view, seat) for seat in range(4))


# ---------------------------------------------------------------------- invitations


async def test_i_shows_the_code_and_n_renews_it() -> None:
    played = Played()
    played.house.invite_code = "OLD-CODE"
    await played.press("i")
    assert "pit play --code OLD-CODE" in played.stage.text
    await played.press("n")
    assert played.house.asked == ["new invite"]
    assert "Others join by: pit play --code NEW-CODE" in played.told


async def test_only_the_owner_invites() -> None:
    played = Played()
    played.view.owner = "people/p1"
    await played.press("i")
    assert (played.stage.text, played.notice) == ("", "Only the owner of a table can invite.")


async def test_t_shows_a_code_for_another_device() -> None:
    played = Played()
    await played.press("t")
    assert "pit play --transfer MOVE-CODE" in played.stage.text


async def test_a_code_that_is_refused_is_explained() -> None:
    played = Played()
    played.house.refusal = Refused(StatusCode.UNAVAILABLE, "UNAVAILABLE", "try again")
    await played.press("t")
    assert (played.stage.text, played.notice) == (
        "",
        "The exchange refused: try again. Nothing changed.",
    )


async def test_v_shows_the_rules() -> None:
    played = Played()
    await played.press("v")
    assert played.stage.text.startswith("Table       tables/00")


# ---------------------------------------------------------------------- help and leaving


async def test_help_swallows_the_key_that_closes_it() -> None:
    played = Played()
    await played.press("question_mark", "2")
    assert played.acts == []
    await played.press("d", "2")
    assert len(played.acts) == 1


@pytest.mark.parametrize(("preset", "mixes"), [("blitz", False), ("deluxe", True)])
async def test_help_fits_and_knows_the_rules(preset: str, mixes: bool) -> None:
    played = Played(preset=preset)
    await played.press("question_mark")
    lines = played.stage.text.split("\n")
    assert len(lines) <= 22
    assert max(map(len, lines)) <= 76
    assert ("for a mixed lot" in played.stage.text) is mixes


async def test_q_asks_before_a_seat_is_given_up() -> None:
    played = Played()
    await played.press("q", "n")
    assert (played.house.asked, played.notice, played.stage.over) == ([], "You stay.", False)
    await played.press("ctrl+c", "y")
    assert (played.house.asked, played.stage.over) == (["leave"], True)
    assert not played.model.kept


async def test_k_quits_and_keeps_the_seat() -> None:
    played = Played()
    await played.press("q", "k")
    assert (played.house.asked, played.stage.over, played.model.kept) == ([], True, True)


async def test_q_after_the_game_only_quits() -> None:
    played = Played(table_pb2.PHASE_ENDED)
    await played.press("q")
    assert (played.house.asked, played.stage.over) == ([], True)
