"""`verify` proves good games, and refuses altered ones even under fresh checksums."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine import commands, events
from engine.cards import ONE, count
from engine.events import Event, Note, Record
from engine.rules import PRESETS
from engine.shown import Phase
from services.archive import frames
from services.archive.audit import Verdict, audit
from services.archive.directory import DirectoryArchive
from services.archive.frames import Head, Kept, Seal
from services.archive.ledger import Finding, Ledger
from services.archive.source import Game, find
from services.log.codec import pack_record, unpack_record
from support.archiving import KEY, Archiving, written
from support.playing import Playing
from support.whole_game import GAME, WholeGame

Items = list[Event | Note]


@pytest.fixture(scope="module")
def archiving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archiving]:
    """A finished, sealed game in an archive."""
    world = Archiving(tmp_path_factory.mktemp("archive"))
    world.write(WholeGame(seed=11).played())
    world.copy()
    assert world.verdict(live=False).findings == ()
    yield world
    world.archive.close()


@pytest.mark.parametrize("rules", PRESETS)
def test_good_games_of_every_preset_are_proven(rules: str) -> None:
    for seats in (PRESETS[rules].seats_min, PRESETS[rules].seats_max):
        game = WholeGame(rules, seats, seed=seats).played(rounds=6)
        verdict = audit(in_memory(game))
        assert verdict.findings == (), f"{rules}, {seats} seats"
        assert verdict.table.round


def in_memory(game: WholeGame) -> Game:
    records = [
        Kept(f"1-{number}", now_ms, pack_record(record))
        for number, (now_ms, record) in enumerate(game.records, 1)
    ]
    return Game(GAME, records, 0, [])


def test_one_flipped_byte_anywhere_is_found(archiving: Archiving, tmp_path: Path) -> None:
    content = archiving.archive.read(GAME)
    assert content is not None
    places = [*Random(1).sample(range(len(content)), 150), 0, len(content) - 1]
    for place in places:
        altered = bytearray(content)
        altered[place] ^= 1 << (place % 8)
        assert put(tmp_path, bytes(altered)).findings, f"byte {place} of {len(content)}"


def test_a_file_cut_anywhere_does_not_pass_as_finished(
    archiving: Archiving, tmp_path: Path
) -> None:
    content = archiving.archive.read(GAME)
    assert content is not None
    for length in Random(2).sample(range(1, len(content)), 40):
        verdict = put(tmp_path, content[:length])
        assert verdict.findings or not verdict.finished


def put(root: Path, content: bytes) -> Verdict:
    path = root / "00" / f"{GAME}.pit"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return audit(find(GAME, DirectoryArchive(root), KEY.public_key(), None))


def forge(archiving: Archiving, change: Callable[[Items], bool]) -> bytes:
    """The game with `change` made to the first record where it takes effect; checksums fresh."""
    kept_frames = archiving.kept()
    head = next(frame for frame in kept_frames if isinstance(frame, Head))
    seal = next(frame for frame in kept_frames if isinstance(frame, Seal))
    records = [frame for frame in kept_frames if isinstance(frame, Kept)]
    seq = 1
    changed = False
    for place, kept in enumerate(records):
        record = unpack_record(GAME, kept.record)
        items = list(record.items)
        if not changed:
            changed = change(items)
        shift = seq - record.first_seq
        items = [renumbered(item, shift) for item in items]
        forged = Record(GAME, seq, tuple(items))
        records[place] = replace(kept, record=pack_record(forged))
        seq += sum(not isinstance(item, Note) for item in items)
    assert changed
    return written(head, records, seal=seal)


def renumbered(item: Event | Note, shift: int) -> Event | Note:
    if isinstance(item, events.Answered | events.RequestAnswered):
        return replace(item, seq=item.seq + shift)
    return item


def swap_a_card(items: Items) -> bool:
    """Two seats' hands exchange a card in the deal."""
    for place, item in enumerate(items):
        if isinstance(item, events.Dealt):
            hands = [hand or 0 for hand in item.hands]
            mine = next(lane for lane in item.suits if count(hands[0], lane))
            theirs = next(lane for lane in item.suits if lane != mine and count(hands[1], lane))
            hands[0] += ONE[theirs] - ONE[mine]
            hands[1] += ONE[mine] - ONE[theirs]
            items[place] = replace(item, hands=tuple(hands))
            return True
    return False


def swap_a_traded_card(items: Items) -> bool:
    for place, item in enumerate(items):
        if isinstance(item, events.Traded):
            items[place] = replace(item, given=item.received, received=item.given)
            return True
    return False


def change_a_score(items: Items) -> bool:
    for place, item in enumerate(items):
        if isinstance(item, events.RoundScored):
            deltas = (item.deltas[0] + 5, *item.deltas[1:])
            totals = (item.totals[0] + 5, *item.totals[1:])
            items[place] = replace(item, deltas=deltas, totals=totals)
            return True
    return False


def change_the_places(items: Items) -> bool:
    for place, item in enumerate(items):
        if isinstance(item, events.GameEnded):
            items[place] = replace(item, places=item.places[::-1])
            return item.places != item.places[::-1]
    return False


def leave_out_a_trade(items: Items) -> bool:
    for item in items:
        if isinstance(item, events.Traded):
            items.clear()
            return True
    return False


def change_the_seed(items: Items) -> bool:
    """Another seed, with the commitment that fits it."""
    for place, item in enumerate(items):
        if isinstance(item, events.Committed) and item.seed:
            seed = bytes(len(item.seed))
            from hashlib import sha256

            items[place] = replace(item, seed=seed, commitment=sha256(seed).digest())
            return True
    return False


