"""Opening a table, sitting down and getting up."""

from collections.abc import Callable

from engine.cards import DECKS
from engine.commands import (
    NOBODY,
    AbsentPolicy,
    Join,
    Leave,
    OpenSeated,
    OpenTable,
    RemoveSeat,
    RotateInvite,
    Visibility,
)
from engine.events import (
    Absence,
    BotWanted,
    InviteRotated,
    OwnerChanged,
    SeatLeft,
    SeatTaken,
    TableOpened,
    Why,
)
from engine.rejections import Rejection
from engine.rules import problems
from engine.shown import Phase

from . import endings, operators, presence, rematch, trading
from .refused import Refused
from .table import Chair, Twin

REMOVED_KEPT = 32


def open_table(twin: Twin, command: OpenTable, now_ms: int, chance: Callable[[int], bytes]) -> None:
    rules = command.rules
    commodities = len(rules.suits) or len(DECKS[rules.deck])
    most = min(rules.seats_max, commodities)
    if not rules.seats_min <= command.seats <= most:
        raise Refused(Rejection.SEATS_RANGE, rules.seats_min, most)
    if not is_valid(command):
        raise Refused(Rejection.SETTINGS_INVALID)
    twin.opening = command
    twin.opened_at_ms = now_ms
    twin.owner = command.person
    twin.invite_hash = command.invite_hash
    twin.start_at_s = command.start_at_s
    twin.phase = Phase.SEATING
    twin.chairs = [Chair() for _ in range(command.seats)]
    twin.say(
        TableOpened(
            rules,
            command.seats,
            command.display_name,
            command.visibility,
            command.absent_policy,
            command.bots,
            command.for_bots,
            command.invite_hash,
            command.person,
            now_ms,
            command.start_at_s,
        )
    )
    if isinstance(command, OpenSeated):
        for seat, person in enumerate(command.persons):
            if person:
                twin.say(SeatTaken(seat, person, now_ms))
                twin.chairs[seat].person = person
                twin.chairs[seat].seated_place = twin.seq
    endings.commit(twin, 1, 0, chance)


def is_valid(command: OpenTable) -> bool:
    """Whether such a table may be opened."""
    if problems(command.rules):
        return False
    if command.visibility not in list(Visibility) or command.absent_policy not in list(
        AbsentPolicy
    ):
        return False
    private = command.visibility == Visibility.PRIVATE
    if command.absent_policy == AbsentPolicy.WAIT and not private:
        return False
    if isinstance(command, OpenSeated) and not is_company(command):
        return False
    return len(command.invite_hash) == (32 if private else 0)


def is_company(command: OpenSeated) -> bool:
    """Whether these persons can sit at one table."""
    if command.persons and len(command.persons) != command.seats:
        return False
    return all(command.persons.count(person) == 1 for person in command.persons if person)


def check_invite(twin: Twin, command: Join) -> None:
    """A private table and none at all must look the same to who has no invitation."""
    assert twin.opening is not None
    private = twin.opening.visibility == Visibility.PRIVATE
    invited = command.invite_hash == twin.invite_hash
    if private and not invited and seat_of(twin, command.person) is None:
        raise Refused(Rejection.TABLE_NOT_FOUND)


def check_at_home(twin: Twin, person: str) -> None:
    """The same to who asks for something else than a seat; operators go in and out."""
    assert twin.opening is not None
    private = twin.opening.visibility == Visibility.PRIVATE
    if private and person not in ("", twin.owner) and seat_of(twin, person) is None:
        raise Refused(Rejection.TABLE_NOT_FOUND)


def seat_of(twin: Twin, person: str) -> int | None:
    for seat, chair in enumerate(twin.chairs):
        if chair.person == person:
            return seat
    return None


def join(twin: Twin, command: Join, now_ms: int) -> int:
    own = seat_of(twin, command.person)
    if own is not None and twin.chairs[own].forfeited:
        raise Refused(Rejection.SEAT_FORFEITED)
    if command.seat != NOBODY and not is_place(twin, command.seat):
        raise Refused(Rejection.SEAT_RANGE)
    if command.person in twin.removed:
        raise Refused(Rejection.REMOVED)
    if twin.phase in (Phase.ENDED, Phase.CLOSED):
        raise Refused(Rejection.TABLE_CLOSED)
    if own is not None:
        return own
    free = [
        seat
        for seat, chair in enumerate(twin.chairs)
        if not chair.person and not chair.dropped and not chair.forfeited
    ]
    if not free:
        raise Refused(Rejection.TABLE_FULL)
    if command.seat != NOBODY and command.seat not in free:
        raise Refused(Rejection.SEAT_TAKEN)
    known = [seat for person, seat in twin.left_this_round if person == command.person]
    if known:
        free = [seat for seat in free if seat in known]
    if not free or (command.seat != NOBODY and command.seat not in free):
        raise Refused(Rejection.HAND_SEEN)
    seat = free[0] if command.seat == NOBODY else command.seat
    twin.say(SeatTaken(seat, command.person, now_ms))
    chair = twin.chairs[seat]
    chair.person = command.person
    chair.seated_place = twin.seq
    twin.no_people_since_ms = 0
    if not twin.owner:
        twin.owner = command.person
        twin.say(OwnerChanged(command.person))
    if twin.phase in presence.IN_PLAY:
        presence.go_away(twin, seat, Absence.STREAM_LOST, now_ms)
    return seat


