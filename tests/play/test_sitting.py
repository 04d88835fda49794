"""What a table of one's own is called."""

import pytest

from services.gateway.names import NAME_CHARACTERS_MAX, checked_name
from services.play.sitting import _table_of


@pytest.mark.parametrize("name", ["Ada", "日本語", "A" * NAME_CHARACTERS_MAX, "A b" * 21])
def test_whoever_has_a_name_has_a_table_of_it(name: str) -> None:
    assert checked_name(name, "display_name") == name
    table = _table_of(name)
    assert checked_name(table, "display_name") == table
    assert table.endswith("'s table")
    assert table.startswith(name[:50].rstrip())
