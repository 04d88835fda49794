"""Limits of the lobby, with their reasons. Rates stand in `session/limits.py`."""

from typing import Final

TABLES_MAX: Final = {"public": 10, "event": 10, "load": 0}
"""By profile, tables one person has opened whose game is not over; 0 and any other profile: any
number. A person plays at one and prepares a few; the tester is everybody."""
OPENING_S: Final = 10
"""A table not in the lobby yet may be on its way for so long; after that it is gone."""
OPENED_KEPT_S: Final = 24 * 3600
"""Longer than any table lives."""
QUICK_TRIES_MAX: Final = 4
"""Tables fill up while one looks; after so many, open a new one."""
QUICK_KEPT_S: Final = 600
"""Longer than anybody repeats a call."""
SEAT_MAX: Final = 31
"""Beyond any table; a larger number is no seat whatever the rules."""
LOOK_EVERY_S: Final = 0.5
"""How often the list is compared for those who watch it: people choose tables more slowly."""
NEWS_TABLES_MAX: Final = 100
"""Tables in one message, as in one page."""
