"""When a silent gateway counts as lost."""

from services.matcher.limits import GATEWAY_SILENCE_MS
from services.matcher.presence import Presence


def test_lost_after_eight_seconds_of_silence_and_told_once() -> None:
    presence = Presence()
    presence.attached("g1", "t2", 1_000)
    presence.attached("g1", "t1", 1_000)
    assert presence.lost(1_000 + GATEWAY_SILENCE_MS - 1) == []
    assert presence.lost(1_000 + GATEWAY_SILENCE_MS) == [("g1", ["t1", "t2"])]
    assert presence.lost(1_000 + 2 * GATEWAY_SILENCE_MS) == []


def test_every_entry_is_a_sign_of_life() -> None:
    presence = Presence()
    presence.attached("g1", "t1", 1_000)
    presence.seen("g1", 7_000)
    assert presence.lost(7_000 + GATEWAY_SILENCE_MS - 1) == []
    assert presence.lost(7_000 + GATEWAY_SILENCE_MS) == [("g1", ["t1"])]


def test_a_known_gateway_is_not_refreshed_by_a_table_alone() -> None:
    presence = Presence()
    presence.attached("g1", "t1", 1_000)
    presence.attached("g1", "t2", 6_000)
    assert presence.lost(1_000 + GATEWAY_SILENCE_MS) == [("g1", ["t1", "t2"])]


def test_a_gateway_without_streams_is_lost_without_tables() -> None:
    presence = Presence()
    presence.seen("g1", 1_000)
    presence.attached("g2", "t1", 1_000)
    presence.forget("t1")
    assert presence.lost(1_000 + GATEWAY_SILENCE_MS) == [("g1", []), ("g2", [])]
