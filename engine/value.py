"""How the engine's small values are made: immutable to the type checker, cheap at run time.

`@dataclass(frozen=True)` costs four times as much to build, because every field then goes
through `object.__setattr__`. Commands and events are built on the hot path, so immutability is
checked where it costs nothing: mypy refuses an assignment to a field of a `@value` class.
"""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Make `cls` a slotted dataclass, compared by content and frozen for the type checker."""
    return dataclass(slots=True)(cls)
