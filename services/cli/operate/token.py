"""`pit token operator`: a short-lived token with a person's name in it."""

import json
import sys
from pathlib import Path

from services.cli.common import load_settings, settings_failure
from services.cli.failures import Exit, Failure
from services.cli.operate.inside import seconds, shown_time

SECOND_MIN = 60
"""A token that ends while it is being typed is of no use."""


def demo_keys(data: Path) -> str:
    """The keys of a demo that works there; empty where none did."""
    from services.cli.demo.secrets import FILE

    try:
        keys: str = json.loads((data / FILE).read_text(encoding="utf-8"))["PIT_TOKEN_KEYS"]
    except (OSError, ValueError, KeyError):
        return ""
    return keys


def operator_token(name: str, life: str) -> None:
    """Print the token alone, so that it can be put into a variable."""
    import time

    from services.gateway.errors import Refused
    from services.gateway.identity.tokens import OPERATOR_S_MAX, BadKeys, SignedTokens, parse_keys
    from services.gateway.names import checked_name

    life_s = seconds(life, "--for")
    if not SECOND_MIN <= life_s <= OPERATOR_S_MAX:
        raise Failure(
            Exit.USAGE,
            f"a token for {life} is not made",
            f"operators' tokens last 1m to {OPERATOR_S_MAX // 3600}h: nobody can take them back",
            "give --for 8h, and make another one tomorrow",
        )
    try:
        checked_name(name, "--name")
    except Refused as refused:
        raise Failure(
            Exit.USAGE, refused.message, "the audit shows it with every act", "give --name 'Ann B.'"
        ) from None
    settings = load_settings()
    given = settings.token_keys.get_secret_value() or demo_keys(settings.data)
    try:
        keys = parse_keys(given)
    except BadKeys as bad:
        raise settings_failure(
            f"{bad}; take the gateways' own, or a demo's by PIT_DATA (it is {settings.data})"
        ) from None
    print(SignedTokens(keys).operator(name, life_s))
    until = shown_time(time.time() + life_s)
    print(f"for {name}, until {until}; set it as PIT_OPERATOR_TOKEN", file=sys.stderr)
