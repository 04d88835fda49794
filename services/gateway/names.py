"""Display names of persons. They live outside the log, keyed by id."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from engine.limits import REASON_BYTES_MAX
from services.gateway.errors import Refused
from services.gateway.identity.limits import name_life_s
from services.gateway.identity.store import PeopleStore
from services.log.port import LogError

KNOWN_MAX: Final = 100_000
"""Names kept in memory; the oldest go first."""
NAME_CHARACTERS_MAX: Final = 64
_FORBIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""Control, formatting (bidirectional marks among them), private, unassigned, line breaks."""
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and a symbol that are drawn as nothing: fillers of Hangul, the empty Braille cell."""
MARKS_MAX: Final = 3
"""On one letter: as many as pointed Hebrew and Tibetan have. A stack of them covers the lines above
and below."""
_STACKED: Final = frozenset({"Mn", "Me"})
"""Marks that take no room of their own."""
_SEEN: Final = frozenset("LNPS")
"""First letters of categories: what is seen by itself, unlike marks and spaces."""


def checked_name(name: str, field: str) -> str:
    """1 to 64 visible characters, in their composed form. Raises `Refused`."""
    wrong = _unfit(name)
    if wrong is None:
        # Only then, so that it costs no more than a name; some letters are longer composed.
        name = unicodedata.normalize("NFC", name)
        wrong = _unfit(name)
    if wrong is not None:
        raise Refused.field(field, f"1 to {NAME_CHARACTERS_MAX} visible characters{wrong}")
    if _stacks_marks(name):
        raise Refused.field(field, f"at most {MARKS_MAX} accents or other marks on one letter")
    return name


def _unfit(name: str) -> str | None:
    """What is wrong with a name beside that rule, where more can be said; `None`: nothing. The
    characters that are meant are not seen, so they are named by number."""
    if len(name) > NAME_CHARACTERS_MAX:
        return f", not {len(name)}"
    unseen = next((character for character in name if hidden(character)), None)
    if unseen is not None:
        return f"; {_named(unseen)} is not one"
    for end in (name[:1], name[-1:]):
        if end.isspace():
            return f", without {_named(end)} at the beginning or the end"
    seen = any(unicodedata.category(character)[0] in _SEEN for character in name)
    return None if seen else ""


def _named(character: str) -> str:
    """`U+200D (zero width joiner)`"""
    name = unicodedata.name(character, "").lower()
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")


def _stacks_marks(text: str) -> bool:
    """Whether more of them are on one letter than any writing needs."""
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in _STACKED else 0
        if marks > MARKS_MAX:
            return True
    return False


def checked_reason(reason: str, field: str, least: int) -> str:
    """Words shown to players, `least` to 240 bytes of them. Raises `Refused`."""
    most = REASON_BYTES_MAX
    if not least <= len(reason.encode()) <= most or hidden(reason):
        raise Refused.field(field, f"{least} to {most} bytes of visible characters")
    return reason


def hidden(text: str) -> bool:
    """Whether it has characters that are not seen, or that move others about."""
    return any(
        character in _BLANK or unicodedata.category(character) in _FORBIDDEN_CATEGORIES
        for character in text
    )


class NameBook(Mapping[str, str]):
    """Names known here; those that are not are learnt from the store before they are needed."""

    def __init__(self, store: PeopleStore, life_s: int = name_life_s(archive_days=30)) -> None:
        """`life_s`: how long a name is kept after its person was last here."""
        self._store = store
        self._life_s = life_s
        self._names: dict[str, str] = {}
        self._forgotten = 0

    def __getitem__(self, person: str) -> str:
        return self._names[person]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def unknown(self, persons: Iterable[str]) -> set[str]:
        return {person for person in persons if person not in self._names}

    async def learn_all(self, persons: Iterable[str]) -> None:
        """Those that are not known yet."""
        unknown = self.unknown(persons)
        if unknown:
            await self.learn(unknown)

    async def learn(self, persons: set[str]) -> None:
        """A person without a name is remembered as such; a store that is down changes nothing."""
        forgotten = -1
        while forgotten != self._forgotten:  # else what was read may be older than a new name
            forgotten = self._forgotten
            try:
                found = await self._store.names(sorted(persons))
            except LogError:
                return
        for person in persons:
            self._keep(person, found.get(person, ""))

    async def give(self, person: str, name: str) -> None:
        """The first name of a new person. A repeat leaves what an operator has made of it."""
        self._keep(person, await self._store.keep_name(person, name, self._life_s))

    async def prolong(self, person: str) -> None:
        """The person is here: the name begins its life anew."""
        await self._store.prolong_name(person, self._life_s)

    def know(self, names: Mapping[str, str]) -> None:
        """Names that were learnt elsewhere."""
        for person, name in names.items():
            self._keep(person, name)

    def forget(self) -> None:
        """Names have changed: each is learnt anew when it is next needed."""
        self._names.clear()
        self._forgotten += 1

    def _keep(self, person: str, name: str) -> None:
        self._names[person] = name
        if len(self._names) > KNOWN_MAX:
            del self._names[next(iter(self._names))]
