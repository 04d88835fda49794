"""Keys beside trading: ready, playing again, words, invitations, leaving."""

import pytest
from grpc import StatusCode
from pit.v1 import table_pb2

from services.client.errors import Left, Refused, Superseded
from services.play.guidance import what_now
from support.at_keys import FakeSeat, Played
from support.own_table import SECOND_US, happen, view_of
from support.play_screens import NOW

HURRY, THANKS = table_pb2.PHRASE_HURRY, table_pb2.PHRASE_THANKS


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


async def test_who_was_removed_is_told_by_whom_and_cannot_take_the_seat_back() -> None:
    played = Played()
    removed = table_pb2.SeatLeft(seat=0, removed=True, reason="abuse", operator="Ann")
    happen(played.model, played.view, seat_left=removed)
    played.seat.tell(Superseded("SUPERSEDED"))
    await played.player.follow()
    assert played.told[-1] == "You were REMOVED by Ann (operator): abuse"
    assert what_now(played.model, played.view, NOW) == (
        "You do not sit at this table any more. Press q."
    )
    await played.press("r")
    assert played.house.asked == []
    assert played.notice.startswith("Nothing was sent")


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
