"""Signed tokens: who a caller is, and which seat is whose.

JWT, HS256 only. `PIT_TOKEN_KEYS` holds the live keys by `kid`, newest first: the first signs, all
verify, so that keys are rotated without signing anybody out.
"""

import hmac
import secrets
import time
from base64 import b32encode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final, Generic, TypeVar

import jwt

from services.gateway.errors import Refusal, Refused
from services.gateway.identity.attachments import Attachment, read_attachment, sign_attachment
from services.gateway.resource_names import is_person, operator_id
from services.gateway.session.roles import Caller, Role, SeatClaim

ALGORITHM: Final = "HS256"
ACCESS_AUDIENCE: Final = "pit"
SEAT_AUDIENCE: Final = "pit-seat"
ACCESS_S: Final = 15 * 60
OPERATOR_S_MAX: Final = 24 * 3600
"""An operator's token is not refreshed; one that got lost is worth nothing tomorrow."""
SEAT_S: Final = 7 * 24 * 3600
"""Longer than any game; the seat itself is checked against the table."""
KEY_BYTES_MIN: Final = 32
KID_CHARACTERS_MAX: Final = 32
"""A name, which stands in every token and attachment."""
TOKEN_CHARACTERS_MAX: Final = 2_048
SIGN_IN_CHARACTERS_MAX: Final = 64
INVITE_CHARACTERS_MAX: Final = 64
INVITE_RULE: Final = "this is no invite code; copy it whole, as the table's owner was shown it"
"""A code has 43."""
KNOWN_MAX: Final = 8_192
"""Tokens of a kind that are known to hold, at most 2 KiB each and usually a quarter: a client shows
its access token with every call, and to verify it takes longer than many a call."""


Said = TypeVar("Said")


class BadKeys(ValueError):
    """`PIT_TOKEN_KEYS` is not usable; the text says why."""


def parse_keys(text: str) -> dict[str, bytes]:
    """Keys by `kid`, in order. Raises `BadKeys`."""
    keys: dict[str, bytes] = {}
    for part in filter(None, text.split(",")):
        kid, colon, digits = part.strip().partition(":")
        try:
            key = bytes.fromhex(digits)
        except ValueError:
            key = b""
        named = kid.isalnum() and kid.isascii() and len(kid) <= KID_CHARACTERS_MAX
        if not colon or not named or len(key) < KEY_BYTES_MIN or kid in keys:
            raise BadKeys(
                f"PIT_TOKEN_KEYS must be kid:hex,kid:hex with at least {KEY_BYTES_MIN} bytes a key"
                f" and at most {KID_CHARACTERS_MAX} ASCII letters and digits a kid"
            )
        keys[kid] = key
    if not keys:
        raise BadKeys("PIT_TOKEN_KEYS is empty: set kid:hex with 32 random bytes")
    return keys


def invite_digest(code: str) -> bytes:
    """What a table knows its invite code by."""
    return sha256(code.encode()).digest()


def _invite_code(key: bytes, table: str, request: bytes) -> str:
    digest = hmac.digest(key, b"invite " + table.encode() + request, sha256)
    return f"{table}-{b32encode(digest).decode().lower()[:20]}"


class _Known(Generic[Said]):
    """What tokens say that we have signed or verified; of too many the oldest are forgotten."""

    def __init__(self) -> None:
        self._held: dict[str, Said] = {}

    def keep(self, token: str, said: Said) -> None:
        if len(self._held) >= KNOWN_MAX:
            del self._held[next(iter(self._held))]
        self._held[token] = said

    def get(self, token: str) -> Said | None:
        """`None` where its signature is yet to be verified."""
        return self._held.get(token)


