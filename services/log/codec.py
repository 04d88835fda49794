"""The wire format of everything in the log, and its strict, bounded decoder.

Signatures are the contract between matcher, gateway, archive and tests.
"""

from engine.commands import Command
from engine.events import Record
from engine.rules import Rules
from engine.value import value


class Undecodable(ValueError):
    """Not a value of this format. `reason` is one of a fixed set of words, safe for a metric."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@value
class InBatch:
    """The decoded frame of an in entry: who sent it, and separately packed commands."""

    gateway: str
    """Any entry shows that its gateway lives; one without commands says just that."""
    commands: tuple[tuple[str, bytes], ...]
    """(table, packed command)."""


@value
class LobbyLine:
    """What a list of tables shows of one."""

    table: str
    display_name: str
    owner: str
    visibility: int
    preset: str
    """Name of the preset the rules equal, else empty."""
    rules_hash: str
    rules: Rules
    seats: int
    persons: tuple[str, ...]
    """By seat; empty where free."""
    bots: tuple[int, ...]
    """Seats played by a bot."""
    bots_wanted: tuple[int, ...]
    for_bots: bool
    phase: int
    round: int
    seq: int


def pack_command(command: Command) -> bytes: ...
def unpack_command(data: bytes) -> Command: ...
def pack_batch(batch: InBatch) -> bytes: ...
def unpack_batch(data: bytes) -> InBatch: ...
def pack_record(record: Record) -> bytes: ...
def unpack_record(table: str, data: bytes) -> Record: ...
def pack_lobby_line(line: LobbyLine) -> bytes: ...
def unpack_lobby_line(data: bytes) -> LobbyLine: ...