def publish_another_seed(items: Items) -> bool:
    for place, item in enumerate(items):
        if isinstance(item, events.RoundScored):
            items[place] = replace(item, seed=bytes(len(item.seed)))
            return True
    return False


def exchange_the_bell(items: Items) -> bool:
    for place, item in enumerate(items):
        if isinstance(item, events.Cornered):
            items[place] = replace(item, seat=(item.seat + 1) % 4)
            return True
    return False


def answer_twice(items: Items) -> bool:
    for item in items:
        if isinstance(item, events.Answered) and item.kept:
            items.insert(0, item)
            return True
    return False


def trade_in_the_past(items: Items) -> bool:
    for place, item in enumerate(items):
        if isinstance(item, events.Traded):
            items[place] = replace(item, at_ms=1)
            return True
    return False


def lengthen_the_pause(items: Items) -> bool:
    for place, item in enumerate(items):
        if isinstance(item, events.Dealt):
            items[place] = replace(item, opens_at_ms=item.opens_at_ms + 1)
            return True
    return False


FORGERIES = {
    lengthen_the_pause: "order",
    answer_twice: "order",
    trade_in_the_past: "order",
    swap_a_card: "deal",
    swap_a_traded_card: "conservation",
    change_a_score: "score",
    change_the_places: "score",
    leave_out_a_trade: "conservation",
    change_the_seed: "deal",
    publish_another_seed: "commitment",
    exchange_the_bell: "conservation",
}


@pytest.mark.parametrize("change", FORGERIES, ids=lambda change: change.__name__)
def test_forgeries_under_fresh_checksums_are_found(
    archiving: Archiving, tmp_path: Path, change: Callable[[Items], bool]
) -> None:
    verdict = put(tmp_path, forge(archiving, change))
    kinds = {finding.kind for finding in verdict.findings}
    assert FORGERIES[change] in kinds, "the replay does not see it"
    assert "seal" in kinds, "the signature does not see it"
    assert not verdict.sealed


def test_a_forgery_that_replays_is_still_refused_by_its_seal(
    archiving: Archiving, tmp_path: Path
) -> None:
    """Nothing in the game contradicts another nonce of the last readiness that nobody drew with."""

    def change_a_name(items: Items) -> bool:
        for place, item in enumerate(items):
            if isinstance(item, events.TableOpened):
                items[place] = replace(item, display_name="another table")
                return True
        return False

    verdict = put(tmp_path, forge(archiving, change_a_name))
    assert {finding.kind for finding in verdict.findings} == {"seal"}


def test_a_finished_game_without_its_seal_is_refused(archiving: Archiving, tmp_path: Path) -> None:
    kept_frames = archiving.kept()
    head = next(frame for frame in kept_frames if isinstance(frame, Head))
    records = [frame for frame in kept_frames if isinstance(frame, Kept)]
    content = written(head, records)
    bare = b"".join(frames.pack(frame) for frame in (head, *records))
    assert bare == content[: len(bare)]
    verdict = put(tmp_path, bare)
    assert [finding.kind for finding in verdict.findings] == ["seal"]


def test_another_key_does_not_confirm(archiving: Archiving) -> None:
    from support.archiving import OTHER_KEY

    game = find(GAME, archiving.archive, OTHER_KEY.public_key(), None)
    assert "seal" in {finding.kind for finding in audit(game).findings}


def test_a_game_under_another_name_is_refused(archiving: Archiving, tmp_path: Path) -> None:
    content = archiving.archive.read(GAME)
    other = "00" + "b" * 20
    (tmp_path / "00").mkdir()
    (tmp_path / "00" / f"{other}.pit").write_bytes(content or b"")
    game = find(other, DirectoryArchive(tmp_path), KEY.public_key(), None)
    assert "damage" in {finding.kind for finding in audit(game).findings}


# ------------------------------------------------------------------ a dispute


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


def altered(content: Any, chance: Random) -> Any:
    """A field's content, a little different; the same where it has no other."""
    if isinstance(content, bool):
        return not content
    if isinstance(content, int):
        return max(content + chance.choice((-1, 1, 2)), 0)
    if isinstance(content, bytes):
        return bytes([content[0] ^ 1]) + content[1:] if content else bytes(16)
    if isinstance(content, tuple) and content:
        place = chance.randrange(len(content))
        return (*content[:place], altered(content[place], chance), *content[place + 1 :])
    return content


ABOUT_THE_CARDS = (events.Dealt, events.Traded, events.Cornered, events.RoundScored)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.all)])
def test_no_altered_field_of_the_game_itself_passes_the_replay(seed: int) -> None:
    """Without any seal, and whatever the alteration makes of the engine, it is a finding."""
    chance = Random(seed)
    game = WholeGame("classic", 4, seed=seed).played(rounds=1)
    tried = 0
    while tried < (300 if seed == 1 else 3_000):
        place = chance.randrange(len(game.records))
        now_ms, record = game.records[place]
        at = chance.randrange(len(record.items))
        item = record.items[at]
        field = chance.choice(fields(item))
        before = getattr(item, field.name)
        after = altered(before, chance)
        if after == before or not isinstance(item, ABOUT_THE_CARDS):
            continue
        tried += 1
        items = (*record.items[:at], replace(item, **{field.name: after}), *record.items[at + 1 :])
        forged = in_memory(game)
        forged.records[place] = Kept(
            f"1-{place + 1}", now_ms, pack_record(Record(GAME, record.first_seq, items))
        )
        found = audit(forged).findings
        assert found, f"{type(item).__name__}.{field.name}: {before} became {after}"
