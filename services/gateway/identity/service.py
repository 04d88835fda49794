"""`IdentityService`: guests sign in, and stay signed in by refresh tokens.

What was lost on the way may be asked for again: a repeated sign-in finds the same person, and for
a short while a used refresh token still gives its one successor, which is derived from it.
"""

import json
import secrets
import time
from hashlib import sha256
from typing import Final

from google.protobuf.duration_pb2 import Duration
from pit.v1 import identity_pb2

from engine.value import value
from services.gateway.admission import Admission
from services.gateway.errors import Refusal, Refused
from services.gateway.identity.limits import REFRESH_S, REPEAT_S
from services.gateway.identity.store import PeopleStore
from services.gateway.identity.tokens import ACCESS_S, SignedTokens
from services.gateway.names import NameBook, checked_name
from services.gateway.operate.orders import Orders
from services.gateway.resource_names import REQUEST_ID_BYTES, person_id, person_name
from services.gateway.session.roles import Role
from services.log import keys

REFRESH_CHARACTERS_MAX: Final = 128


@value
class SignedIn:
    """What one device is given."""

    access_token: str
    refresh_token: str


class IdentityService:
    def __init__(
        self,
        tokens: SignedTokens,
        store: PeopleStore,
        names: NameBook,
        admission: Admission,
        orders: Orders,
    ) -> None:
        self._orders = orders
        self._tokens = tokens
        self._store = store
        self._names = names
        self._admission = admission

    async def sign_in_guest(
        self, request: identity_pb2.SignInGuestRequest, address: str
    ) -> identity_pb2.SignInGuestResponse:
        self._admission.stranger(address)
        name = checked_name(request.display_name, "display_name")
        if len(request.request_id) not in (0, REQUEST_ID_BYTES):
            raise Refused.field("request_id", f"empty, or {REQUEST_ID_BYTES} bytes")
        chance = request.request_id or secrets.token_bytes(REQUEST_ID_BYTES)
        key = keys.guest(sha256(chance + name.encode()).hexdigest())
        content = await self._store.noted(key)
        if content is None:
            self._admission.sign_in(address)
            new = json.dumps([person_id(secrets.token_bytes(16)), secrets.token_hex(16)])
            content = await self._store.note_first(key, new, REPEAT_S)
        person, sign_in = json.loads(content)
        await self._names.give(person, name)
        signed_in = await self.sign_in(person, sign_in, chance)
        return identity_pb2.SignInGuestResponse(
            person=person_name(person),
            access_token=signed_in.access_token,
            access_expires_in=Duration(seconds=ACCESS_S),
            refresh_token=signed_in.refresh_token,
        )

    async def sign_in(self, person: str, sign_in: str, chance: bytes) -> SignedIn:
        """A device begins to act for a person. `chance` is known to this device alone."""
        self._orders.check_person(person)
        token = await self._keep(self._tokens.first_refresh(sign_in, chance), person, sign_in)
        return SignedIn(self._tokens.access(person, sign_in, Role.PLAYER), token)

    async def refresh(
        self, request: identity_pb2.RefreshRequest, address: str
    ) -> identity_pb2.RefreshResponse:
        self._admission.stranger(address)
        token = request.refresh_token
        content = None
        if 1 <= len(token) <= REFRESH_CHARACTERS_MAX:
            content = await self._store.refresh_content(_digest(token))
        if content is None:
            raise Refused(Refusal.INVALID_REFRESH_TOKEN)
        person, sign_in, used = json.loads(content)
        self._orders.check_person(person)
        successor = await self._keep(self._tokens.refresh_after(token), person, sign_in)
        if not used:
            content = json.dumps([person, sign_in, True])
            await self._store.retire_refresh(_digest(token), content, REPEAT_S)
            await self._names.prolong(person)
        # Streams that cannot be told of the new token live on by this.
        await self._store.raise_expiry(sign_in, time.time() + ACCESS_S, REFRESH_S)
        return identity_pb2.RefreshResponse(
            access_token=self._tokens.access(person, sign_in, Role.PLAYER),
            access_expires_in=Duration(seconds=ACCESS_S),
            refresh_token=successor,
        )

    async def _keep(self, token: str, person: str, sign_in: str) -> str:
        content = json.dumps([person, sign_in, False])
        await self._store.keep_refresh(_digest(token), content, REFRESH_S)
        return token


def _digest(token: str) -> str:
    """What the store knows a token by."""
    return sha256(token.encode()).hexdigest()
