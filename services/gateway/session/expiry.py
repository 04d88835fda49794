"""What every stream does about the end of its token: it outlives it by a grace, and asks meanwhile
whether the sign-in has been given a newer one, on whatever stream and gateway."""

from dataclasses import replace

from services.gateway.session.limits import EXPIRY_GRACE_S
from services.gateway.session.port import Exchange, Expiring


def token_over(stream: Expiring, exchange: Exchange, wall_s: float) -> bool:
    """Whether the grace is over, too. Within it a newer expiry is asked for."""
    if wall_s > stream.caller.expires_s + EXPIRY_GRACE_S:
        return True
    if wall_s > stream.caller.expires_s and not stream.expiry_asked:
        # Again and again: the refresh may be given elsewhere at any moment of the grace.
        stream.expiry_asked = True
        exchange.newer_expiry_wanted(stream)
    return False


def expiry_is(stream: Expiring, expires_s: float) -> None:
    """The newest expiry known of this stream's sign-in."""
    if expires_s > stream.caller.expires_s:
        stream.caller = replace(stream.caller, expires_s=expires_s)
    stream.expiry_asked = False
