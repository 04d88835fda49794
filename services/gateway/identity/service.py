"""`IdentityService`: guests sign in, and stay signed in by refresh tokens used once each.

A refresh whose reply was lost may be asked for again: for a short while the used token still
gives its one successor, which is derived from it.
"""

import json
import secrets
import time
from hashlib import sha256
from typing import Final

from google.protobuf.duration_pb2 import Duration
from pit.v1 import identity_pb2

from services.gateway.admission import Admission
from services.gateway.errors import Refusal, Refused
from services.gateway.identity.store import PeopleStore
from services.gateway.identity.tokens import ACCESS_S, SignedTokens
from services.gateway.names import NameBook, checked_name
from services.gateway.resource_names import person_id, person_name
from services.gateway.session.roles import Role

REFRESH_S: Final = 30 * 24 * 3600
REFRESH_CHARACTERS_MAX: Final = 128
REPEAT_S: Final = 60
"""How long a used refresh token gives its successor again: longer than a client keeps trying."""


class IdentityService:
    def __init__(
        self,
        tokens: SignedTokens,
        store: PeopleStore,
        names: NameBook,
        admission: Admission,
    ) -> None:
        self._admission = admission
        self._tokens = tokens
        self._store = store
        self._names = names

    async def sign_in_guest(
        self, request: identity_pb2.SignInGuestRequest, address: str
    ) -> identity_pb2.SignInGuestResponse:
        self._admission.sign_in(address)
        name = checked_name(request.display_name, "display_name")
        person = person_id(secrets.token_bytes(16))
        await self._names.give(person, name)
        sign_in = secrets.token_hex(16)
        return identity_pb2.SignInGuestResponse(
            person=person_name(person),
            access_token=self._tokens.access(person, sign_in, Role.PLAYER),
            access_expires_in=Duration(seconds=ACCESS_S),
            refresh_token=await self._keep(secrets.token_urlsafe(32), person, sign_in),
        )

    async def refresh(
        self, request: identity_pb2.RefreshRequest, address: str
    ) -> identity_pb2.RefreshResponse:
        token = request.refresh_token
        content = None
        if 1 <= len(token) <= REFRESH_CHARACTERS_MAX:
            content = await self._store.refresh_content(_digest(token))
        if content is None:
            raise Refused(Refusal.INVALID_REFRESH_TOKEN)
        person, sign_in, used = json.loads(content)
        successor = await self._keep(self._tokens.refresh_after(token), person, sign_in)
        if not used:
            content = json.dumps([person, sign_in, True])
            await self._store.retire_refresh(_digest(token), content, REPEAT_S)
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
