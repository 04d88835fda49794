"""The access token of a bots process, signed with the exchange's own key."""

import secrets
import time
from typing import Final

import jwt

LIFE_S: Final = 900
"""No access token lives longer."""
KEY_BYTES_MIN: Final = 32
"""Gateways take no shorter key."""
_BASE32: Final = "abcdefghijklmnopqrstuvwxyz234567"


class NoTokenKey(ValueError):
    """`PIT_TOKEN_KEYS` holds no key to sign with."""


def new_bot_id() -> str:
    """An id for `sub`: `b` and 20 characters."""
    return "b" + "".join(secrets.choice(_BASE32) for _ in range(20))


def mint(token_keys: str, bot: str, session: str) -> tuple[str, float]:
    """A token with the role bot, and its life in seconds."""
    key_id, _, digits = token_keys.split(",", maxsplit=1)[0].strip().partition(":")
    try:
        secret = bytes.fromhex(digits)
    except ValueError:
        secret = b""
    if not key_id or len(secret) < KEY_BYTES_MIN:
        raise NoTokenKey(
            f"PIT_TOKEN_KEYS must hold kid:hex, at least {KEY_BYTES_MIN} bytes: bots sign their "
            "own token with it"
        )
    now = int(time.time())
    claims = {
        "aud": "pit",
        "sub": bot,
        "sid": session,
        "role": "bot",
        "iat": now,
        "exp": now + LIFE_S,
    }
    token = jwt.encode(claims, secret, algorithm="HS256", headers={"kid": key_id})
    return token, float(LIFE_S)
