"""Names of tables, games and persons, however they are typed.

A game is its table: both have one name. All commands show it bare, the API with `tables/` before
it; both are taken, and so is a beginning that no other name has, wherever names can be looked up.
"""

import re
from collections.abc import Iterable
from typing import Final

from services.cli.failures import Exit, Failure

BEGINNING_MIN: Final = 6
"""Of a name: the shard's two digits, and enough to tell a thousand tables of it apart."""
NAME_LENGTH: Final = 22
SHOWN_MAX: Final = 10
"""Candidates listed where a beginning fits several."""
_TABLE: Final = re.compile(r"[0-9]{2}[a-z2-7]{0,20}")
_PERSON: Final = re.compile(r"p[a-z2-7]{20}")
TABLES: Final = "tables/"
PEOPLE: Final = "people/"


def bare(typed: str) -> str:
    """A table's name, or the beginning of one, without `tables/`."""
    return typed.removeprefix(TABLES)


def is_whole(name: str) -> bool:
    """Whether a bare name needs no looking up."""
    return len(name) == NAME_LENGTH and _TABLE.fullmatch(name) is not None


def is_beginning(name: str) -> bool:
    """Whether a bare name may be looked up by its beginning."""
    return len(name) >= BEGINNING_MIN and _TABLE.fullmatch(name) is not None


def not_found(typed: str, where: str, remedy: str) -> Failure:
    """`where`: what was looked through, with its verb."""
    name = bare(typed)
    if is_beginning(name):
        why = f"{where} no record of it"
    else:
        why = (
            f"a name is {NAME_LENGTH} digits and letters, such as 01pckv5mgkj6plk7hgmb7v; "
            f"{BEGINNING_MIN} of its beginning are enough where no other name begins so"
        )
    return Failure(Exit.NOT_FOUND, f"no game {typed}", why, remedy)


def begun_by(typed: str, names: Iterable[str]) -> str | None:
    """The one bare name that begins so; `None` where none does. Raises `Failure` for several."""
    beginning = bare(typed)
    found = sorted({name for name in map(bare, names) if name.startswith(beginning)})
    if len(found) <= 1:
        return found[0] if found else None
    shown = found[:SHOWN_MAX]
    more = f" and {len(found) - len(shown)} more" if len(found) > len(shown) else ""
    raise Failure(
        Exit.USAGE,
        f"{typed} is the beginning of {len(found)} names",
        ", ".join(shown) + more,
        "give more of the name",
    )


def person_name(typed: str) -> str:
    """`people/{person}`. Raises `Failure`: persons are looked up by their display names alone."""
    person = typed.removeprefix(PEOPLE)
    if _PERSON.fullmatch(person) is None:
        raise Failure(
            Exit.USAGE,
            f"{typed} is no person's id",
            "it is p and twenty letters or digits, with people/ before it or without; a beginning "
            "of it is not looked up",
            "`pit operate find NAME` shows the ids of those who are called so",
        )
    return PEOPLE + person
