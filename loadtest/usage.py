"""What a person asked for and cannot have."""


class Unusable(Exception):
    """A wrong option: what is wrong, and what to give instead."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


class Unreachable(Exception):
    """The exchange does not answer, or not as an exchange of this version does; what to do, where
    it is known."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.remedy = remedy
