"""The matcher's numbers, each with its reason."""

from typing import Final

from services.log.lease import LOOK_MS

BEYOND_SHARE_MS: Final = 500
"""A shard still without an owner after this long is taken even beyond the fair share."""

TURN_COMMANDS_MAX: Final = 64
"""Commands of one shard in one turn. Bounds a turn's length, and with it how many commands an
owner that died may have had in hand: a successor takes as many one at a time."""
TURN_BYTES_MAX: Final = 48 * 1024
"""A turn ends when its output has this size; decoders refuse entries of 64 KiB."""
COMMAND_BYTES_MAX: Final = 4 * 1024
"""No command is larger; of what is, a dead letter keeps this much."""
READ_ENTRIES: Final = 64
"""In entries read for one shard at a time."""
BLOCK_MS: Final = 100
"""Longest wait for commands: timers, renewals and signals are looked at this often."""

KEEP_TIME_MS: Final = 1_000
"""Log time and input position are written this often even when nothing else happens, so that a
takeover sets no timer back by more."""
GATEWAY_SILENCE_MS: Final = 8_000
"""Log time after which a silent gateway's streams count as lost: four of its signs of life."""

SNAPSHOT_MS: Final = 20_000
SNAPSHOT_EVENTS: Final = 20_000
"""A snapshot is begun so long, or so many events, after the one before. So a successor replays at
most this many events of a shard and those of the second in which the next one was made: some 200 ms
of its time. To store one holds up the store for 12 ms where a shard has 500 tables."""
SAVED_TABLES: Final = 8
"""Tables packed for a snapshot between two turns: half a millisecond, unseen by any player."""
KEEP_OUT_MS: Final = 60_000
"""Out entries younger than this are kept for readers that resume."""

CLOSED_KEPT: Final = 10_000
"""Names of closed tables that a shard's owner remembers: of some hours, at 500 tables a shard.
A game's record is safe from a later namesake all the same: the archiver adds nothing to it."""

ATTEMPTS_MAX: Final = 3
"""A command whose owner died twice while deciding it is set aside the third time."""

TICKS_MAX: Final = 64
"""Events of one table's timers in one turn; more is taken up in the next."""
LINGER_MS_MAX: Final = 2.0
"""Longest pause between a commit and the next read at a busy time: a quarter of what a trade may
take from hand to hand."""

assert BLOCK_MS < LOOK_MS
assert TURN_BYTES_MAX < 64 * 1024
