"""Who is there: streams, absence, stand-ins, and the policies for empty places."""

from engine.commands import AbsentPolicy, Attach, Detach, GatewayLost
from engine.events import (
    Absence,
    Attached,
    BotSeated,
    BotWanted,
    Detached,
    End,
    Note,
    PastAnswer,
    SeatAway,
    SeatBack,
    SeatForfeited,
    StreamsLost,
    Why,
)
from engine.rejections import Rejection
from engine.shown import Phase

from . import endings
from .refused import Refused
from .table import Chair, Player, Stream, Twin, show
from .trading import end_offer

IN_PLAY = (Phase.SORTING, Phase.OPEN, Phase.BETWEEN)


# ------------------------------------------------------------------ coming


def check_attach(twin: Twin, command: Attach) -> None:
    if twin.phase == Phase.NEW:
        raise Refused(Rejection.TABLE_NOT_FOUND)
    if not 0 <= command.seat < len(twin.chairs):
        raise Refused(Rejection.NO_SUCH_SEAT)
    chair = twin.chairs[command.seat]
    if chair.dropped:
        raise Refused(Rejection.NO_SUCH_SEAT)
    if command.bot:
        goes_on = chair.bot and command.resume_generation == chair.bots.generation
        if not chair.bot_wanted and not goes_on:
            raise Refused(Rejection.BOT_NOT_WANTED)
    else:
        if not chair.person or chair.person != command.person:
            raise Refused(Rejection.NOT_SEATED)
        if chair.forfeited:
            raise Refused(Rejection.SEAT_FORFEITED)
    if twin.phase == Phase.CLOSED:
        raise Refused(Rejection.TABLE_CLOSED)


def attach(twin: Twin, command: Attach, now_ms: int) -> Attached:
    """A stream gets the seat, and with it the table as it is now."""
    chair = twin.chairs[command.seat]
    shown = show(twin, command.seat, now_ms)
    chair.attaches += 1
    chair.stream = Stream(chair.attaches, command.gateway, command.stream, command.bot)
    chair.connected = True
    chair.held = True
    player = chair.player(command.bot)
    resumed = command.resume_generation == player.generation and player.generation > 0
    if not resumed:
        fresh(player)
    note = Attached(
        seat=command.seat,
        attach=chair.attaches,
        generation=player.generation,
        bot=command.bot,
        gateway=command.gateway,
        stream=command.stream,
        resumed=resumed,
        last_number=player.last_number,
        answers=tuple(
            PastAnswer(past.number, past.rejection, past.parameters, past.seq)
            for past in player.answers
        ),
        shown=shown,
        at_ms=now_ms,
    )
    if command.bot and not chair.bot:
        chair.bot = True
        chair.bot_wanted = False
        chair.acted_at_ms = twin.clock(now_ms)
        somebody_plays(twin, command.seat, now_ms)
        twin.say(BotSeated(command.seat, now_ms))
    if not command.bot:
        come_back(twin, command.seat, now_ms)
    return note


def fresh(player: Player) -> None:
    """A new generation: numbers begin at one again."""
    player.generation += 1
    player.last_number = 0
    player.answers = []


def is_away(chair: Chair) -> bool:
    """Whether the chair's own person is missing from the game."""
    return not chair.bot and (bool(chair.absence) or chair.bot_wanted)


def come_back(twin: Twin, seat: int, now_ms: int) -> None:
    """The person is there again and takes the seat back at once."""
    chair = twin.chairs[seat]
    if is_away(chair) or chair.bot:
        chair.absence = 0
        chair.away_until_ms = 0
        chair.bot = False
        chair.bot_wanted = False
        chair.connected = True
        chair.held = True
        chair.acted_at_ms = twin.clock(now_ms)
        somebody_plays(twin, seat, now_ms)
        twin.say(SeatBack(seat, now_ms))


# ------------------------------------------------------------------ going


def detach(twin: Twin, command: Detach, now_ms: int) -> Note | None:
    if not 0 <= command.seat < len(twin.chairs):
        return None
    chair = twin.chairs[command.seat]
    if chair.attaches != command.attach or not chair.connected:
        return None
    chair.connected = False
    after_loss(twin, command.seat, now_ms)
    return Detached(command.seat, command.attach)


