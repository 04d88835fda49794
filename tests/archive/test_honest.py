"""Whatever honest people do at a table, however oddly, its records verify.

The random play of the engine's twin (tests/support/play.py) leaves games early, switches rules one
by one, rings false bells and forfeits; the audit's ledger must find nothing in it.
"""

from random import Random

import pytest

from engine.decide import decide
from engine.evolve import evolve
from engine.table import Table
from services.archive.ledger import Ledger
from support.play import Play
from support.twin.door import give

COMMANDS = 4_000


@pytest.mark.parametrize("seed", [7, 11])
def test_odd_but_honest_games_verify(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Play, "rig", lambda _: None)  # rigged hands do not follow from the seed
    play, chance = Play(seed), Random(seed)
    table, ledger, tables = Table(play.twin.table_id), Ledger(), 0
    for _ in range(COMMANDS):
        command = play.next()
        if play.twin.seq == 0:
            table, ledger, tables = Table(play.twin.table_id), Ledger(), tables + 1
        deal_seed = chance.randbytes(48)
        expected = give(play.twin, command, play.now_ms, lambda size, s=deal_seed: s[:size])
        happened, answer = decide(table, command, play.now_ms, lambda size, s=deal_seed: s[:size])
        if answer is not None:
            evolve(table, answer)
        for event in happened:
            assert list(ledger.check(event, play.now_ms)) == [], (table.table, event)
            evolve(table, event)
        play.saw(expected.events)
    assert tables > COMMANDS // 100
