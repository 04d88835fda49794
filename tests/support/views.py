"""Views of a table, compared."""

from types import GetSetDescriptorType, MemberDescriptorType

from services.client.view import SeatView, TableView


def known(view: TableView) -> dict[str, object]:
    """All that a view says of its table as it is now."""
    apart = {"seats", "told"}
    fields = {name: getattr(view, name) for name in names_of(TableView) if name not in apart}
    for index, seat in enumerate(view.seats):
        fields |= {f"{index}.{name}": getattr(seat, name) for name in names_of(SeatView)}
    return fields


def names_of(kind: type) -> list[str]:
    """Attributes of a class with slots; a compiled one has no `__slots__` to read them from."""
    return [
        name
        for name, held in vars(kind).items()
        if isinstance(held, MemberDescriptorType | GetSetDescriptorType)
    ]
