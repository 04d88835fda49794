"""An act of an operator: under one request id it may be given again, and is done once."""

import shlex
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from services.cli.failures import Exit, Failure
from services.cli.names import TABLES, bare, begun_by, is_beginning, is_whole
from services.cli.operate.inside import ask

if TYPE_CHECKING:
    from services.client.operator import Operator

ID_OPTION = "--request-id"
TABLE_OPTION = "--table="

Answer = TypeVar("Answer")


class Act:
    """Where an act is sent, and under which id."""

    def __init__(self, target: str, request_id: bytes | None) -> None:
        """`request_id`: of an act whose outcome was unknown; `None` for a new one."""
        from services.client.operator import new_id

        self.target = target
        self.request_id = request_id or new_id()
        self._whole: dict[str, str] = {}
        """Names in full, by what was typed: a table that has closed is not looked up any more."""

    def do(self, work: "Callable[[Operator, bytes], Awaitable[Answer]]", table: str = "") -> Answer:
        """Do it. Raises `Failure`, for an outcome that is unknown with the words that lead to
        certainty. `table`: where one can look."""
        from services.client.errors import OutcomeUnknown

        try:
            return ask(self.target, lambda operator: work(operator, self.request_id))
        except OutcomeUnknown as unknown:
            raise self._unknown(Exit.UNREACHABLE, unknown.message, table) from None
        except KeyboardInterrupt:
            raise self._unknown(Exit.INTERRUPTED, "interrupted", table) from None

    def at(self, table: str, work: "Callable[[Operator, str, bytes], Awaitable[Answer]]") -> Answer:
        """Do it at a table, named as a person may name it."""

        async def there(operator: "Operator", request_id: bytes) -> Answer:
            return await work(operator, await self.whole(operator, table), request_id)

        return self.do(there, table)

    async def whole(self, operator: "Operator", table: str) -> str:
        """`tables/{table}`, kept for the command that is to be given again. Raises `Failure`."""
        name = await whole_name(operator, table)
        self._whole[table] = bare(name)
        return name

    def _unknown(self, code: Exit, why: str, table: str) -> Failure:
        game = f" and `pit table replay {self._whole.get(table, table)}`" if table else ""
        typed = [self._in_full(word) for word in sys.argv[1:]]
        return Failure(
            code,
            "outcome unknown: it may have been done, or may still be done",
            why,
            "give it again under the same request id, then it is done once:\n"
            f"          {repeated(typed, self.request_id)}\n"
            f"          or look: `pit audit --since 1h`{game} show what was done",
        )

    def _in_full(self, word: str) -> str:
        option = TABLE_OPTION if word.startswith(TABLE_OPTION) else ""
        named = word.removeprefix(option)
        return option + self._whole.get(named, named)


def repeated(arguments: Iterable[str], request_id: bytes) -> str:
    """The command that was typed, under this id."""
    words = list(arguments)
    if not any(word.split("=")[0] == ID_OPTION for word in words):
        end = words.index("--") if "--" in words else len(words)
        words[end:end] = [ID_OPTION, request_id.hex()]
    return shlex.join(["pit", *words])


async def whole_name(operator: "Operator", typed: str) -> str:
    """`tables/{table}`; a beginning is looked up among the tables in play. Raises `Failure`."""
    name = bare(typed)
    if is_whole(name):
        return TABLES + name
    found = None
    if is_beginning(name):
        found = begun_by(typed, [table.name async for table in operator.tables()])
    if found is None:
        raise Failure(
            Exit.NOT_FOUND,
            f"no table {typed}",
            "none in play has this name, or begins so with six characters or more",
            "`pit operate tables` shows those in play; a game that is over is named in full",
        )
    return TABLES + found
