"""Delegation tokens over listeners with and without logins."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.security.access import read_principals
from odradek.broker.handlers.security.delegation_tokens import (
    ask_for_tokens_in_cluster,
)
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
    TokenPrincipal,
)
from odradek.protocol.schema import Request
from tests.fakes.access import entry
from tests.fakes.topics import TopicBroker, topic_broker

ALICE, BOB, CAROL, ANONYMOUS = (
    f"User:{name}" for name in ("alice", "bob", "carol", "ANONYMOUS")
)
REQUESTS: list[tuple[Request, int]] = [
    (CreateDelegationTokenRequest(), 3),
    (RenewDelegationTokenRequest(), 2),
    (ExpireDelegationTokenRequest(), 2),
    (DescribeDelegationTokenRequest(owners=None), 3),
]
IDS = ["create", "renew", "expire", "describe"]
NAMES = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
LISTENERS = tuple(Listener(name, "127.0.0.1", 0) for name in NAMES)
ON: dict[str, Any] = {"delegation_token_secret_key": "hush", "listeners": LISTENERS}
GUARDED = ON | {"authorizer_class_name": "acl", "super_users": read_principals(CAROL)}


def user(name: str, kind: str = "User") -> TokenPrincipal:
    return TokenPrincipal(principal_type=kind, principal_name=name)


async def ask(
    broker: TopicBroker, request: Request, version: int, who: str = ALICE, **more: Any
) -> Any:
    more.setdefault("listener_name", "SASL_SSL")
    try:
        return await broker.ask(request, version, who, **more)
    except KafkaError as error:  # which the dispatcher would answer
        return SimpleNamespace(error_code=error.code)


async def create(broker: TopicBroker, who: str = ALICE, **values: Any) -> Any:
    request = CreateDelegationTokenRequest(max_lifetime_ms=-1, **values)
    return await ask(broker, request, 3, who)


async def describe(
    broker: TopicBroker, who: str = ALICE, *owners: TokenPrincipal, is_all: bool = True
) -> list[str]:
    """The ids of the tokens that are shown."""
    wanted = None if is_all and not owners else list(owners)
    request = DescribeDelegationTokenRequest(owners=wanted)
    answer = await ask(broker, request, 3, who)
    assert answer.error_code == 0
    return [token.token_id for token in answer.tokens]


@pytest.mark.parametrize(("request_", "version"), REQUESTS, ids=IDS)
@pytest.mark.parametrize(
    ("listener", "who", "is_by_token"),
    [
        ("PLAINTEXT", ALICE, False),
        ("SSL", ANONYMOUS, False),
        ("SASL_SSL", ALICE, True),
        ("GONE", ALICE, False),
    ],
)
async def test_without_a_login_of_its_own_nobody_gets_one(
    tmp_path: Path,
    request_: Request,
    version: int,
    listener: str,
    who: str,
    is_by_token: bool,
) -> None:
    """S017"""
    more = {"listener_name": listener, "is_by_token": is_by_token}
    for options in (ON, {"listeners": LISTENERS}):
        async with topic_broker(tmp_path, **options) as broker:
            answer = await ask(broker, request_, version, who, **more)
            assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


@pytest.mark.parametrize(("request_", "version"), REQUESTS, ids=IDS)
@pytest.mark.parametrize("listener", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
async def test_they_are_off_without_a_secret(
    tmp_path: Path, request_: Request, version: int, listener: str
) -> None:
    """S017"""
    async with topic_broker(tmp_path, listeners=LISTENERS) as broker:
        answer = await ask(broker, request_, version, listener_name=listener)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_a_token_is_made_shown_renewed_and_removed(
    tmp_path: Path, version: int
) -> None:
    async with topic_broker(tmp_path, **ON) as broker:
        now_ms = broker.services.clock.now_ms()
        request = CreateDelegationTokenRequest(
            renewers=[user("bob")], max_lifetime_ms=1_000_000
        )
        made = await ask(broker, request, version)
        assert made.error_code == 0
        assert (made.principal_type, made.principal_name) == ("User", "alice")
        assert made.issue_timestamp_ms == now_ms
        assert made.max_timestamp_ms == made.expiry_timestamp_ms == now_ms + 1_000_000
        assert len(made.hmac) == 64
        describing = DescribeDelegationTokenRequest(owners=[user("alice")])
        (shown,) = (await ask(broker, describing, version)).tokens
        assert (shown.token_id, bytes(shown.hmac)) == (made.token_id, made.hmac)
        assert shown.expiry_timestamp == made.expiry_timestamp_ms
        assert [each.principal_name for each in shown.renewers] == ["bob"]
        older = min(version, 2)
        renewing = RenewDelegationTokenRequest(hmac=made.hmac, renew_period_ms=7)
        renewed = await ask(broker, renewing, older, BOB)
        assert (renewed.error_code, renewed.expiry_timestamp_ms) == (0, now_ms + 7)
        expiring = ExpireDelegationTokenRequest(
            hmac=made.hmac, expiry_time_period_ms=-1
        )
        expired = await ask(broker, expiring, older, BOB)
        assert (expired.error_code, expired.expiry_timestamp_ms) == (0, now_ms)
        gone = await ask(broker, expiring, older, BOB)
        assert gone.error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
        assert gone.expiry_timestamp_ms == -1


async def test_a_token_of_somebody_else_needs_a_right(tmp_path: Path) -> None:
    """S017"""
    async with topic_broker(tmp_path, **GUARDED) as broker:
        of_bob = {"owner_principal_type": "User", "owner_principal_name": "bob"}
        denied = await create(broker, **of_bob)
        assert denied.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        assert (denied.principal_name, denied.token_id) == ("bob", "")
        assert denied.token_requester_principal_name == "alice"
        assert denied.issue_timestamp_ms == -1
        mine = {"owner_principal_type": "User", "owner_principal_name": "alice"}
        assert (await create(broker, **mine)).error_code == 0
        authorizer = broker.services.authorizer
        assert authorizer is not None
        may = entry(Operation.CREATE_TOKENS, BOB, kind=ResourceType.USER)
        await authorizer.acls.add([may])
        made = await create(broker, **of_bob)
        assert made.error_code == 0
        assert (made.principal_name, made.token_requester_principal_name) == (
            "bob",
            "alice",
        )
        # Who has asked for it sees it, and cannot renew it.
        assert made.token_id in await describe(broker)
        renewing = RenewDelegationTokenRequest(hmac=made.hmac, renew_period_ms=7)
        refused = await ask(broker, renewing, 2)
        assert refused.error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


@pytest.mark.parametrize(
    "values",
    [
        {"renewers": [user("bob", "Group")]},
        {"renewers": [user("bob", "user")]},
        {"owner_principal_name": "bob", "owner_principal_type": None},
    ],
    ids=["group", "case", "owner"],
)
async def test_principals_are_users(tmp_path: Path, values: dict[str, Any]) -> None:
    async with topic_broker(tmp_path, **ON) as broker:
        answer = await create(broker, **values)
        assert answer.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
        assert not await describe(broker)


async def test_who_sees_which_tokens(tmp_path: Path) -> None:
    async with topic_broker(tmp_path, **GUARDED) as broker:
        alices = (await create(broker, renewers=[user("bob")])).token_id
        carols = (await create(broker, CAROL)).token_id
        assert await describe(broker) == [alices]
        assert await describe(broker, BOB) == [alices]
        assert await describe(broker, CAROL) == [alices, carols], "a super user"
        assert await describe(broker, CAROL, user("bob")) == [alices]
        assert await describe(broker, CAROL, user("eve"), user("carol")) == [carols]
        assert await describe(broker, CAROL, is_all=False) == []
        assert await describe(broker, ALICE, user("carol")) == []
        authorizer = broker.services.authorizer
        assert authorizer is not None
        for operation, kind, name in (
            (Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, carols),
            (Operation.DESCRIBE_TOKENS, ResourceType.USER, CAROL),
        ):
            may = entry(operation, name, kind=kind)
            await authorizer.acls.add([may])
            assert await describe(broker, ALICE) == [alices, carols]
            authorizer.acls._entries.clear()
            authorizer._renew()
            assert await describe(broker, ALICE) == [alices]


@pytest.mark.parametrize(("request_", "version"), REQUESTS[:3], ids=IDS[:3])
@pytest.mark.parametrize(
    ("listener", "who", "is_by_token", "is_sent_on"),
    [
        ("PLAINTEXT", ALICE, False, False),
        ("SSL", ANONYMOUS, False, False),
        ("SASL_SSL", ALICE, True, False),
        ("SASL_SSL", ALICE, False, True),
        ("SSL", ALICE, False, True),
    ],
)
async def test_the_controllers_are_asked_for_who_has_logged_in(
    tmp_path: Path,
    request_: Request,
    version: int,
    listener: str,
    who: str,
    is_by_token: bool,
    is_sent_on: bool,
) -> None:
    """They cannot see how a client has, and answer every envelope of a broker."""
    more = {"listener_name": listener, "is_by_token": is_by_token}

    async def send_on(_: Any, request: Any) -> bytes:
        assert request is asked
        return b"the controllers' answer"

    async with topic_broker(tmp_path, **ON) as broker:
        context = broker.context(request_.api_key, version, who, **more)
        asked: Any = request_
        answer: Any = await ask_for_tokens_in_cluster(context, asked, send_on)
        if is_sent_on:
            assert answer == b"the controllers' answer"
            return
        alone = await ask(broker, request_, version, who, **more)
        assert answer.encode(version) == alone.encode(version)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
