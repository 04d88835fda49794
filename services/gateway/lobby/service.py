"""All methods of `LobbyService` that answer once; the streams are `news.py` and `bot_seats.py`."""

from services.gateway.lobby.lists import Lists
from services.gateway.lobby.rematch import Rematches


class LobbyService(Lists, Rematches):
    """See the parts."""
