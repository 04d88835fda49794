"""What the log carries beside the engine's own commands and events."""

from engine.rules import Rules
from engine.value import value


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
    """Number of the last event that changed what this line shows."""
    absent_policy: int
    bots_allowed: bool
    """Whether bots may fill empty seats at the start and freed ones later."""
    invite_hash: bytes
    """SHA-256 of the invite code of a private table, else empty. Shown to nobody."""
    rematch_table: str
    """Where those who play again go on; empty unless a rematch was agreed."""
    rematch: tuple[str, ...]
    """Those persons by seat; empty where nobody."""
    start_at_s: int
    """Wall time at which the game is to start; 0 where its players start it."""
