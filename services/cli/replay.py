"""`pit table replay`: a game as it was played."""

import json
import time
from dataclasses import fields
from typing import Any, Final

from engine.commands import NOBODY
from engine.events import Event, RoundScored, RoundVoid, TableOpened
from engine.rules import PRESETS
from engine.view import view
from services.archive.facts import facts_of, plain, plain_cards
from services.archive.source import Game, numbered
from services.cli.common import load_settings, names_of
from services.cli.fact_lines import fact_lines
from services.cli.failures import Exit, Failure
from services.cli.games import recorded
from services.cli.story import Story
from services.log.codec import Undecodable, unpack_record

CARDS: Final = frozenset({"hand", "lot", "given", "received"})
"""Fields of events that hold packed cards."""


def numbered_events(game: Game) -> list[tuple[int, Event]]:
    """Every event with its number. Raises `Failure` where a record cannot be decoded."""
    events: list[tuple[int, Event]] = []
    for kept in game.records:
        try:
            record = unpack_record(game.name, kept.record)
        except Undecodable as error:
            raise Failure(
                Exit.CHECK_FAILED,
                f"{game.name}: entry {kept.out_id} cannot be decoded",
                error.reason,
                f"`pit verify {game.name}` says more",
            ) from None
        events.extend(numbered(record))
    return events


def tell_facts(name: str, as_json: bool) -> None:
    """Print what nobody at the table could see, round by round."""
    for facts in facts_of(numbered_events(recorded(name))):
        if as_json:
            print(json.dumps(plain(facts)))
        else:
            print("\n".join(fact_lines(facts)))


def replay(name: str, seat: int | None, all_hands: bool, speed: float, as_json: bool) -> None:
    """Print the game; as a spectator saw it unless told otherwise."""
    if seat is not None and all_hands:
        raise Failure(
            Exit.USAGE,
            "--seat and --all-hands exclude each other",
            "a seat saw its own hand only",
            "give one of them, or neither for a spectator's view",
        )
    viewer = NOBODY if seat is None else seat
    events = numbered_events(recorded(name))
    opened = events[0][1] if events else None
    if seat is not None and isinstance(opened, TableOpened) and not 0 <= seat < opened.seats:
        raise Failure(
            Exit.USAGE,
            f"there is no seat {seat} at {name}",
            f"its seats are 0 to {opened.seats - 1}",
            "give --seat one of them, or leave it out for a spectator's view",
        )
    facts = {one.round: one for one in facts_of(events)} if all_hands else {}
    story = Story(_people(events))
    first_ms = before_ms = 0
    for seq, event in events:
        at_ms = getattr(event, "at_ms", before_ms)
        first_ms = first_ms or at_ms
        if speed and before_ms:
            time.sleep(max(0, at_ms - before_ms) / 1_000 / speed)
        before_ms = at_ms
        seen = event if all_hands else view(event, viewer)
        if as_json:
            print(json.dumps(_plain_event(seq, seen, opened), default=bytes.hex), flush=bool(speed))
        else:
            lines = story.lines(seen)
            if isinstance(seen, RoundScored | RoundVoid) and seen.round in facts:
                lines += [f"    {line}" for line in fact_lines(facts[seen.round])]
            _print_lines(seq, at_ms - first_ms, lines, flush=bool(speed))


def _people(events: list[tuple[int, Event]]) -> dict[str, str]:
    """Names of the persons and operators in a game, as far as the store still knows them."""
    told = {getattr(event, field, "") for _, event in events for field in ("person", "operator")}
    return names_of(load_settings().redis_url, told - {""})


def _print_lines(seq: int, since_ms: int, lines: list[str], *, flush: bool) -> None:
    minutes, milliseconds = divmod(since_ms, 60_000)
    margin = f"{minutes:>3}:{milliseconds / 1_000:06.3f} {seq:>5}  "
    for number, line in enumerate(lines):
        print((margin if number == 0 else " " * len(margin)) + line, flush=flush)


def _plain_event(seq: int, event: Event, opened: Event | None) -> dict[str, Any]:
    """Fields by name; cards as counts by name."""
    rules = opened.rules if isinstance(opened, TableOpened) else PRESETS["classic"]
    shown: dict[str, Any] = {"seq": seq, "event": type(event).__name__}
    for field in fields(event):
        content = getattr(event, field.name)
        if field.name == "rules":
            content = {switch.name: getattr(content, switch.name) for switch in fields(content)}
        elif field.name == "hands":
            content = [None if hand is None else plain_cards(rules, hand) for hand in content]
        elif field.name in CARDS and content is not None:
            content = plain_cards(rules, content)
        shown[field.name] = content
    return shown
