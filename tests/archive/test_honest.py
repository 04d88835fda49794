"""Whatever honest people do at a table, however oddly, its records verify.

The random play of the engine's twin (tests/support/play.py) leaves games early, switches rules one
by one, rings false bells and forfeits; the audit's ledger must find nothing in it.
"""

from random import Random

import pytest

from engine.commands import Purpose, VoidRound
from engine.decide import decide
from engine.evolve import evolve
from engine.table import Table
from services.archive.ledger import Ledger
from services.archive.source import NOTES
from support.play import Play
from support.playing import Playing
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


@pytest.mark.parametrize(
    "nonces", [(b"a" * 16, b""), (b"", b"a" * 16), (b"a" * 16, b"b" * 16), (b"", b"")]
)
@pytest.mark.parametrize("drawn", [1, 2])
def test_of_two_who_are_ready_on_one_seat_the_later_ones_nonce_counts(
    nonces: tuple[bytes, bytes], drawn: int
) -> None:
    """Who takes a seat over and is ready without a nonce has sent none, whatever was sent there."""
    playing = Playing("blitz", 4).seated()
    purpose = Purpose.START
    if drawn == 2:
        for seat in range(4):
            playing.ready(seat, purpose)
        playing.operate(VoidRound, round=1)
        purpose = Purpose.NEXT
    playing.ready(1, purpose, nonces[0])
    playing.leave("p1")
    playing.join("late", 1)
    playing.attach(1)
    playing.ready(1, purpose, nonces[1])
    for seat in (0, 2, 3):
        playing.ready(seat, purpose)
    assert playing.table.round == drawn
    assert playing.table.nonces[1] == (nonces[1] or bytes(16))
    playing.operate(VoidRound, round=drawn)  # so its seed is told
    ledger = Ledger()
    for item in playing.items:
        if type(item) not in NOTES:
            assert list(ledger.check(item, playing.now_ms)) == [], item
    assert ledger.round == drawn
