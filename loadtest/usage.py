"""What a person asked for and cannot have."""

from typing import Final


class Unusable(Exception):
    """A wrong option: what is wrong, and what to give instead."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


class Limited(Exception):
    """The exchange is there, and refuses what a run needs; what to do, where it is known."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"{reason}: {message}")
        self.remedy = _REMEDIES.get(reason, "")


_REMEDIES: Final = {
    "TABLE_LIMIT": "start its gateways with PIT_PROFILE=load; within the limits that it has for "
    "people give --sign-ins each, where each table has an owner of its own",
    "TOO_MANY_STREAMS": "start its gateways with PIT_PROFILE=load; within the limits that it has "
    "for people give --sign-ins each, where each seat is a person of its own",
    "RATE_LIMITED": "start its gateways with PIT_PROFILE=load; within the limits that it has for "
    "people give --sign-ins each, fewer --tables and a lower --rate",
    "MAINTENANCE": "wait until new tables are opened again",
}
"""By the reason of the exchange's errors table."""


class Unreachable(Exception):
    """The exchange does not answer, or not as an exchange of this version does; what to do, where
    it is known."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.remedy = remedy
