"""All methods of `LobbyService` that answer once; the streams are `news.py` and `bot_seats.py`."""

from services.gateway.lobby.lists import Lists
from services.gateway.lobby.seats import Seats


class LobbyService(Lists, Seats):
    """See the parts."""
