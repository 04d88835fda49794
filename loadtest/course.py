"""Where a worker is in its run: asked by all its seats with every message."""


class Course:
    """Times are monotonic seconds; what has not come yet is infinitely far."""

    __slots__ = ("begins_at", "ends_at", "look_at")

    def __init__(self) -> None:
        self.begins_at = float("inf")
        """What is intended from here on is measured,"""
        self.ends_at = float("inf")
        """up to here."""
        self.look_at = float("inf")
        """When the plan is to be looked at again."""

    def measured(self, at: float) -> bool:
        """Whether something intended at this time counts."""
        return self.begins_at <= at < self.ends_at
