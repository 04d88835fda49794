"""The twin's one door: who may ask, what was asked before, and then the rule book.

`give` decides a command and changes the twin in one go. A `Refused` raised anywhere stops a
command before it has changed anything.
"""

from collections.abc import Callable

from engine.commands import (
    NOBODY,
    AdjustScore,
    Announce,
    Attach,
    Call,
    CloseTable,
    Command,
    Detach,
    Freeze,
    GatewayLost,
    Join,
    Leave,
    Offer,
    OpenTable,
    Ready,
    RemoveSeat,
    RequestCommand,
    RingBell,
    RotateInvite,
    SeatCommand,
    Start,
    StartDue,
    Tick,
    Unfreeze,
    VoidRound,
    VoteRematch,
    Watch,
    Withdraw,
)
from engine.events import Answered, AttachRefused, Note, RequestAnswered
from engine.rejections import CONSUMES_FROM, Rejection
from engine.shown import Phase

from . import operators, presence, rematch, rounds, seating, timers, trading
from .refused import Refused
from .table import Outcome, PastCommand, PastRequest, Player, Twin

ANSWERS_KEPT = 16
REQUESTS_KEPT = 64


def give(twin: Twin, command: Command, now_ms: int, chance: Callable[[int], bytes]) -> Outcome:
    """Work one command through; what happened, and the note beside it."""
    twin.said = []
    answer: Note | None
    if isinstance(command, SeatCommand):
        answer = seat_command(twin, command, now_ms, chance)
    elif isinstance(command, RequestCommand):
        answer = request_command(twin, command, now_ms, chance)
    elif isinstance(command, Attach):
        answer = attach(twin, command, now_ms)
    elif isinstance(command, Detach):
        answer = presence.detach(twin, command, now_ms)
    elif isinstance(command, GatewayLost):
        answer = presence.gateway_lost(twin, command, now_ms)
    elif isinstance(command, Watch):
        answer = operators.watch(twin, command, now_ms)
    elif isinstance(command, StartDue):
        rounds.start_due(twin, now_ms)
        answer = None
    else:
        assert isinstance(command, Tick)
        timers.tick(twin, now_ms, chance)
        answer = None
    presence.note_people(twin, now_ms)
    return Outcome(twin.said, answer)


# ------------------------------------------------------------------ seat commands


def seat_command(
    twin: Twin, command: SeatCommand, now_ms: int, chance: Callable[[int], bytes]
) -> Answered:
    bot = False
    try:
        bot = newest_is_bot(twin, command)
        player = who_acts(twin, command)
        old = remembered(player, command)
        if old is not None:
            return answered(command, bot, old.rejection, old.parameters, old.seq, kept=False)
        first_seq = twin.seq + 1
        act(twin, command, now_ms, chance)
        seq = first_seq if twin.said else twin.seq
        answer = answered(command, bot, 0, (), seq, kept=True)
    except Refused as refused:
        kept = refused.why >= CONSUMES_FROM
        answer = answered(command, bot, refused.why, refused.parameters, twin.seq, kept=kept)
    if answer.kept:
        player = twin.chairs[command.seat].player(bot)
        player.last_number = command.number
        past = PastCommand(
            answer.number, answer.content, answer.rejection, answer.parameters, answer.seq
        )
        player.answers = [*player.answers, past][-ANSWERS_KEPT:]
    return answer


def answered(
    command: SeatCommand,
    bot: bool,
    rejection: int,
    parameters: tuple[int, ...],
    seq: int,
    *,
    kept: bool,
) -> Answered:
    return Answered(
        seat=command.seat,
        attach=command.attach,
        bot=bot,
        generation=command.generation,
        number=command.number,
        content=command.content,
        rejection=rejection,
        parameters=parameters,
        seq=seq,
        kept=kept,
    )


def newest_is_bot(twin: Twin, command: SeatCommand) -> bool:
    """Whether the seat's newest stream is a stand-in's."""
    if not 0 <= command.seat < len(twin.chairs):
        return False
    stream = twin.chairs[command.seat].stream
    return stream is not None and stream.bot


def who_acts(twin: Twin, command: SeatCommand) -> Player:
    """Whether the command comes from the stream that holds the seat."""
    if twin.phase == Phase.NEW:
        raise Refused(Rejection.TABLE_NOT_FOUND)
    if not 0 <= command.seat < len(twin.chairs):
        raise Refused(Rejection.NO_SUCH_SEAT)
    chair = twin.chairs[command.seat]
    if chair.dropped:
        raise Refused(Rejection.NO_SUCH_SEAT)
    if not chair.person and not chair.bot:
        raise Refused(Rejection.NOT_SEATED)
    if chair.forfeited and not (chair.bot and chair.attaches == command.attach):
        raise Refused(Rejection.SEAT_FORFEITED)
    if chair.stream is None or chair.attaches != command.attach:
        raise Refused(Rejection.SUPERSEDED)
    assert chair.stream is not None
    if not chair.held:
        raise Refused(Rejection.SUPERSEDED)
    if chair.stream.bot and not chair.bot:
        raise Refused(Rejection.SUPERSEDED)
    player = chair.player(chair.stream.bot)
    if player.generation != command.generation:
        raise Refused(Rejection.GENERATION_ENDED)
    return player


