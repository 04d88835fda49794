"""The token a bots process signs is one that the gateway takes."""

import secrets

import pytest

from services.bots.token import LIFE_S, NoTokenKey, mint, new_bot_id
from services.gateway.identity.tokens import SignedTokens, parse_keys
from services.gateway.session.roles import Role

KEYS = f"new:{secrets.token_hex(32)},old:{secrets.token_hex(32)}"


def test_the_gateway_knows_the_caller_as_a_bot() -> None:
    bot = new_bot_id()
    token, life_s = mint(KEYS, bot, "sid")
    caller = SignedTokens(parse_keys(KEYS)).caller(token)
    assert (caller.person, caller.sign_in, caller.role) == (bot, "sid", Role.BOT)
    assert life_s == LIFE_S


@pytest.mark.parametrize("keys", ["", "kid", "kid:", ":abcd", "kid:abcd", "kid:no hex"])
def test_without_a_key_it_says_which_setting_is_missing(keys: str) -> None:
    with pytest.raises(NoTokenKey, match="PIT_TOKEN_KEYS"):
        mint(keys, "b", "s")
