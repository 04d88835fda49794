"""Table scripts: text files in which a card player can read what happens at a table, and why.

    # Pairing: an arriving offer meets the oldest open offer of its size.
    rules:  classic
    hand 0: wheat 8, corn 1
    hand 1: wheat 1, rest
    hand 2: rest

    seat  command         what happens
    0     offer corn 1    0 offers 1
    1     offer wheat 1   1 swaps 1 with 0: wheat 1 for corn 1
    0     bell wheat      0 corners wheat (nine)
                          scores +100 0 0, totals +100 0 0
    -     wait 8 s        ...

`rest` fills a hand with what is left of the pack. Every deal of a script gives the same hands.
`play` runs a script and gives it back with what really happened in the third column: a script
is right when it comes back unchanged.
"""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine import commands, events
from engine.cards import BEAR, BULL, count, pack
from engine.commands import NOBODY, AbsentPolicy, Command, Purpose, Visibility
from engine.deal import suits_in_play
from engine.rules import PRESETS, Rules
from support.staged import Staged, cards, lane, person
from support.tellings import Teller

OPERATORS_VERBS = ("freeze:", "resume", "void:", "correct", "remove", "close:")
HEADINGS = ("seat", "command", "what happens")


@dataclass
class Row:
    actor: str
    command: str
    expected: list[str]


@dataclass
class Script:
    """One script, taken apart."""

    comments: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def text(self) -> str:
        """The script as a file, its columns lined up."""
        titles = [f"{key}:" for key in self.headers]
        key_width = max((len(title) for title in titles), default=0)
        lines = list(self.comments)
        lines += [f"{key + ':':<{key_width}} {value}" for key, value in self.headers.items()]
        lines.append("")
        width = max(len(row.command) for row in [*self.rows, Row("", HEADINGS[1], [])])
        lines.append(f"{HEADINGS[0]:<4}  {HEADINGS[1]:<{width}}  {HEADINGS[2]}")
        for row in self.rows:
            first, *others = row.expected or ["nothing"]
            lines.append(f"{row.actor:<4}  {row.command:<{width}}  {first}")
            lines += [f"{'':<4}  {'':<{width}}  {other}" for other in others]
        return "\n".join(lines) + "\n"


def read(path: Path) -> Script:
    """A script from its file."""
    script = Script()
    in_table = False
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            script.comments.append(line)
        elif line.startswith("seat "):
            in_table = True
        elif in_table and line.startswith("      "):
            script.rows[-1].expected.append(line.strip())
        elif in_table and line.strip():
            actor, command, *rest = re.split(r"\s{2,}", line.strip(), maxsplit=2)
            script.rows.append(Row(actor, command, rest))
        elif line.strip():
            key, _, value = line.partition(":")
            script.headers[key.strip()] = value.strip()
    return script


def play(script: Script) -> Script:
    """The same script with what really happens."""
    stage = Stage(script.headers)
    rows = [Row(row.actor, row.command, stage.act(row)) for row in script.rows]
    return Script(script.comments, script.headers, rows)


