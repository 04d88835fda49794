"""How long things of a sign-in live, with the reasons."""

from typing import Final

DAY_S: Final = 24 * 3600
REFRESH_S: Final = 30 * DAY_S
"""Who has not been here for so long signs in anew."""
REPEAT_S: Final = 60
"""How long the same request is answered again: longer than a client keeps trying."""
TRANSFER_CODE_S: Final = 120
"""Long enough to type twelve letters on the other device."""


def name_life_s(archive_days: int) -> int:
    """How long a name is kept after its person was last here: until nobody can come back under it
    and no record of a game shows it."""
    return REFRESH_S + (archive_days + 1) * DAY_S
