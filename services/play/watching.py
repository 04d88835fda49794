"""Watching a table: what a spectator's few keys do."""

from pit.v1 import table_pb2

from services.client.errors import ClientError
from services.client.view import TableView
from services.client.watching import Watching
from services.play import texts
from services.play.model import Model
from services.play.player import Stage
from services.play.rules_card import rules_card


class WatchedTable:
    """One table of a `Watching`, as the screen needs it."""

    def __init__(self, watching: Watching, table: str) -> None:
        self._watching = watching
        self._table = table

    @property
    def view(self) -> TableView:
        return self._watching.view(self._table)

    @property
    def log_us(self) -> int:
        return self._watching.log_us(self._table)

    @property
    def connected(self) -> bool:
        return self._watching.connected(self._table)


class Spectator:
    """Who watches; the `Person` of `app`."""

    def __init__(self, watching: Watching, seat: WatchedTable, stage: Stage, model: Model) -> None:
        self.seat = seat
        self.model = model
        self._watching = watching
        self._stage = stage

    async def follow(self) -> None:
        """Take what happens until nothing more will come."""
        try:
            async for _, happening in self._watching:
                self.model.take(happening, self.seat.view, self.seat.log_us)
        except ClientError as error:
            over = self.seat.view.phase == table_pb2.PHASE_CLOSED
            self.model.end = "The table is closed." if over else f"Nothing more to see: {error}."

    def pressed(self, key: str) -> None:
        """One key of the person."""
        self.model.notice = ""
        match key:
            case "q" | "ctrl+c":
                self.leave()
            case "question_mark":
                self._stage.ask(texts.help_text(self.seat.view.rules, watching=True))
            case "v":
                self._stage.ask(rules_card(self.seat.view))
            case "m":
                self._stage.ask(texts.mutes(self.seat.view, self.model.muted), self._mute)
            case _:
                self.model.notice = "You watch, so most keys do nothing; ? shows those that do."

    def _mute(self, key: str | None) -> None:
        self.model.mute(key, self.seat.view)

    def leave(self) -> None:
        self._stage.quit()