class Stage:
    """Sets the table a script asks for and gives its commands."""

    def __init__(self, headers: dict[str, str]) -> None:
        self.headers = headers
        self.rules = rules_of(headers)
        self.hands_text = [headers[key] for key in sorted(headers) if re.fullmatch(r"hand \d", key)]
        self.seats = int(headers.get("seats", len(self.hands_text) or self.rules.seats_min))
        self.table = Staged(
            self.rules,
            self.seats,
            seated=int(headers.get("people", self.seats)),
            absent_policy=AbsentPolicy[headers.get("absent", "bot").upper()],
            visibility=Visibility[headers.get("table", "public").upper()],
            bots=headers.get("bots", "on") == "on",
        )
        self.teller = Teller(self.rules)
        if self.hands_text:
            self.table.rigs = self.deals()
            self.table.first_dealer = self.dealer()
        begin = headers.get("begin", "open")
        if begin != "seating":
            for seat in range(self.seats):
                self.table.ready(seat, Purpose.START)
        if begin == "open":
            self.table.open_exchange()

    def deals(self) -> list[int]:
        """Hands as the headers tell, `rest` filled from what is left of the pack."""
        deck = dict.fromkeys(suits_in_play(self.rules, self.seats), 9)
        if self.rules.bull_and_bear:
            deck |= {BULL: 1, BEAR: 1}
        named = [cards(self.rules, text.replace("rest", "")) for text in self.hands_text]
        for hand in named:
            for where in deck:
                deck[where] -= count(hand, where)
        assert min(deck.values()) >= 0, "a card is dealt twice"
        left = [where for where, number in deck.items() for _ in range(number)]
        hands = []
        for seat, (hand, text) in enumerate(zip(named, self.hands_text, strict=True)):
            size = sum(count(hand, where) for where in deck)
            fill = (
                [left.pop() for _ in range(self.hand_size(seat) - size)] if "rest" in text else []
            )
            hands.append(hand + pack({where: fill.count(where) for where in set(fill)}))
        assert not left, "some cards are dealt to nobody"
        return hands

    def hand_size(self, seat: int) -> int:
        """Ten cards for the two left of the dealer where Bull and Bear are in play."""
        dealer = self.dealer()
        ten = self.rules.bull_and_bear and (seat - dealer) % self.seats in (1, 2)
        return 10 if ten else 9

    def dealer(self) -> int:
        return int(self.headers.get("dealer", self.seats - 1))

    def act(self, row: Row) -> list[str]:
        """Give one command; what happens, told line by line."""
        if row.command.startswith("wait"):
            return self.told(self.table.wait_until(self.table.now_ms + ms_of(row.command)), None)
        found, answer = self.table.do(self.command(row))
        return self.told(found, answer)

    def told(self, found: list[events.Event], answer: events.Note | None) -> list[str]:
        lines = [self.teller.tell(event) for event in found]
        if isinstance(answer, events.Answered | events.RequestAnswered) and answer.rejection:
            lines.append(self.teller.refusal(answer.rejection, answer.parameters))
        if isinstance(answer, events.AttachRefused):
            lines.append(self.teller.refusal(answer.rejection, ()))
        return lines

    def command(self, row: Row) -> Command:
        """The command in the second column."""
        verb, _, rest = row.command.partition(" ")
        if row.actor.isdigit():
            return self.seat_command(int(row.actor), verb, rest)
        request = {"request": self.table.request(), "content": 0, "person": row.actor}
        if verb == "join":
            seat = int(rest) if rest else NOBODY
            return commands.Join(**request, seat=seat, invite_hash=b"")
        if verb in OPERATORS_VERBS:
            return self.operators_command(verb, rest, request | {"person": ""}, row.actor)
        return {"leave": commands.Leave, "start": commands.Start}[verb](**request)

    def operators_command(
        self, verb: str, rest: str, request: dict[str, Any], operator: str
    ) -> Command:
        """`freeze: reason`, `resume`, `void: reason`, `correct 1 by -20: reason`, ..."""
        what, _, reason = rest.partition(": ")
        by: dict[str, Any] = {**request, "operator": operator}
        match verb.rstrip(":"):
            case "resume":
                return commands.Unfreeze(**by)
            case "void":
                number = self.table.table.round
                return commands.VoidRound(**by, round=number, reason=rest)
            case "correct":
                seat, delta = what.split(" by ")
                return commands.AdjustScore(**by, seat=int(seat), delta=int(delta), reason=reason)
            case "remove":
                return commands.RemoveSeat(**by, seat=int(what), reason=reason)
            case "close":
                return commands.CloseTable(**by, reason=rest)
        return commands.Freeze(**by, reason=rest)

    def seat_command(self, seat: int, verb: str, rest: str) -> Command:
        if verb == "attach":
            return self.table.attaching(seat, bot=rest == "as bot")
        if verb == "leave":
            return commands.Leave(self.table.request(), 0, person(seat))
        if verb == "vanish":
            return commands.Detach(seat, self.table.attach_number(seat))
        changed: dict[str, int] = {}
        rest, changed["round"] = taken_out(rest, r" ?\(round (\d+)\)", self.table.table.round)
        rest, behind = taken_out(rest, r" ?\((\d+) events? behind\)", 0)
        changed["seen_seq"] = self.table.table.seq - behind
        common = self.table.common(seat, **changed)
        if verb == "offer":
            return self.offer(common, rest)
        if verb == "bell":
            return commands.RingBell(**common, commodity=lane(self.rules, rest))
        if verb == "ready":
            nonce = b"" if rest == "open" else b"n" * 16
            return commands.Ready(**common, purpose=Purpose[rest.upper()], nonce=nonce)
        if verb == "call":
            return commands.Call(**common, phrase=int(rest))
        assert verb == "withdraw", verb
        return commands.Withdraw(**common)

    def offer(self, common: dict[str, int], text: str) -> Command:
        """`wheat 2, Bull to 1 for 5 s` or `wheat 2 at once`."""
        text, limit_s = taken_out(text, r" for (\d+) s", 0)
        text, directed_at = taken_out(text, r" to (\d+)", NOBODY)
        immediate = text.endswith(" at once")
        return commands.Offer(
            **common,
            lot=cards(self.rules, text.removesuffix(" at once")),
            directed_at=directed_at,
            immediate=immediate,
            limit_ms=limit_s * 1_000,
        )


def taken_out(text: str, pattern: str, default: int) -> tuple[str, int]:
    """The text without what matches, and the number that stood in it."""
    found = re.search(pattern, text)
    if found is None:
        return text, default
    return text[: found.start()] + text[found.end() :], int(found[1])


def ms_of(command: str) -> int:
    """`wait 2.5 s` -> 2500"""
    number, unit = command.split()[1:]
    return round(float(number) * {"ms": 1, "s": 1_000, "min": 60_000}[unit])


def rules_of(headers: dict[str, str]) -> Rules:
    """A preset, and switches that differ from it: `rules: blitz, target 100, mixed_lots yes`."""
    name, *switches = [part.strip() for part in headers["rules"].split(",")]
    rules = PRESETS[name]
    for switch in switches:
        key, value = switch.split()
        rules = replace(rules, **{key: {"yes": True, "no": False}.get(value, value)})  # type: ignore[arg-type]
        if value.lstrip("-").isdigit():
            rules = replace(rules, **{key: int(value)})  # type: ignore[arg-type]
    return rules
