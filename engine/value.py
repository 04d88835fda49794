"""How the engine's small values are made: immutable to the type checker, cheap at run time.

`@dataclass(frozen=True)` costs four times as much to build, because every field then goes
through `object.__setattr__`. Commands and events are built on the hot path, so immutability is
checked where it costs nothing: mypy refuses an assignment to a field of a `@value` class.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ParamSpec, TypeVar, cast, dataclass_transform

T = TypeVar("T")
P = ParamSpec("P")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Make `cls` a slotted dataclass, compared by content and frozen for the type checker."""
    return dataclass(slots=True)(cls)


def maker(cls: Callable[P, T]) -> Callable[P, T]:
    """A function that builds what calling the `@value` class builds, for the hottest few.

    Calling a class goes through C and back with a tuple of the arguments; a function that fills
    a new object is inlined by the interpreter, and about a quarter faster.
    """
    names = [field.name for field in fields(cast("Any", cls))]
    lines = [f"def make({', '.join(names)}, new=new, cls=cls):", "    made = new(cls)"]
    lines += [f"    made.{name} = {name}" for name in names]
    made: dict[str, Any] = {"new": cast("Any", cls).__new__, "cls": cls}
    exec("\n".join([*lines, "    return made"]), made)  # noqa: S102  # names of our own fields
    return cast("Callable[P, T]", made["make"])