def gateway_lost(twin: Twin, command: GatewayLost, now_ms: int) -> Note | None:
    """All streams through it are lost."""
    lost = [
        seat
        for seat, chair in enumerate(twin.chairs)
        if chair.connected and chair.stream is not None and chair.stream.gateway == command.gateway
    ]
    if not lost:
        return None
    for seat in lost:
        twin.chairs[seat].connected = False
    for seat in lost:
        after_loss(twin, seat, now_ms)
    return StreamsLost(command.gateway)


def after_loss(twin: Twin, seat: int, now_ms: int) -> None:
    """The offer ends at once; the grace begins, or another stand-in is asked for."""
    if twin.phase not in IN_PLAY:
        return
    chair = twin.chairs[seat]
    assert chair.stream is not None
    end_offer(twin, seat, Why.STREAM_LOST, now_ms)
    if chair.stream.bot:
        chair.bot = False
        chair.bot_wanted = True
        twin.say(BotWanted(seat))
    elif not chair.absence:
        go_away(twin, seat, Absence.STREAM_LOST, now_ms)


def go_away(twin: Twin, seat: int, absence: Absence, now_ms: int) -> None:
    assert twin.opening is not None
    chair = twin.chairs[seat]
    waits = twin.opening.absent_policy == AbsentPolicy.WAIT
    chair.absence = absence
    if not chair.bot:
        chair.ready = set()
    # Where a stand-in plays or is asked for, the policy has applied already.
    settled = chair.bot or chair.bot_wanted
    grace_ms = twin.rules.away_grace_s * 1_000
    chair.away_until_ms = 0 if waits or settled else twin.clock(now_ms) + grace_ms
    nobody_plays(twin, seat, now_ms)
    twin.say(SeatAway(seat, absence, chair.away_until_ms, now_ms))


def grace_over(twin: Twin, seat: int, now_ms: int) -> None:
    """The table's policy for absent players applies."""
    assert twin.opening is not None
    chair = twin.chairs[seat]
    chair.away_until_ms = 0
    if twin.opening.absent_policy == AbsentPolicy.FORFEIT:
        chair.forfeited = True
        twin.say(SeatForfeited(seat, now_ms))
        if not twin.opening.bots:
            end_if_too_few(twin, now_ms)
            return
    chair.bot_wanted = True
    twin.say(BotWanted(seat))


def end_if_too_few(twin: Twin, now_ms: int) -> None:
    people = [chair for chair in twin.chairs if chair.person and not chair.forfeited]
    if len(people) < twin.rules.seats_min:
        endings.break_off(twin, End.TOO_FEW_PLAYERS, now_ms)


def note_people(twin: Twin, now_ms: int) -> None:
    """Since when the game goes on without a single person."""
    if anybody_plays_in_person(twin):
        twin.no_people_since_ms = 0
    elif twin.phase in IN_PLAY and not twin.no_people_since_ms:
        twin.no_people_since_ms = twin.clock(now_ms)


def anybody_plays_in_person(twin: Twin) -> bool:
    for chair in twin.chairs:
        if chair.person and not chair.absence and not chair.bot and not chair.forfeited:
            return True
    return False


def may_act_at_once(chair: Chair) -> bool:
    """Whether the newest stream's commands are taken as they come: nobody counts as away.

    Before the first deal and after the last a lost stream makes nobody away.
    """
    if chair.stream is None or not chair.held:
        return False
    if chair.stream.bot:
        return chair.bot
    return not chair.absence and not chair.bot


def nobody_plays(twin: Twin, seat: int, now_ms: int) -> None:
    """From now on the open round goes on without this seat."""
    chair = twin.chairs[seat]
    if twin.phase == Phase.OPEN and not chair.bot and not chair.idle_since_ms:
        chair.idle_since_ms = twin.clock(now_ms)


def somebody_plays(twin: Twin, seat: int, now_ms: int) -> None:
    """Somebody takes part for this seat again."""
    chair = twin.chairs[seat]
    if chair.idle_since_ms:
        chair.idle_ms += twin.clock(now_ms) - chair.idle_since_ms
        chair.idle_since_ms = 0