def remembered(player: Player, command: SeatCommand) -> PastCommand | None:
    """The answer given to this number before; refusals for numbers that do not fit."""
    expected = player.last_number + 1
    if command.number == expected:
        return None
    for past in player.answers:
        if past.number == command.number:
            if past.content != command.content:
                raise Refused(Rejection.NUMBER_REUSED)
            return past
    raise Refused(Rejection.NUMBER_OUT_OF_RANGE, expected)


def act(twin: Twin, command: SeatCommand, now_ms: int, chance: Callable[[int], bytes]) -> None:
    """Do it. Who counted as away is back first; but a refused command changes nothing."""
    if not presence.is_away(twin.chairs[command.seat]):
        by_kind(twin, command, now_ms, chance)
        return
    chair = twin.chairs[command.seat]
    before = dict(vars(chair)), twin.seq, twin.no_people_since_ms
    try:
        presence.come_back(twin, command.seat, now_ms)
        by_kind(twin, command, now_ms, chance)
    except Refused:
        held, twin.seq, twin.no_people_since_ms = before
        vars(chair).update(held)
        twin.said = []
        raise


def by_kind(twin: Twin, command: SeatCommand, now_ms: int, chance: Callable[[int], bytes]) -> None:
    if isinstance(command, Ready):
        rounds.ready(twin, command, now_ms, chance)
    elif isinstance(command, Offer):
        trading.offer(twin, command, now_ms)
    elif isinstance(command, Withdraw):
        trading.withdraw(twin, command, now_ms)
    elif isinstance(command, RingBell):
        rounds.ring_bell(twin, command, now_ms, chance)
    else:
        assert isinstance(command, Call)
        trading.call(twin, command)


# ------------------------------------------------------------------ requests


def request_command(
    twin: Twin, command: RequestCommand, now_ms: int, chance: Callable[[int], bytes]
) -> RequestAnswered:
    seat = NOBODY
    try:
        old = remembered_request(twin, command)
        if old is not None:
            return RequestAnswered(
                command.request,
                command.content,
                old.rejection,
                old.parameters,
                old.seq,
                old.seat,
                kept=False,
            )
        first_seq = twin.seq + 1
        seat = request_by_kind(twin, command, now_ms, chance)
        seq = first_seq if twin.said else twin.seq
        answer = RequestAnswered(command.request, command.content, 0, (), seq, seat, kept=True)
    except Refused as refused:
        kept = refused.why >= CONSUMES_FROM and twin.phase != Phase.NEW
        answer = RequestAnswered(
            command.request,
            command.content,
            refused.why,
            refused.parameters,
            twin.seq,
            NOBODY,
            kept=kept,
        )
    if answer.kept:
        past = PastRequest(
            answer.request,
            answer.content,
            answer.rejection,
            answer.parameters,
            answer.seq,
            answer.seat,
        )
        twin.requests = [*twin.requests, past][-REQUESTS_KEPT:]
        if isinstance(command, OpenTable):
            twin.opened_by = past
    return answer


def remembered_request(twin: Twin, command: RequestCommand) -> PastRequest | None:
    if twin.phase == Phase.NEW:
        if not isinstance(command, OpenTable):
            raise Refused(Rejection.TABLE_NOT_FOUND)
        return None
    if isinstance(command, Join):
        seating.check_invite(twin, command)
    for past in twin.requests:
        if past.request == command.request:
            if past.content == command.content:
                return past
            if isinstance(command, OpenTable):
                raise Refused(Rejection.TABLE_EXISTS)
            raise Refused(Rejection.REQUEST_REUSED)
    if isinstance(command, OpenTable):
        raise Refused(Rejection.TABLE_EXISTS)
    if isinstance(command, Leave | RemoveSeat | RotateInvite | Start | VoteRematch):
        seating.check_at_home(twin, command.person)
    return None


def request_by_kind(
    twin: Twin, command: RequestCommand, now_ms: int, chance: Callable[[int], bytes]
) -> int:
    """The seat joined or left, else `NOBODY`."""
    if isinstance(command, OpenTable):
        seating.open_table(twin, command, now_ms, chance)
        return NOBODY
    if isinstance(command, Join):
        return seating.join(twin, command, now_ms)
    if isinstance(command, Leave):
        return seating.leave(twin, command, now_ms)
    if isinstance(command, RemoveSeat):
        return seating.remove(twin, command, now_ms)
    if isinstance(command, VoteRematch):
        return rematch.vote(twin, command, now_ms)
    if isinstance(command, RotateInvite):
        seating.rotate_invite(twin, command, now_ms)
    elif isinstance(command, Start):
        rounds.start(twin, command, now_ms, chance)
    elif isinstance(command, Freeze):
        operators.freeze(twin, command, now_ms)
    elif isinstance(command, Unfreeze):
        operators.unfreeze(twin, command, now_ms)
    elif isinstance(command, VoidRound):
        operators.void_round(twin, command, now_ms, chance)
    elif isinstance(command, AdjustScore):
        operators.adjust_score(twin, command, now_ms)
    elif isinstance(command, Announce):
        operators.announce(twin, command, now_ms)
    else:
        assert isinstance(command, CloseTable)
        operators.close_table(twin, command, now_ms)
    return NOBODY


# ------------------------------------------------------------------ streams


def attach(twin: Twin, command: Attach, now_ms: int) -> Note:
    try:
        presence.check_attach(twin, command)
    except Refused as refused:
        return AttachRefused(command.seat, command.gateway, command.stream, refused.why)
    return presence.attach(twin, command, now_ms)
