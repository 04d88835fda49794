"""What a table is. Only `engine.evolve` writes these objects; everybody else reads.

A table is mutable and slotted: it changes some thousand times in its life, and its owner holds
thousands of them. What can be worked out from other fields says so; it is not dumped.
"""

from array import array
from typing import Final

from engine.cards import DECKS
from engine.commands import NOBODY
from engine.events import PastAnswer, RequestAnswered
from engine.limits import ANSWERS_KEPT
from engine.lots import Lots, lots_of
from engine.rules import BASIC, Rules
from engine.shown import Mark, Phase

ANSWER_MASK: Final = ANSWERS_KEPT - 1

Refused = tuple[int, tuple[int, ...]]
"""A rejection and its parameters."""
ACCEPTED: Final[Refused] = (0, ())
NO_REFUSALS: Final[dict[int, Refused]] = {}
"""Shared by all number tables without any; never written to."""
NONE_DIRECTED: Final[dict[int, list[int]]] = {}
"""Shared by all tables without directed offers; never written to."""


class Numbers:
    """The number table of one seat's commands: the person's, or the stand-in's.

    Answers are kept as machine integers and not as the notes they came in: to touch sixteen old
    objects of every seat would cost more than all else that happens to a command.
    """

    __slots__ = ("generation", "kept", "last", "refusals")

    def __init__(self) -> None:
        self.begin(0)

    def begin(self, generation: int) -> None:
        """A new generation: nothing asked yet. 0: nobody has attached yet."""
        self.generation = generation
        self.last = 0
        """The newest number used; the next command must carry one more."""
        self.kept = array("Q", bytes(16 * ANSWERS_KEPT))
        """Content hash and seq of the answer to number n, at twice n modulo 16."""
        self.refusals: dict[int, Refused] = NO_REFUSALS
        """By number, those of the sixteen that are refusals (and perhaps some older ones)."""

    def refuse(self, number: int, rejection: int, parameters: tuple[int, ...]) -> None:
        """Remember that `number`, the last one, was refused."""
        oldest = number - ANSWERS_KEPT
        self.refusals = {held: why for held, why in self.refusals.items() if held > oldest}
        self.refusals[number] = (rejection, parameters)

    def content(self, number: int) -> int:
        """Content hash of a command that is remembered."""
        return self.kept[(number & ANSWER_MASK) << 1]

    def answer(self, number: int) -> PastAnswer | None:
        """What was answered to `number`, if it is one of the last sixteen."""
        if not max(0, self.last - ANSWERS_KEPT) < number <= self.last:
            return None
        rejection, parameters = self.refusals.get(number, ACCEPTED)
        seq = self.kept[((number & ANSWER_MASK) << 1) + 1]
        return PastAnswer(number, rejection, parameters, seq)

    def answers(self) -> tuple[PastAnswer, ...]:
        """All that are remembered, oldest first."""
        oldest = max(1, self.last - ANSWERS_KEPT + 1)
        held = (self.answer(number) for number in range(oldest, self.last + 1))
        return tuple(answer for answer in held if answer is not None)


class HotSeat:
    """What nearly every command touches, side by side in memory: slots of a base class come
    first, and within one class Python orders them by name."""

    __slots__ = (
        "active_ms", "bot", "current", "hand", "holder", "offer_directed_at", "offer_ends_at_ms",
        "offer_lot", "offer_seq", "offer_size", "traded_ms", "traded_seq",
    )  # fmt: skip


class Seat(HotSeat):
    """One place at a table."""

    __slots__ = (
        "absence", "attach", "away_until_ms", "bell_locked_until_ms", "best_corner", "bot_wanted",
        "connected", "corners", "dropped", "forfeited", "gateway", "idle_ms", "idle_since_ms",
        "nonce", "numbers", "penalties", "person", "place", "plays_again", "ready", "score",
        "stream", "taken_seq",
    )  # fmt: skip

    def __init__(self) -> None:  # noqa: PLR0915  # a seat's fields, one by one
        # Who sits here.
        self.person = ""
        self.taken_seq = 0
        """When the person sat down: ownership passes to the one seated longest."""
        self.dropped = False
        self.forfeited = False
        self.bot = False
        """A bot plays the hand now."""
        self.bot_wanted = False

        # The stream that may act for the seat.
        self.attach = 0
        """The newest attach number."""
        self.holder = 0
        """The attach number whose commands are taken as they come: `attach` while its stream
        is there and its player not away, else 0."""
        self.connected = False
        self.gateway = ""
        self.stream = b""
        self.numbers = (Numbers(), Numbers())
        """The person's and the stand-in's."""
        self.current = self.numbers[0]
        """Whose commands the newest stream gives."""

        # Presence.
        self.absence = 0
        """An `Absence`, 0 while the person is present."""
        self.away_until_ms = 0
        """When the policy for absent players applies; 0 where it never will, or has."""
        self.active_ms = 0
        """The last act that counts against idleness."""
        self.idle_since_ms = 0
        """Since when the open round goes on without this seat; 0 while it takes part."""
        self.idle_ms = 0
        """How long this round went on without it, before `idle_since_ms`."""

        # The round.
        self.ready = 0
        self.nonce = b""
        """For the coming deal."""
        self.hand = 0
        """All its cards, those in the open offer included."""
        self.offer_size = 0
        """0: no open offer."""
        self.offer_lot = 0
        self.offer_directed_at = NOBODY
        self.offer_ends_at_ms = 0
        self.offer_seq = 0
        """The event that opened the offer: of two, the lower is the older."""
        self.traded_seq = 0
        """The seat's last trade of this round."""
        self.traded_ms = 0
        self.bell_locked_until_ms = 0

        # The game.
        self.score = 0
        self.corners = 0
        self.penalties = 0
        """How often it lost points."""
        self.best_corner = 0
        self.place = 0
        """When the game is over: 1 for the winner, equal where shared; 0 where it does not play."""
        self.plays_again = False
        """Has voted for a rematch."""