class SignedTokens:
    """Signs and verifies. Nothing is taken from a token before its signature holds."""

    def __init__(
        self,
        keys: dict[str, bytes],
        admit: Callable[[Caller], None] | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`admit` raises `Refused` for a caller who is not to be let in, whatever the token."""
        self._admit = admit
        self._wall = wall
        self._keys = keys
        self._signer = next(iter(keys))
        self._callers: _Known[Caller] = _Known()
        self._claims: _Known[tuple[SeatClaim, float]] = _Known()
        """With when the token expires."""

    def access(self, person: str, sign_in: str, role: Role, *, for_s: int = ACCESS_S) -> str:
        claims = {"sub": person, "sid": sign_in, "role": role.value}
        return self._sign(claims, ACCESS_AUDIENCE, for_s)

    def operator(self, name: str, for_s: int) -> str:
        """A token for the internal port, with the name of the person who acts."""
        claims = {
            "sub": operator_id(name),
            "sid": secrets.token_hex(16),
            "role": Role.OPERATOR.value,
            "name": name,
        }
        return self._sign(claims, ACCESS_AUDIENCE, for_s)

    def seat(self, claim: SeatClaim) -> str:
        claims = {"sub": claim.person, "tbl": claim.table, "seat": claim.seat, "bot": claim.bot}
        token = self._sign(claims, SEAT_AUDIENCE, SEAT_S)
        self._claims.keep(token, (claim, self._wall() + SEAT_S - 1))  # it is soon shown to us
        return token

    def caller(self, access_token: str) -> Caller:
        """Raises `Refused`."""
        caller = self._callers.get(access_token)
        if caller is None:
            caller = self._caller_of(access_token)
            self._callers.keep(access_token, caller)
        if caller.expires_s <= self._wall():
            raise Refused(Refusal.TOKEN_EXPIRED)
        if self._admit is not None:
            self._admit(caller)
        return caller

    def _caller_of(self, access_token: str) -> Caller:
        claims = self._verify(
            access_token, ACCESS_AUDIENCE, ("exp", "aud", "sub", "sid", "role"), None
        )
        person, sign_in, role = claims["sub"], claims["sid"], claims["role"]
        if (
            not is_person(person)
            or not isinstance(sign_in, str)
            or not 1 <= len(sign_in) <= SIGN_IN_CHARACTERS_MAX
            or not isinstance(role, str)
            or role not in set(Role)
        ):
            raise Refused(Refusal.INVALID_TOKEN)
        name = claims.get("name", "")
        if role == Role.OPERATOR and (not isinstance(name, str) or person != operator_id(name)):
            raise Refused(Refusal.INVALID_TOKEN)
        return Caller(person, sign_in, Role(role), float(claims["exp"]), name=name)

    def seat_claim(self, seat_token: str) -> SeatClaim:
        """Raises `Refused`."""
        claim, expires_s = self._claims.get(seat_token) or (None, 0.0)
        if claim is not None and expires_s > self._wall():
            return claim
        return self._claim_of(seat_token)

    def _claim_of(self, seat_token: str) -> SeatClaim:
        wrong = Refusal.INVALID_SEAT_TOKEN
        needed = ("exp", "aud", "sub", "tbl", "seat", "bot")
        claims = self._verify(seat_token, SEAT_AUDIENCE, needed, wrong)
        person, table, seat, bot = (claims[name] for name in ("sub", "tbl", "seat", "bot"))
        if not (
            isinstance(person, str)
            and isinstance(table, str)
            and type(seat) is int
            and type(bot) is bool
        ):
            raise Refused(wrong)
        return SeatClaim(person, table, seat, bot)

    def attachment(self, table: str, person: str, held: Attachment) -> bytes:
        """What a stream gives back in Act."""
        return sign_attachment(self._keys, self._signer, table, person, held)

    def attachment_held(self, data: bytes, table: str, person: str) -> Attachment:
        """Raises `Refused`."""
        held = read_attachment(self._keys, data, table, person)
        if held is None:
            raise Refused(Refusal.INVALID_ATTACHMENT)
        return held

    def invite_code(self, table: str, request: bytes = b"") -> str:
        """Of a private table, made by the request with this id; without one, by its CreateTable.

        Derived, so that a repeated request shows the same code; no two requests share one.
        """
        return _invite_code(self._keys[self._signer], table, request)

    def invite_code_again(self, table: str, request: bytes, invite_hash: bytes) -> str:
        """The same code, if the table still has it: made with any of the live keys. Else empty."""
        for key in self._keys.values():
            code = _invite_code(key, table, request)
            if invite_digest(code) == invite_hash:
                return code
        return ""

    def first_refresh(self, sign_in: str, chance: bytes) -> str:
        """Of a new sign-in: the same for a repeat with the same chance, its client's secret."""
        return self._derived(b"first " + sign_in.encode() + chance)

    def refresh_after(self, token: str) -> str:
        """The one successor of a refresh token: the same, however often it is asked for."""
        return self._derived(b"refresh " + token.encode())

    def _derived(self, text: bytes) -> str:
        digest = hmac.digest(self._keys[self._signer], text, sha256)
        return urlsafe_b64encode(digest).decode().rstrip("=")

    def _sign(self, claims: dict[str, Any], audience: str, for_s: int) -> str:
        now_s = int(time.time())
        return jwt.encode(
            claims | {"aud": audience, "iat": now_s, "exp": now_s + for_s},
            self._keys[self._signer],
            algorithm=ALGORITHM,
            headers={"kid": self._signer},
        )

    def _verify(
        self, token: str, audience: str, needed: tuple[str, ...], wrong: Refusal | None
    ) -> dict[str, Any]:
        """`wrong`: the one refusal for every fault; `None`: an expired token is told apart."""
        try:
            if len(token) > TOKEN_CHARACTERS_MAX:
                raise jwt.InvalidTokenError
            key = self._keys.get(jwt.get_unverified_header(token).get("kid", ""))
            if key is None:
                raise jwt.InvalidKeyError
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                audience=audience,
                options={"require": list(needed)},
            )
        except jwt.ExpiredSignatureError:
            raise Refused(wrong or Refusal.TOKEN_EXPIRED) from None
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            raise Refused(wrong or Refusal.INVALID_TOKEN) from None
        return claims
