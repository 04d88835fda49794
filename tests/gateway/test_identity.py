"""Sign-ins: refresh tokens and expiries, over stores that answer late or not at all."""

import time
from dataclasses import replace

import pytest
from pit.v1 import identity_pb2

from services.gateway.admission import Admission
from services.gateway.errors import Refusal, Refused
from services.gateway.identity.limits import DAY_S, REPEAT_S, name_life_s
from services.gateway.identity.memory import MemoryPeopleStore
from services.gateway.identity.service import IdentityService
from services.gateway.identity.tokens import SignedTokens, parse_keys
from services.gateway.names import MARKS_MAX, NameBook, checked_name
from services.gateway.operate.orders import Orders
from services.gateway.resource_names import person_id
from services.gateway.session.limits import PUBLIC
from services.gateway.session.roles import Caller, Role
from services.log import keys
from services.log.port import Unavailable
from support.front import Front

NAME_LIFE_S = name_life_s(archive_days=30)


class Store(MemoryPeopleStore):
    """Fails once where it is told to, having done what it was asked or not."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.fails_after = ""
        super().__init__(lambda: self.now_s)

    async def keep_refresh(self, digest: str, content: str, for_s: int) -> None:
        await super().keep_refresh(digest, content, for_s)
        self._fail("keep")

    async def retire_refresh(self, digest: str, content: str, for_s: int) -> None:
        await super().retire_refresh(digest, content, for_s)
        self._fail("retire")

    def _fail(self, where: str) -> None:
        if self.fails_after == where:
            self.fails_after = ""
            raise Unavailable("the reply was lost")


def service(store: Store, names: NameBook | None = None) -> IdentityService:
    tokens = SignedTokens(parse_keys("k1:" + "ab" * 32))
    admission = Admission(PUBLIC, lambda: store.now_s)
    names = NameBook(store, NAME_LIFE_S) if names is None else names
    return IdentityService(tokens, store, names, admission, Orders())


async def guest(
    identity: IdentityService, address: str = "", request_id: bytes = b"", name: str = "Ann"
) -> identity_pb2.SignInGuestResponse:
    request = identity_pb2.SignInGuestRequest(display_name=name, request_id=request_id)
    return await identity.sign_in_guest(request, address)


async def refreshed(identity: IdentityService, token: str) -> str:
    answer = await identity.refresh(identity_pb2.RefreshRequest(refresh_token=token), "")
    return answer.refresh_token


@pytest.mark.parametrize("where", ["keep", "retire"])
async def test_a_refresh_whose_reply_was_lost_is_asked_for_again(where: str) -> None:
    store = Store()
    identity = service(store)
    signed_in = await guest(identity)
    store.fails_after = where
    with pytest.raises(Unavailable):
        await refreshed(identity, signed_in.refresh_token)
    second = await refreshed(identity, signed_in.refresh_token)
    assert await refreshed(identity, second) not in {second, signed_in.refresh_token}


async def test_a_used_token_gives_nothing_new_and_soon_nothing_at_all() -> None:
    store = Store()
    identity = service(store)
    signed_in = await guest(identity)
    second = await refreshed(identity, signed_in.refresh_token)
    third = await refreshed(identity, second)
    assert await refreshed(identity, signed_in.refresh_token) == second
    store.now_s += REPEAT_S - 1
    assert await refreshed(identity, second) == third
    store.now_s += 2
    for used in (signed_in.refresh_token, second):
        with pytest.raises(Refused, match="INVALID_REFRESH_TOKEN"):
            await refreshed(identity, used)
    await refreshed(identity, third)


async def test_the_newest_expiry_of_a_sign_in_counts_and_none_is_forgotten() -> None:
    async with Front() as front:
        [one] = await front.seated(await front.table(front.person(0)), 0)
        now_s = front.wall()

        class Asking:
            def __init__(self) -> None:
                self.caller = one.caller
                self.expiry_asked = True

        for later_s in (5_000, 9_000, 7_000):
            front.gateway.expiry_raised(replace(one.caller, expires_s=now_s + later_s))
        asking = [Asking(), Asking()]
        for each in asking:
            front.gateway.newer_expiry_wanted(each)
        await front.gateway.expiries.settle()
        assert [each.caller.expires_s for each in asking] == [now_s + 9_000] * 2
        assert not any(each.expiry_asked for each in asking)


async def test_new_people_of_one_address_come_at_a_rate() -> None:
    store = Store()
    identity = service(store)
    for _ in range(PUBLIC.sign_ins.burst):
        await guest(identity, "192.0.2.7")
    with pytest.raises(Refused, match="RATE_LIMITED") as refused:
        await guest(identity, "192.0.2.7")
    assert refused.value.parameters == {"scope": "new-people"}
    await guest(identity, "192.0.2.8")
    store.now_s += refused.value.retry_after_ms / 1000
    await guest(identity, "192.0.2.7")


async def test_a_sign_in_asked_for_again_finds_the_same_person() -> None:
    store = Store()
    identity = service(store)
    first, again = [await guest(identity, request_id=b"r" * 16) for _ in range(2)]
    assert (first.person, first.refresh_token) == (again.person, again.refresh_token)
    others = [
        await guest(identity, request_id=b"s" * 16),
        await guest(identity, request_id=b"r" * 16, name="Ben"),
        await guest(identity),
        await guest(identity),
    ]
    store.now_s += REPEAT_S
    others.append(await guest(identity, request_id=b"r" * 16))
    people = {first.person, *(each.person for each in others)}
    tokens = {first.refresh_token, *(each.refresh_token for each in others)}
    assert len(people) == len(tokens) == 6
    with pytest.raises(Refused, match="INVALID_FIELD"):
        await guest(identity, request_id=b"short")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Ngu\u0079\u0065\u0302\u0303n", "Nguy\u1ec5n"),
        ("\u05e9\u05c1\u05bc\u05b8lom", "\u05e9\u05b8\u05bc\u05c1lom"),
        ("\u0f66\u0f92\u0fb2\u0f74\u0f0b", "\u0f66\u0f92\u0fb2\u0f74\u0f0b"),
        ("\u0e17\u0e35\u0e48", "\u0e17\u0e35\u0e48"),
    ],
    ids=["Vietnamese", "pointed Hebrew", "Tibetan", "Thai"],
)
def test_a_name_is_kept_in_its_composed_form_whatever_it_is_written_in(
    given: str, kept: str
) -> None:
    assert checked_name(given, "display_name") == kept


def test_marks_stacked_on_a_letter_are_refused_with_the_rule() -> None:
    with pytest.raises(Refused) as refused:
        checked_name("Z" + "\u0351" * (MARKS_MAX + 1) + "algo", "display_name")
    assert refused.value.parameters["rule"] == "at most 3 accents or other marks on one letter"
    assert checked_name("Z" + "\u0351" * MARKS_MAX + "algo", "display_name")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("👨\u200d👩", "; U+200D (zero width joiner) is not one"),
        ("Ada\u202e", "; U+202E (right-to-left override) is not one"),
        ("A\x00da", "; U+0000 is not one"),
        ("Ada ", ", without U+0020 (space) at the beginning or the end"),
        ("\u3000Ada", ", without U+3000 (ideographic space) at the beginning or the end"),
        ("x" * 65, ", not 65"),
        ("\ufb2c" * 43, ", not 129"),  # three characters each, once composed
        ("", ""),
        ("\u0301", ""),
    ],
)
def test_a_name_that_cannot_be_is_told_why(name: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        checked_name(name, "display_name")
    assert refused.value.parameters["rule"] == "1 to 64 visible characters" + said


async def test_a_repeated_sign_in_does_not_bring_a_changed_name_back() -> None:
    store = Store()
    names = NameBook(store, NAME_LIFE_S)
    identity = service(store, names)
    rude = (await guest(identity, request_id=b"r" * 16, name="Rude")).person.partition("/")[2]
    await store.note(keys.person_name(rude), "Player 7", 60)
    await guest(identity, request_id=b"r" * 16, name="Rude")
    assert await store.names([rude]) == {rude: "Player 7"}
    assert names[rude] == "Player 7"


async def test_a_repeated_sign_in_costs_its_address_nothing() -> None:
    identity = service(Store())
    for _ in range(PUBLIC.sign_ins.burst + 1):
        await guest(identity, "192.0.2.7", request_id=b"r" * 16)
    for _ in range(PUBLIC.sign_ins.burst - 1):
        await guest(identity, "192.0.2.7")
    with pytest.raises(Refused, match="RATE_LIMITED"):
        await guest(identity, "192.0.2.7")


async def test_calls_without_a_token_come_at_their_addresses_rate() -> None:
    identity = service(Store())
    request = identity_pb2.RefreshRequest(refresh_token="x" * 43)
    for _ in range(PUBLIC.address.burst):
        with pytest.raises(Refused, match="INVALID_REFRESH_TOKEN"):
            await identity.refresh(request, "192.0.2.7")
    for address, reason in (
        ("192.0.2.7", "RATE_LIMITED"),
        ("192.0.2.8", "INVALID_REFRESH_TOKEN"),
    ):
        with pytest.raises(Refused, match=reason):
            await identity.refresh(request, address)
    with pytest.raises(Refused, match="RATE_LIMITED"):
        await guest(identity, "192.0.2.7")


async def test_what_was_asked_for_again_is_used_once_all_the_same() -> None:
    store = Store()
    identity = service(store)
    signed_in = await guest(identity, request_id=b"r" * 16)
    second = await refreshed(identity, signed_in.refresh_token)
    again = await guest(identity, request_id=b"r" * 16)
    assert await refreshed(identity, again.refresh_token) == second


async def test_a_name_lives_as_long_as_its_person_comes_and_its_games_are_kept() -> None:
    store = Store()
    identity = service(store)
    signed_in = await guest(identity)
    person = signed_in.person.removeprefix("people/")
    token = signed_in.refresh_token
    for _ in range(5):
        store.now_s += 29 * DAY_S
        token = await refreshed(identity, token)
    store.now_s += 60 * DAY_S
    assert await store.names([person]) == {person: "Ann"}
    store.now_s += 2 * DAY_S
    assert await store.names([person]) == {}


class Gate:
    """Lets nobody in any more once it is shut."""

    shut = False

    def admit(self, caller: Caller) -> None:
        if self.shut:
            raise Refused(Refusal.BANNED)


def test_a_token_that_was_good_is_refused_when_it_is_good_no_longer() -> None:
    """Its signature is verified once; whether it has expired, and who is banned, each time."""
    gate, past_s = Gate(), 0.0
    keys_held = parse_keys("k1:" + "ab" * 32)
    tokens = SignedTokens(keys_held, gate.admit, lambda: time.time() + past_s)
    token = tokens.access(person_id(bytes(13)), "sign-in", Role.PLAYER, for_s=60)
    good = tokens.caller(token)
    assert tokens.caller(token) == good
    head, body, signature = token.split(".")
    with pytest.raises(Refused, match="INVALID_TOKEN"):
        tokens.caller(f"{head}.{body}.{signature[::-1]}")
    gate.shut = True
    with pytest.raises(Refused, match="BANNED"):
        tokens.caller(token)
    gate.shut, past_s = False, 61.0
    with pytest.raises(Refused, match="TOKEN_EXPIRED"):
        tokens.caller(token)
