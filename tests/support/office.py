"""What operators and owners do at the table that `support.play` plays at, rightly and wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine import commands
from engine.commands import Command

if TYPE_CHECKING:
    from support.play import Play

REASONS = ("a reason", "a reason", "a reason", "ü" * 120, "ü" * 121, "")


class Office:
    """Makes commands of people who do not play, or not as players."""

    def __init__(self, play: Play) -> None:
        self.play = play

    def command(self) -> Command:
        pick = self.play.random
        if pick.random() < 0.03:
            return commands.CloseTable(**self.common(), reason=self.reason(), operator="ann")
        acts = [
            self.freeze, self.unfreeze, self.void_round, self.adjust_score, self.announce,
            self.remove, self.rotate, self.watch, self.start,
        ]  # fmt: skip
        return pick.choice(acts)()

    def common(self, person: str = "") -> dict[str, Any]:
        return {
            "request": self.play.request(),
            "content": self.play.random.getrandbits(60),
            "person": person,
        }

    def reason(self) -> str:
        return self.play.random.choice(REASONS)

    def freeze(self) -> Command:
        return commands.Freeze(**self.common(), reason=self.reason(), operator="ann")

    def unfreeze(self) -> Command:
        return commands.Unfreeze(**self.common(), operator="ann")

    def void_round(self) -> Command:
        number = self.play.twin.round - self.play.random.choice([0, 0, 0, 1])
        return commands.VoidRound(
            **self.common(), round=number, reason=self.reason(), operator="ann"
        )

    def adjust_score(self) -> Command:
        pick = self.play.random
        return commands.AdjustScore(
            **self.common(),
            seat=pick.choice([-1, 9, *range(len(self.play.twin.chairs))]),
            delta=pick.choice([0, 10_001, -10_001, 1, 20, -20, -300, 480]),
            reason=self.reason(),
            operator="ann",
        )

    def announce(self) -> Command:
        words = self.play.random.choice([(), ("minutes", "5"), ("odd",), ("a", "b" * 65)])
        return commands.Announce(
            **self.common(), key="pause", parameters=words, text=self.reason(), operator="ann"
        )

    def remove(self) -> Command:
        pick = self.play.random
        operator = pick.choice(["", "ann"])
        person = "" if operator else pick.choice([self.play.twin.owner or "p", "stranger"])
        chairs = self.play.twin.chairs
        seat = pick.choice([9, *range(len(chairs))])
        sitting = chairs[seat].person if seat < len(chairs) else ""
        return commands.RemoveSeat(
            **self.common(person),
            seat=seat,
            reason=self.reason(),
            operator=operator,
            meant=pick.choice(["", "", sitting, sitting, "stranger"]),
        )

    def rotate(self) -> Command:
        """To the code that `play` goes on to use, or to one of a wrong length."""
        pick = self.play.random
        person = pick.choice([self.play.twin.owner, "stranger"])
        code = pick.choice([b"i" * 32, b"i" * 32, b"i"])
        return commands.RotateInvite(**self.common(person), invite_hash=code)

    def watch(self) -> Command:
        pick = self.play.random
        person = pick.choice(["stranger", "", self.play.twin.owner])
        code = pick.choice([b"", b"i" * 32])
        return commands.Watch(person, code, "gateway-1", self.play.bytes16())

    def start(self) -> Command:
        if self.play.random.random() < 0.5:
            return commands.StartDue()
        return commands.Start(**self.common(), operator="ann")
