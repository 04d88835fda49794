"""How the engine's small values are made: immutable to the type checker, cheap at run time.

`@dataclass(frozen=True)` costs four times as much to build, because every field then goes
through `object.__setattr__`. Commands and events are built on the hot path, so immutability is
checked where it costs nothing: mypy refuses an assignment to a field of a `@value` class.

The hottest few have an `__init__` of their own, which mypyc compiles; that of `dataclass` it cannot
see, and to build a value by it takes three times as long.
"""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

__all__ = ["value"]

T = TypeVar("T")

NATIVE = False
"""True to mypyc alone, by an option in `setup.py`."""

if not NATIVE:

    @dataclass_transform(frozen_default=True)
    def value(cls: type[T]) -> type[T]:
        """Make `cls` a slotted dataclass, compared by content and frozen for the type checker."""
        slots = not hasattr(cls, "__mypyc_attrs__")  # a native class has its own
        return dataclass(slots=slots)(cls)

else:  # it makes native classes of dataclasses, and knows these by the decorator's name alone
    from dataclasses import dataclass as value  # type: ignore[assignment, unused-ignore]
