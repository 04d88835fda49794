"""What the twin remembers of a table: lists and plain fields, nothing packed, nothing cached."""

from dataclasses import dataclass, field

from engine.cards import DECKS
from engine.commands import NOBODY, OpenTable
from engine.events import Event, Marked, Note
from engine.rules import Rules
from engine.shown import Mark, Phase, SeatShown, TableView

from .cards import Cards, to_packed

MARKS_KEPT = 8


@dataclass
class OpenOffer:
    lot: Cards
    directed_at: int
    ends_at_ms: int
    place: int
    """Number of the event that opened it: the lowest is the oldest."""


@dataclass
class PastCommand:
    number: int
    content: int
    rejection: int
    parameters: tuple[int, ...]
    seq: int


@dataclass
class PastRequest:
    request: bytes
    content: int
    rejection: int
    parameters: tuple[int, ...]
    seq: int
    seat: int


@dataclass
class Player:
    """One of the two who may act for a chair: the person, or the stand-in."""

    generation: int = 0
    last_number: int = 0
    answers: list[PastCommand] = field(default_factory=list)


@dataclass
class Stream:
    attach: int
    gateway: str
    name: bytes
    bot: bool


@dataclass
class Chair:
    person: str = ""
    seated_place: int = 0
    """Number of the event that seated the person: the lowest sits longest."""
    bot: bool = False
    """A bot plays it now."""
    bot_wanted: bool = False
    dropped: bool = False
    forfeited: bool = False
    absence: int = 0
    """An `Absence` while the person counts as away."""
    away_until_ms: int = 0
    """When its grace ends; 0 while it is present, or where nothing comes of it."""
    stream: Stream | None = None
    """The newest stream it had."""
    held: bool = False
    """Whether the newest attach number is that stream's; a person who leaves takes one, too."""
    connected: bool = False
    """Whether that stream still stands."""
    attaches: int = 0
    people: Player = field(default_factory=Player)
    bots: Player = field(default_factory=Player)
    ready: set[int] = field(default_factory=set)
    nonce: bytes = b""
    hand: Cards = field(default_factory=list)
    """All cards of the seat, those in its open offer too."""
    offer: OpenOffer | None = None
    score: int = 0
    corners: int = 0
    penalties: int = 0
    best_corner: int = 0
    came_in: int = 0
    """Its place in a game that is over."""
    wants_rematch: bool = False
    bell_locked_until_ms: int = 0
    last_trade_seq: int = 0
    last_trade_at_ms: int = 0
    acted_at_ms: int = 0
    """Since when it has neither offered, answered nor withdrawn."""
    idle_since_ms: int = 0
    """Since when the open round goes on without anybody here; 0 while somebody plays."""
    idle_ms: int = 0

    def player(self, bot: bool) -> Player:
        return self.bots if bot else self.people


