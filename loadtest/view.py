"""A seat's view of its table, kept as cheaply as thousands of them must be.

What everybody at a table sees is the same for all its seats, so it is kept once, in one public
view a table (`LoadTable.public`); a seat's own view holds its place in the events and its cards.
"""

from pit.v1 import table_pb2

from services.client.view import TableView


class OwnView(TableView):
    """`apply` only takes the event's number: the table does the rest, once it has checked it."""

    __slots__ = ()

    def apply(
        self,
        event: table_pb2.Event,
        received: table_pb2.Cards = table_pb2.Cards(),  # noqa: B008 (never changed)
        given: table_pb2.Cards = table_pb2.Cards(),  # noqa: B008
    ) -> None:
        self.seq = event.seq

    def dealt(self, event: table_pb2.Dealt, hand: int) -> None:
        """A new round, with this hand."""
        self.round = event.round
        self.suits = self.deck.lanes(event.suits)
        self.bell_locked_until_us = 0
        self.offer_lot = 0
        self.hand = hand

    def traded(self, received: int, given: int) -> bool:
        """Own cards changed hands; whether those given were there to be given."""
        held = self.deck.holds(self.hand, given)
        self.hand += received - given
        self.offer_lot = 0
        return held