class HotTable:
    """As `HotSeat`."""

    __slots__ = ("anyone", "directed", "lots", "phase", "seats", "seq", "trading_round")


class Table(HotTable):
    """One game. `Table(id)` is empty: it exists from its first event on."""

    __slots__ = (
        "absent_policy", "bots", "commitment", "dealer", "display_name", "due_ms", "end",
        "ended_ms", "epoch", "for_bots", "frozen_at_ms", "frozen_reason", "idle_limit_ms",
        "invite_hash", "left", "left_seats", "marks", "next_deal_at_ms", "nonces", "opened_ms",
        "opening", "opens_at_ms", "owner", "people_gone_ms", "rematch_table", "rematch_until_ms",
        "removed", "requests", "round",
        "round_ends_at_ms", "rules", "scored", "seed", "start_at_s", "sudden", "suits", "table",
        "tied", "visibility", "voids", "winner",
    )  # fmt: skip

    def __init__(self, table: str) -> None:  # noqa: PLR0915  # a table's fields, one by one
        self.table = table
        self.seq = 0
        """Number of the newest event."""
        self.phase = int(Phase.NEW)
        self.rules: Rules = BASIC
        self.display_name = ""
        self.visibility = 0
        self.absent_policy = 0
        self.bots = self.for_bots = False
        self.invite_hash = b""
        self.owner = ""
        self.seats: tuple[Seat, ...] = ()
        self.removed: tuple[str, ...] = ()
        """Persons who may not sit down here again, the newest last."""
        self.left: tuple[str, ...] = ()
        """Persons who left a seat in this round, the newest last: they have seen its cards."""
        self.left_seats: tuple[int, ...] = ()
        """The seat each of them left."""
        self.start_at_s = 0
        """Wall time at which the game is to start; 0 where its players start it, or it has."""
        self.requests: dict[bytes, RequestAnswered] = {}
        """Answers to unary methods, oldest first."""
        self.opening: RequestAnswered | None = None
        """The answer to the command that opened the table, never forgotten."""
        self.marks: list[Mark] = []
        self.epoch = 0
        """Of the newest mark."""

        # Log times, 0 where there is none.
        self.opened_ms = self.opens_at_ms = self.round_ends_at_ms = self.next_deal_at_ms = 0
        self.ended_ms = 0
        """When the last round, and perhaps the game, was over."""
        self.people_gone_ms = 0
        """Since when no person plays."""
        self.frozen_at_ms = 0
        """Since when the table's time stands still. What is noted meanwhile is noted as of then."""
        self.frozen_reason = ""
        self.rematch_until_ms = 0
        """When the vote on a rematch ends; 0 while there is none."""
        self.rematch_table = ""
        """Where those who voted for it play again; empty unless it was agreed."""
        self.due_ms = 0
        """Worked out: the next deadline apart from idleness."""

        # The game and its round.
        self.round = 0
        self.dealer = NOBODY
        self.suits: tuple[int, ...] = ()
        self.commitment = b""
        self.seed = b""
        """Of the round being played, or of the next deal between rounds."""
        self.nonces: tuple[bytes, ...] = ()
        """What the round being played was drawn with."""
        self.winner = NOBODY
        """Who cornered in the last round; `NOBODY` after a void one."""
        self.scored = 0
        """Rounds with a corner so far."""
        self.voids = 0
        """Void rounds running."""
        self.tied: tuple[int, ...] = ()
        """Seats between which sudden death decides."""
        self.sudden = 0
        """Sudden death rounds begun."""
        self.end = 0
        """How the game ended, an `End`; 0 before."""
        self.trading_round: int | None = None
        """Worked out: the round in which offers and bells are taken now, `None` for none."""

        # Worked out from the open offers. An undirected offer never waits beside another seat's
        # of its size, for the two would have met: so one place a size is enough.
        self.anyone = [NOBODY] * 5
        """By size, the seat whose undirected offer is open."""
        self.directed: dict[int, list[int]] = NONE_DIRECTED
        """By size + 8 x seat aimed at, the seats whose offers are open, oldest first."""
        # Worked out from the rules.
        self.lots: Lots = lots_of(len(DECKS[BASIC.deck]), False, False)
        self.idle_limit_ms = 0

    def time_ms(self, now_ms: int) -> int:
        """The table's own time, in which its deadlines are: it stands still while it is frozen."""
        return self.frozen_at_ms or now_ms

    @property
    def wake_at_ms(self) -> int:
        """The next deadline in log time, 0 for none: a `Tick` at that time does something."""
        due = self.due_ms
        if self.trading_round is not None:
            for seat in self.seats:
                if seat.holder and not seat.bot:
                    idle_ms = seat.active_ms + self.idle_limit_ms
                    if idle_ms < due or not due:
                        due = idle_ms
        return due
