"""The vote on a rematch, as the ledger follows it: what must be true of each event."""

from collections.abc import Iterator
from typing import Final

from engine import events
from engine.events import Event

VOTE_MS: Final = 60_000


class RematchVote:
    """Fed with every event in order."""

    def __init__(self) -> None:
        self._until_ms = 0
        """When the vote ends; 0 while there is none."""
        self._refused = False
        """Somebody has just said no, or left: nothing but the vote's end may follow."""

    def problems(self, event: Event, *, ended: bool) -> Iterator[str]:
        """What is wrong with the event; `ended`: whether the game is over before it."""
        if self._refused and not isinstance(event, (events.OwnerChanged, events.RematchFailed)):
            yield "the vote on a rematch goes on after a no"
        match event:
            case events.RematchVoted():
                yield from self._voted(event, ended)
            case events.RematchAgreed():
                if not self._until_ms:
                    yield "a rematch is agreed without a vote"
                self._until_ms = 0
            case events.RematchFailed():
                if not self._refused and not 0 < self._until_ms <= event.at_ms:
                    yield "the vote on a rematch fails without a reason"
                self._until_ms, self._refused = 0, False
            case events.SeatLeft():
                self._refused = self._until_ms > 0
            case events.Thawed() if self._until_ms:
                self._until_ms += event.frozen_ms
            case _:
                pass

    def _voted(self, event: events.RematchVoted, ended: bool) -> Iterator[str]:
        until_ms = self._until_ms or event.at_ms + VOTE_MS
        if not ended or not (event.yes or self._until_ms):
            yield "a vote on a rematch at a wrong time"
        if event.until_ms != until_ms or event.at_ms > until_ms:
            yield "the vote on a rematch does not end when it should"
        self._until_ms = until_ms
        self._refused = not event.yes
