"""Every bound of the engine by name, with its reason. Times in milliseconds of log time."""

from typing import Final

from engine.cards import BEAR, BULL, DECKS, LANE_BITS, LANES, SUIT_SIZE, SUITS_MAX

SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60_000

UNSEEN_TRADE_MS: Final = 2 * SECOND_MS
"""A trade older than this has reached every player whose connection is alive: nobody rings without
having seen it, whatever the bell claims."""
OFFER_LIMIT_MIN_MS: Final = 1 * SECOND_MS
"""Nobody can read a call and answer it in less."""
OFFER_LIMIT_MAX_MS: Final = 60 * SECOND_MS
"""An offer that should stand longer needs no limit: the end of the round ends it."""

NEXT_DEAL_MS: Final = 8 * SECOND_MS
"""Long enough to read a result, short enough that one sleeper does not hold up a table."""
UNSTARTED_MS: Final = 15 * MINUTE_MS
"""A table nobody started in this time is forgotten."""
NO_PEOPLE_MS: Final = 5 * MINUTE_MS
"""Bots do not play on among themselves for longer, except where that is the purpose."""
FINISHED_MS: Final = 10 * MINUTE_MS
"""How long a finished table stays for its results and a rematch before it closes."""
REMATCH_MS: Final = 60 * SECOND_MS
"""How long a vote on a rematch lasts: who has gone for a glass of water is back."""

VOIDS_MAX: Final = 3
"""So many void rounds running show that this table will not come to a corner."""
SUDDEN_DEATH_MAX: Final = 2
"""So many rounds are played to break a tie for the first place; then it is shared."""

ANSWERS_KEPT: Final = 16
"""Answers remembered of each generation: as many as commands may be in flight."""
REQUESTS_KEPT: Final = 64
"""Answers remembered of unary methods: several tries of each of eight seats."""
MARKS_KEPT: Final = 8
"""Owners remembered. A client that missed more than seven changes of owner is reset."""

SEED_BYTES: Final = 48
"""More chance than there are deals: 74 cards have about 2^229 orders, this is 2^384."""
NONCE_BYTES: Final = 16
"""A player's own share of a deal; too many to be guessed in advance."""
INVITE_HASH_BYTES: Final = 32
"""SHA-256."""
REASON_BYTES_MAX: Final = 240
"""In UTF-8, of a reason or an announcement's text: a text of the log holds 256 bytes."""
ANNOUNCEMENT_KEY_BYTES_MAX: Final = 64
ANNOUNCEMENT_PARAMETERS_MAX: Final = 8
ANNOUNCEMENT_PARAMETER_BYTES_MAX: Final = 64
"""Of a parameter's name and of its value."""
ADJUSTMENT_MAX: Final = 10_000
"""The highest target there is: a correction never needs more."""
REMOVED_KEPT: Final = 32
"""Persons remembered who were removed, or left in this round: four times all seats of the
largest table."""
PHRASES: Final = 8
"""Phrases a player may call, numbered from 1 in the public API."""

SEATS_MIN: Final = 3
"""All three rule sheets begin at three players; with two, each trade shows both hands."""
SEATS_MAX: Final[int] = SUITS_MAX
"""One commodity a player, and no deck has more than eight."""

# Bounds of single switches.
SORTING_PAUSE_MAX_S: Final = 120
"""Twice the longest pause of a sheet."""
TIMES_MAX: Final = 4
"""Twice the highest multiple of a sheet; a corner pays at least its value."""
PENALTY_MAX: Final = 500
"""The points of a whole game: more would decide it at one blow."""
FALSE_BELL_LOCK_MAX_S: Final = 60
TARGET_MAX: Final = 10_000
"""A hundred of the best corners: more is no game but a season."""
ROUNDS_MAX: Final = 1_000
ROUND_CAP_MIN_S: Final = 10
"""Ten seconds are a few trades; a shorter round could not be played."""
ROUND_CAP_MAX_S: Final = 3_600
IDLE_MIN_S: Final = 2
"""Below that a person who thinks would count as away."""
IDLE_MAX_S: Final = 3_600
AWAY_GRACE_MAX_S: Final = 3_600

assert SUIT_SIZE < 1 << (LANE_BITS - 1), "a count leaves the guard bit free"
assert max(len(deck) for deck in DECKS.values()) <= SUITS_MAX == BULL < BEAR < LANES
assert OFFER_LIMIT_MIN_MS < OFFER_LIMIT_MAX_MS <= ROUND_CAP_MAX_S * SECOND_MS
assert REMATCH_MS < FINISHED_MS, "a vote ends before its table does"
assert NO_PEOPLE_MS < UNSTARTED_MS, "an empty game ends before an unstarted table"
assert ANSWERS_KEPT & (ANSWERS_KEPT - 1) == 0, "a number's place among the answers is a mask"