def is_place(twin: Twin, seat: int) -> bool:
    return 0 <= seat < len(twin.chairs) and not twin.chairs[seat].dropped


def leave(twin: Twin, command: Leave, now_ms: int) -> int:
    seat = seat_of(twin, command.person)
    if seat is None:
        raise Refused(Rejection.NOT_SEATED)
    chair = twin.chairs[seat]
    if chair.forfeited:
        raise Refused(Rejection.SEAT_FORFEITED)
    if twin.phase == Phase.CLOSED:
        raise Refused(Rejection.TABLE_CLOSED)
    get_up(twin, SeatLeft(seat, now_ms))
    return seat


def remove(twin: Twin, command: RemoveSeat, now_ms: int) -> int:
    """The owner, or an operator, makes somebody leave for good."""
    there = is_place(twin, command.seat)
    if there:
        sitting = twin.chairs[command.seat].person
        if not sitting or command.meant not in ("", sitting):
            raise Refused(Rejection.NOT_SEATED)
    if there and twin.chairs[command.seat].forfeited:
        raise Refused(Rejection.SEAT_FORFEITED)
    if not there:
        raise Refused(Rejection.SEAT_RANGE)
    operators.check_words(command.reason, 1 if command.operator else 0)
    if twin.phase == Phase.CLOSED:
        raise Refused(Rejection.TABLE_CLOSED)
    if not command.operator and command.person != twin.owner:
        raise Refused(Rejection.NOT_OWNER)
    person = twin.chairs[command.seat].person
    twin.removed = [*twin.removed, person][-REMOVED_KEPT:]
    get_up(twin, SeatLeft(command.seat, now_ms, True, command.reason, command.operator))
    return command.seat


def rotate_invite(twin: Twin, command: RotateInvite, now_ms: int) -> None:
    assert twin.opening is not None
    if twin.opening.visibility != Visibility.PRIVATE or len(command.invite_hash) != 32:
        raise Refused(Rejection.SETTINGS_INVALID)
    if twin.phase == Phase.CLOSED:
        raise Refused(Rejection.TABLE_CLOSED)
    if command.person != twin.owner:
        raise Refused(Rejection.NOT_OWNER)
    twin.invite_hash = command.invite_hash
    twin.say(InviteRotated(command.invite_hash, now_ms))


def get_up(twin: Twin, left: SeatLeft) -> None:
    """The seat is free from here on."""
    seat, now_ms = left.seat, left.at_ms
    chair = twin.chairs[seat]
    person = chair.person
    if not chair.bot:
        if chair.offer is not None:
            chair.acted_at_ms = now_ms
        trading.end_offer(twin, seat, Why.WITHDRAWN, now_ms)
        chair.connected = False
        chair.held = False
        chair.attaches += 1
        chair.ready = set()
        if chair.stream is not None:
            chair.stream.gateway, chair.stream.name = "", b""
        if twin.phase == Phase.SEATING:
            chair.nonce = b""
    if twin.phase in (Phase.SORTING, Phase.OPEN):
        twin.left_this_round = [*twin.left_this_round, (person, seat)][-REMOVED_KEPT:]
    presence.fresh(chair.people)
    chair.person = ""
    chair.wants_rematch = False
    chair.seated_place = 0
    chair.absence = 0
    chair.away_until_ms = 0
    twin.say(left)
    pass_ownership(twin, person)
    assert twin.opening is not None
    presence.nobody_plays(twin, seat, now_ms)
    presence.note_people(twin, now_ms)
    if not presence.anybody_plays_in_person(twin):
        twin.no_people_since_ms = twin.no_people_since_ms or twin.clock(now_ms)
    if twin.phase in presence.IN_PLAY and not twin.opening.bots:
        presence.end_if_too_few(twin, now_ms)
    elif twin.phase in presence.IN_PLAY and not chair.bot and not chair.bot_wanted:
        chair.bot_wanted = True
        twin.say(BotWanted(seat))
    if twin.vote_ends_at_ms:
        rematch.fail(twin, now_ms)


def pass_ownership(twin: Twin, person: str) -> None:
    """The person seated longest becomes the table's owner; with nobody left it has none."""
    if person != twin.owner:
        return
    seated = [
        (chair.seated_place, chair.person)
        for chair in twin.chairs
        if chair.person and not chair.forfeited
    ]
    twin.owner = min(seated)[1] if seated else ""
    twin.say(OwnerChanged(twin.owner))
