"""Views of a table, compared."""

from services.client.view import SeatView, TableView


def known(view: TableView) -> dict[str, object]:
    """All that a view says of its table as it is now."""
    apart = {"seats", "told"}
    fields = {name: getattr(view, name) for name in TableView.__slots__ if name not in apart}
    for index, seat in enumerate(view.seats):
        fields |= {f"{index}.{name}": getattr(seat, name) for name in SeatView.__slots__}
    return fields
