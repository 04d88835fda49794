"""Display names of persons. They live outside the log, keyed by id."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from services.gateway.errors import Refused
from services.gateway.identity.store import PeopleStore
from services.log.port import LogError

KNOWN_MAX: Final = 100_000
"""Names kept in memory; the oldest go first."""
NAME_CHARACTERS_MAX: Final = 64
_FORBIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""Control, formatting (bidirectional marks among them), private, unassigned, line breaks."""


def checked_name(name: str, field: str) -> str:
    """1 to 64 visible characters. Raises `Refused`."""
    visible = name.strip()
    if (
        not 1 <= len(visible) <= NAME_CHARACTERS_MAX
        or visible != name
        or any(unicodedata.category(character) in _FORBIDDEN_CATEGORIES for character in name)
    ):
        raise Refused.field(field, f"1 to {NAME_CHARACTERS_MAX} visible characters")
    return name


class NameBook(Mapping[str, str]):
    """Names known here; those that are not are learnt from the store before they are needed."""

    def __init__(self, store: PeopleStore) -> None:
        self._store = store
        self._names: dict[str, str] = {}

    def __getitem__(self, person: str) -> str:
        return self._names[person]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def unknown(self, persons: Iterable[str]) -> set[str]:
        return {person for person in persons if person not in self._names}

    async def learn(self, persons: set[str]) -> None:
        """A person without a name is remembered as such; a store that is down changes nothing."""
        try:
            found = await self._store.names(sorted(persons))
        except LogError:
            return
        for person in persons:
            self._keep(person, found.get(person, ""))

    async def give(self, person: str, name: str) -> None:
        await self._store.keep_name(person, name)
        self._keep(person, name)

    def _keep(self, person: str, name: str) -> None:
        self._names[person] = name
        if len(self._names) > KNOWN_MAX:
            del self._names[next(iter(self._names))]