@dataclass
class Twin:
    """A whole table."""

    table_id: str
    seq: int = 0
    phase: Phase = Phase.NEW
    opening: OpenTable | None = None
    opened_at_ms: int = 0
    owner: str = ""
    chairs: list[Chair] = field(default_factory=list)
    requests: list[PastRequest] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    round: int = 0
    dealer: int = NOBODY
    last_winner: int = NOBODY
    suits: list[str] = field(default_factory=list)
    commitment: bytes = b""
    seed: bytes = b""
    opens_at_ms: int = 0
    round_ends_at_ms: int = 0
    next_deal_at_ms: int = 0
    opened_exchange_at_ms: int = 0
    round_over_at_ms: int = 0
    voids_running: int = 0
    rounds_scored: int = 0
    sudden_death_rounds: int = 0
    tied: list[int] = field(default_factory=list)
    no_people_since_ms: int = 0
    drawn_with: list[bytes] = field(default_factory=list)
    """The nonces of the round being played."""
    opened_by: PastRequest | None = None
    ended_at_ms: int = 0
    end: int = 0
    """How the game ended, an `End`."""
    frozen_at_ms: int = 0
    """Since when the table's time stands still."""
    frozen_reason: str = ""
    vote_ends_at_ms: int = 0
    """While a vote on a rematch runs: when its time is over."""
    rematch_at: str = ""
    """The table at which those who wanted a rematch have it."""
    invite_hash: bytes = b""
    start_at_s: int = 0
    removed: list[str] = field(default_factory=list)
    left_this_round: list[tuple[str, int]] = field(default_factory=list)
    said: list[Event] = field(default_factory=list)
    """Events of the command being worked on."""

    @property
    def rules(self) -> Rules:
        assert self.opening is not None
        return self.opening.rules

    def clock(self, now_ms: int) -> int:
        """The table's own time: while it is frozen, that of the freeze."""
        return self.frozen_at_ms if self.frozen_at_ms else now_ms

    def say(self, event: Event) -> None:
        """An event happens; it takes the next number."""
        self.seq += 1
        self.said.append(event)

    def playing(self) -> list[int]:
        """Seats that take part, in order."""
        return [seat for seat, chair in enumerate(self.chairs) if not chair.dropped]


@dataclass
class Outcome:
    """What one command led to."""

    events: list[Event]
    answer: Note | None


def mark(twin: Twin, note: Marked) -> None:
    """A new owner begins a stretch of history; the last eight are remembered."""
    twin.marks = [*twin.marks, Mark(note.epoch, note.nonce, twin.seq + 1)][-MARKS_KEPT:]


def show(twin: Twin, viewer: int, now_ms: int) -> TableView:
    """The table as the viewer may know it."""
    own = twin.chairs[viewer] if viewer != NOBODY else None
    deck = [name for name, _ in DECKS[twin.rules.deck]]
    opening = twin.opening
    assert opening is not None
    return TableView(
        table=twin.table_id,
        seq=twin.seq,
        epoch=twin.marks[-1].epoch if twin.marks else 0,
        at_ms=now_ms,
        viewer=viewer,
        phase=twin.phase,
        rules=twin.rules,
        display_name=opening.display_name,
        visibility=opening.visibility,
        owner=twin.owner,
        seats=tuple(show_seat(chair) for chair in twin.chairs),
        round=twin.round,
        dealer=twin.dealer,
        suits=tuple(deck.index(name) for name in twin.suits),
        commitment=twin.commitment,
        opens_at_ms=twin.opens_at_ms,
        round_ends_at_ms=twin.round_ends_at_ms,
        next_deal_at_ms=twin.next_deal_at_ms,
        frozen_at_ms=twin.frozen_at_ms,
        frozen_reason=twin.frozen_reason,
        bell_locked_until_ms=own.bell_locked_until_ms if own else 0,
        hand=to_packed(twin.rules, own.hand) if own else 0,
        offer_lot=to_packed(twin.rules, own.offer.lot) if own and own.offer else 0,
        start_at_s=twin.start_at_s,
        rematch_until_ms=twin.vote_ends_at_ms,
        rematch_table=twin.rematch_at,
        marks=tuple(twin.marks),
    )


def show_seat(chair: Chair) -> SeatShown:
    ready = 0
    for purpose in chair.ready:
        ready += 2**purpose
    return SeatShown(
        person=chair.person,
        bot=chair.bot,
        bot_wanted=chair.bot_wanted,
        dropped=chair.dropped,
        forfeited=chair.forfeited,
        connected=chair.connected,
        away_until_ms=chair.away_until_ms,
        ready=ready,
        score=chair.score,
        cards=len(chair.hand),
        offer_size=len(chair.offer.lot) if chair.offer else 0,
        offer_directed_at=chair.offer.directed_at if chair.offer else NOBODY,
        offer_ends_at_ms=chair.offer.ends_at_ms if chair.offer else 0,
        place=chair.came_in,
        plays_again=chair.wants_rematch,
    )
