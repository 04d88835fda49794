"""Codes that move a seat to a person's second device.

The code is typed, or shown and scanned, so it is short and lives shortly. Whoever has it signs in
as the person who made it: a seat belongs to a person, so the second device must become that person.
The seat moves when the second device attaches; the first one is then superseded.
"""

import json
import re
import secrets
from base64 import b32encode
from hashlib import sha256
from typing import Final

from google.protobuf.duration_pb2 import Duration
from pit.v1 import lobby_pb2

from services.gateway.admission import Admission
from services.gateway.errors import Refusal, Refused
from services.gateway.identity.limits import REPEAT_S, TRANSFER_CODE_S
from services.gateway.identity.service import IdentityService
from services.gateway.identity.store import PeopleStore
from services.gateway.identity.tokens import ACCESS_S, SignedTokens
from services.gateway.resource_names import REQUEST_ID_BYTES, person_name, table_name
from services.gateway.session.roles import Caller, Role, SeatClaim
from services.log import keys

CODE_CHARACTERS: Final = 12
"""60 bits. With as many guesses as an address may make, no code is hit in its two minutes."""
GROUP_CHARACTERS: Final = 4
TYPED_CHARACTERS_MAX: Final = 32
_CODE: Final = re.compile(f"[a-z2-7]{{{CODE_CHARACTERS}}}")


class TransferCodes:
    def __init__(
        self,
        identity: IdentityService,
        tokens: SignedTokens,
        store: PeopleStore,
        admission: Admission,
    ) -> None:
        self._identity = identity
        self._tokens = tokens
        self._store = store
        self._admission = admission

    async def create(self, claim: SeatClaim) -> str:
        """A new code for this seat. Earlier ones go on until they expire."""
        code = b32encode(secrets.token_bytes(10)).decode().lower()[:CODE_CHARACTERS]
        content = json.dumps([claim.person, claim.table, claim.seat])
        await self._store.note(keys.transfer_code(_digest(code)), content, TRANSFER_CODE_S)
        starts = range(0, CODE_CHARACTERS, GROUP_CHARACTERS)
        return "-".join(code[start : start + GROUP_CHARACTERS] for start in starts)

    async def redeem(
        self, request: lobby_pb2.RedeemTransferCodeRequest, address: str
    ) -> lobby_pb2.RedeemTransferCodeResponse:
        """Sign a device in as the person who made the code. Raises `Refused`."""
        typed = request.code if len(request.code) <= TYPED_CHARACTERS_MAX else ""
        code = typed.lower().replace("-", "").replace(" ", "")
        if not _CODE.fullmatch(code):
            raise Refused.field("code", f"{CODE_CHARACTERS} letters and digits, as it was shown")
        if len(request.request_id) != REQUEST_ID_BYTES:
            raise Refused.field("request_id", f"{REQUEST_ID_BYTES} bytes")
        self._admission.stranger(address)
        nobody = Caller("", "", Role.PLAYER, 0.0, address)
        self._admission.invite(nobody)
        try:
            person, table, seat, sign_in = await self._use(code, request.request_id)
        except Refused:
            self._admission.wrong_invite(nobody)
            raise
        self._admission.sign_in(address)  # or codes would be a way to ever new sign-ins
        signed_in = await self._identity.sign_in(person, sign_in, request.request_id)
        return lobby_pb2.RedeemTransferCodeResponse(
            table=table_name(table),
            seat=seat,
            seat_token=self._tokens.seat(SeatClaim(person, table, seat, bot=False)),
            person=person_name(person),
            access_token=signed_in.access_token,
            access_expires_in=Duration(seconds=ACCESS_S),
            refresh_token=signed_in.refresh_token,
        )

    async def _use(self, code: str, request_id: bytes) -> tuple[str, str, int, str]:
        """Person, table, seat and sign-in: for the first request only, and for its repeats."""
        content = await self._store.noted(keys.transfer_code(_digest(code)))
        if content is None:
            raise Refused(Refusal.INVALID_TRANSFER_CODE)
        request = sha256(request_id).hexdigest()
        use = json.dumps([request, secrets.token_hex(16)])
        first = await self._store.note_first(
            keys.transfer_use(_digest(code)), use, TRANSFER_CODE_S + REPEAT_S
        )
        by, sign_in = json.loads(first)
        if by != request:
            raise Refused(Refusal.INVALID_TRANSFER_CODE)
        person, table, seat = json.loads(content)
        return person, table, seat, sign_in


def _digest(code: str) -> str:
    """What the store knows a code by."""
    return sha256(code.encode()).hexdigest()
