"""A dispute played through: whatever an operator does is proven, and nothing of it can be altered."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import commands, events
from engine.events import End, Event, Record
from engine.rules import PRESETS
from engine.shown import Phase
from services.archive import frames
from services.archive.account import Finding
from services.archive.audit import audit
from services.archive.frames import Seal
from services.archive.ledger import Ledger
from support.archiving import Archiving
from support.forging import Items, forge, in_memory, put
from support.playing import Playing
from support.whole_game import GAME, WholeGame


def disputed(*, closed: bool = True) -> WholeGame:
    """A game with all that an operator may do in it, corrected once more when it is over."""
    game = WholeGame("blitz", 4, seed=5).trading()
    game.operate(commands.VoidRound, round=1)
    game.wait(8_000)
    game.freeze()
    game.wait(100_000)
    game.unfreeze()
    game.wait(5_000)
    game.offer(0, game.hand(0) & -game.hand(0), limit_ms=3_000)
    game.freeze()
    game.wait(60_000)
    game.unfreeze()
    game.wait(3_000)
    game.adjust(1, -35)
    game.collect(2, game.table.suits[0])
    while game.table.phase != Phase.ENDED:
        game.next_round()
        game.collect(2, game.table.suits[0])
    game.adjust(3, 250)
    game.operate(commands.Announce, key="over", parameters=("place", "1"), text="well played")
    game.operate(commands.RemoveSeat, seat=2)
    if closed:
        game.operate(commands.CloseTable)
    return game


def forged_at(kind: type, **changed: Any) -> tuple[str, ...]:
    """What is found where the last event of this kind says something else."""
    game = disputed()
    place, at, item = next(
        (place, at, item)
        for place, (_, record) in reversed(list(enumerate(game.records)))
        for at, item in enumerate(record.items)
        if isinstance(item, kind)
    )
    now_ms, record = game.records[place]
    items = (*record.items[:at], replace(item, **changed), *record.items[at + 1 :])
    game.records[place] = now_ms, Record(GAME, record.first_seq, items)
    return tuple(finding.text for finding in audit(in_memory(game)).findings)


def test_a_dispute_is_proven_with_all_its_corrections() -> None:
    game = disputed()
    verdict = audit(in_memory(game))
    assert verdict.findings == ()
    assert verdict.finished
    assert [seat.score for seat in verdict.table.seats] == game.scores()


@pytest.mark.parametrize(
    ("kind", "changed", "says"),
    [
        (events.ScoreAdjusted, {"delta": 260}, "corrected to"),
        (events.ScoreAdjusted, {"totals": (0, 0, 0, 250)}, "corrected to"),
        (events.ScoreAdjusted, {"places": (1, 2, 3, 4)}, "is placed behind"),
        (events.ScoreAdjusted, {"places": ()}, "places are told"),
        (events.ScoreAdjusted, {"operator": ""}, "by nobody"),
        (events.ScoreAdjusted, {"reason": ""}, "without a reason"),
        (events.ScoreAdjusted, {"seat": 9}, "no seat 9"),
        (events.RoundVoid, {"operator": "", "reason": ""}, "void before its time"),
        (events.RoundVoid, {"reason": ""}, "voided without a reason"),
        (events.RoundVoid, {"totals": (5, 0, 0, 0), "deltas": (5, 0, 0, 0)}, "should be"),
        (events.Frozen, {"operator": ""}, "by nobody"),
        (events.Frozen, {"reason": ""}, "without a reason"),
        (events.Thawed, {"frozen_ms": 59_999}, "time stood still for"),
        (events.Thawed, {"operator": ""}, "by nobody's word"),
        (events.SeatLeft, {"operator": ""}, "by nobody"),
        (events.SeatLeft, {"reason": ""}, "without a reason"),
        (events.SeatLeft, {"removed": False}, "freed by an operator"),
        (events.TableClosed, {"operator": ""}, "closed without a reason, or by nobody"),
        (events.TableClosed, {"reason": ""}, "closed without a reason, or by nobody"),
        (events.Announced, {"operator": ""}, "nobody announces"),
        (events.Announced, {"text": ""}, "somebody nothing"),
        (events.Announced, {"parameters": ("place",)}, "without its value"),
    ],
)
def test_a_forged_dispute_is_found(kind: type, changed: dict[str, Any], says: str) -> None:
    assert any(says in text for text in forged_at(kind, **changed))


@pytest.mark.parametrize(
    "kind",
    [
        events.ScoreAdjusted, events.RoundVoid, events.Frozen, events.Thawed, events.SeatLeft,
        events.TableClosed, events.Announced,
    ],
)  # fmt: skip
def test_another_operators_name_is_refused_by_the_seal(tmp_path: Path, kind: type) -> None:
    """It contradicts nothing in the game: only the signature knows who it was."""
    world = Archiving(tmp_path / "good")
    world.write(disputed())
    world.copy()
    assert world.verdict(live=False).findings == ()

    def blame_another(items: Items) -> bool:
        for place, item in enumerate(items):
            if isinstance(item, kind) and getattr(item, "operator", ""):
                items[place] = replace(item, operator="bob")
                return True
        return False

    (tmp_path / "forged").mkdir()
    verdict = put(tmp_path / "forged", forge(world, blame_another))
    assert {finding.kind for finding in verdict.findings} == {"seal"}
    world.archive.close()


CLOSED_EARLY = "the table closes by itself though its game goes on"


@pytest.mark.parametrize(
    ("end", "places", "wrong"),
    [
        (End.ROUNDS_PLAYED, (2, 1, 3), ()),
        (End.SHARED,        (1, 1, 3), ()),
        (End.SHARED,        (2, 2, 1), ("seat 0 is placed behind seat 2", "seat 1 is placed behind seat 2")),
        (End.CLOSED,        (2, 2, 1), ()),
        (End.CLOSED,        (1, 1, 3), ("seat 2 is placed behind seat 0", "seat 2 is placed behind seat 1")),
    ],
)  # fmt: skip
def test_the_tied_come_first_but_where_their_sudden_death_is_broken_off(
    end: End, places: tuple[int, ...], wrong: tuple[str, ...]
) -> None:
    """RULES.md, "Ends": seats 0 and 1 are tied, and seat 2 was lifted over them since."""
    ledger = Ledger()
    ledger.rules, ledger.scores, ledger.playing = PRESETS["basic"], [100, 100, 120], [0, 1, 2]
    ledger.tied = (0, 1)
    ended = events.GameEnded(int(end), places, (100, 100, 120), 0)
    found = [finding.text for finding in ledger.check(ended, 0) if finding.kind == "score"]
    assert tuple(found) == wrong


def test_a_game_that_an_operator_broke_off_says_by_whom() -> None:
    game = WholeGame("blitz", 3).trading()
    game.operate(commands.CloseTable)
    now_ms, record = game.records[-1]
    closed = next(item for item in record.items if isinstance(item, events.TableClosed))
    for forged, says in (
        (replace(closed, operator="", reason=""), CLOSED_EARLY),
        (events.Announced("k", (), "nothing", "ann", now_ms), "which does not close"),
    ):
        items = tuple(forged if item is closed else item for item in record.items)
        game.records[-1] = now_ms, Record(GAME, record.first_seq, items)
        assert says in [finding.text.partition(", ")[2] or finding.text for finding in found(game)]


def found(game: WholeGame) -> tuple[Finding, ...]:
    return audit(in_memory(game)).findings


@pytest.mark.parametrize(
    ("kind", "earlier_ms", "says"),
    [
        (events.ExchangeOpened, 1, "the exchange opens before its time"),
        (events.OfferEnded, 1, "the offer runs out before its time"),
    ],
)
def test_what_remained_when_time_stood_still_must_still_pass(
    kind: type, earlier_ms: int, says: str
) -> None:
    """Two freezes: one in the sorting pause, one while an offer with a limit is open."""
    game = WholeGame("basic", 3).dealt()
    game.wait(10_000)
    game.freeze()
    game.wait(100_000)
    game.unfreeze()
    game.opened()
    game.offer(0, game.hand(0) & -game.hand(0), limit_ms=3_000)
    game.freeze()
    game.wait(60_000)
    game.unfreeze()
    game.wait(3_000)
    assert found(game) == ()
    place, (now_ms, record) = next(
        (place, entry)
        for place, entry in enumerate(game.records)
        if any(isinstance(item, kind) for item in entry[1].items)
    )
    items = tuple(
        replace(item, at_ms=item.at_ms - earlier_ms) if isinstance(item, kind) else item
        for item in record.items
    )
    game.records[place] = now_ms - earlier_ms, Record(GAME, record.first_seq, items)
    assert says in [finding.text for finding in found(game)]


def test_nothing_happens_while_time_stands_still() -> None:
    """A trade, put between the freeze and its end."""
    game = Playing("blitz", 4).trading()
    ledger = Ledger()
    for item in game.items:
        if isinstance(item, Event):
            assert list(ledger.check(item, getattr(item, "at_ms", 0))) == []
    game.freeze()
    now_ms = game.now_ms
    assert list(ledger.check(events.Frozen("why", "ann", now_ms), now_ms)) == []
    called = list(ledger.check(events.Called(0, 1), now_ms))
    assert [finding.text for finding in called] == ["happens while the table's time stands still"]


def test_a_game_broken_off_in_mid_round_is_a_good_one() -> None:
    """Too few players, or closed by an operator: that explains a round void before its time."""
    game = WholeGame("blitz", 3).trading(bots=False)
    game.leave("p1")
    assert game.table.phase == Phase.ENDED
    assert audit(in_memory(game)).findings == ()
    game = WholeGame("blitz", 3).trading()
    game.operate(commands.CloseTable)
    assert audit(in_memory(game)).findings == ()


def test_a_correction_after_the_end_needs_the_seal_too(tmp_path: Path) -> None:
    world = Archiving(tmp_path / "good")
    world.write(disputed(closed=False))
    world.copy()
    assert world.verdict(live=False).findings == ()
    assert world.verdict(live=False).sealed
    *others, last_seal = [place for place, one in enumerate(world.kept()) if isinstance(one, Seal)]
    assert others, "one for the end, one for each correction"
    bare = [one for place, one in enumerate(world.kept()) if place != last_seal]
    (tmp_path / "forged").mkdir()
    verdict = put(tmp_path / "forged", b"".join(map(frames.pack, bare)))
    assert [finding.kind for finding in verdict.findings] == ["seal"]
