"""`verify` proves good games, and refuses altered ones even under fresh checksums."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine import events
from engine.cards import ONE, count
from engine.events import Record
from engine.rules import PRESETS
from services.archive import frames
from services.archive.audit import audit
from services.archive.directory import DirectoryArchive
from services.archive.frames import Head, Kept
from services.archive.source import find
from services.log.codec import pack_record
from support.archiving import KEY, Archiving, written
from support.forging import Items, forge, in_memory, put
from support.whole_game import GAME, WholeGame


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
