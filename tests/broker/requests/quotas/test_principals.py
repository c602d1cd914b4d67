"""S025: a quota is of who has logged in, on whichever connections, by whichever name.

Clients log in, and time passes when the test says so. What they produce to is not
there, which costs as much.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.metadata.client_quotas import QuotaEntity
from odradek.broker.network.reading_gate import MUTED
from odradek.broker.node.reconfiguration import follow_quotas
from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.broker.security.login.test_token_logins import OPTIONS, log_in, tokens_of
from tests.fakes.files import FakeFiles
from tests.fakes.login import LoginBroker, LoginClient, login_broker
from tests.fakes.replicas import replicas

RATE = 1_000  # bytes a second
SIZE = 100_000
ALICE_A, ALICE_B, BOB_A = ("alice", "a"), ("alice", "b"), ("bob", "a")


@asynccontextmanager
async def metered_broker(directory: Path, **options: Any) -> AsyncIterator[LoginBroker]:
    """Alice and bob log in, and what they do is measured when there is a quota."""
    folder = directory / "logs"
    folder.mkdir()
    async with (
        login_broker(directory, **options) as broker,
        replicas(folder, FakeFiles()) as logs,
    ):
        await broker.add_user("bob", "secret")
        broker.services.replica_manager = logs.manager
        follow_quotas(broker.services, broker.listener.network)
        yield broker
        assert not broker.services.bugs.count


async def limit(
    broker: LoginBroker, names: Mapping[str, str | None], rate: float = RATE
) -> None:
    resource = QuotaEntity.of(names).resource
    quotas = {"producer_byte_rate": str(rate)}
    await broker.services.resources.alter(resource, lambda _: quotas)


async def client_of(broker: LoginBroker, user: str) -> LoginClient:
    client = broker.connect()
    answer = await client.log_in(user, "secret", "SCRAM-SHA-256")
    assert answer.error_code == 0
    return client


async def produce(client: LoginClient, client_id: str, size: int = 10) -> int:
    """How long this client has to be quiet after it."""
    data = PartitionProduceData(index=0, records=bytes(size))
    topic = TopicProduceData(name="nowhere", partition_data=[data])
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
    client.transport.feed(bytes(encode_request(request, 9, 1, client_id)))
    frame = await client.frame()
    assert frame is not None
    answer = decode_response(memoryview(frame), ProduceResponse, 9)[1]
    assert client.connection.gate.is_shut_for(MUTED) is bool(answer.throttle_time_ms)
    return answer.throttle_time_ms


# Of whom the quota is, and who has used it up when alice has, as client "a".
SHARED: list[tuple[dict[str, str | None], set[tuple[str, str]]]] = [
    ({"user": "alice"}, {ALICE_A, ALICE_B}),
    ({"user": "alice", "client-id": "a"}, {ALICE_A}),
    ({"user": "alice", "client-id": None}, {ALICE_A}),
    ({"user": None}, {ALICE_A, ALICE_B}),
    ({"user": None, "client-id": "a"}, {ALICE_A}),
    ({"user": None, "client-id": None}, {ALICE_A}),
    ({"client-id": "a"}, {ALICE_A, BOB_A}),
    ({"client-id": None}, {ALICE_A, BOB_A}),
    ({"user": "bob"}, set()),
    ({"user": "bob", "client-id": "a"}, set()),
    ({"user": "ANONYMOUS"}, set()),
    ({"user": "User:alice"}, set()),
]


@pytest.mark.parametrize(
    ("names", "sharers"), SHARED, ids=[str(names) for names, _ in SHARED]
)
async def test_who_shares_a_quota(
    tmp_path: Path, names: dict[str, str | None], sharers: set[tuple[str, str]]
) -> None:
    """S025"""
    async with metered_broker(tmp_path) as broker:
        await limit(broker, names)
        first = await client_of(broker, "alice")
        assert bool(await produce(first, "a", SIZE)) is (ALICE_A in sharers)
        for user, client_id in (ALICE_A, ALICE_B, BOB_A):
            client = await client_of(broker, user)
            waits = await produce(client, client_id) > 0
            assert waits is ((user, client_id) in sharers), (user, client_id)


async def test_the_quota_of_a_user_goes_before_that_of_a_client(tmp_path: Path) -> None:
    """S025: and that of both goes before either."""
    async with metered_broker(tmp_path) as broker:
        await limit(broker, {"client-id": "a"})
        await limit(broker, {"user": "alice"}, 1e9)
        assert not await produce(await client_of(broker, "alice"), "a", SIZE)
        assert await produce(await client_of(broker, "bob"), "a", SIZE)
        await limit(broker, {"user": "alice", "client-id": "a"})
        assert await produce(await client_of(broker, "alice"), "a", SIZE)
        assert not await produce(await client_of(broker, "alice"), "b", SIZE)


async def test_time_and_nothing_else_gives_it_back(tmp_path: Path) -> None:
    """S025: neither another connection, nor another login on the same one."""
    async with metered_broker(tmp_path, connections_max_reauth_ms=600_000) as broker:
        await limit(broker, {"user": "alice"})
        first, second = [await client_of(broker, "alice") for _ in range(2)]
        wait_ms = await produce(first, "a", SIZE)
        assert wait_ms > 60_000
        answer = await second.log_in("alice", "secret", "SCRAM-SHA-256")
        assert answer.error_code == 0
        assert await produce(second, "b")
        broker.clock.advance(wait_ms - 1)
        assert first.connection.gate.is_shut_for(MUTED)
        broker.clock.advance(1)
        assert not first.connection.gate.is_shut_for(MUTED)
        broker.clock.advance(60_000)  # what the second has added is over, too
        assert not await produce(first, "a")
        assert not await produce(await client_of(broker, "alice"), "a")


async def test_a_delegation_token_uses_up_the_quota_of_its_owner(
    tmp_path: Path,
) -> None:
    """S025: whoever made it, and whoever has it."""
    async with metered_broker(tmp_path, **OPTIONS) as broker:
        await limit(broker, {"user": "alice"})
        tokens = tokens_of(broker)
        token = await tokens.create("User:alice", "User:bob", (), -1)
        secret, lent = tokens.hmac_of(token.token_id), broker.connect()
        answer = await log_in(lent, token.token_id, secret, "SCRAM-SHA-256")
        assert answer.error_code == 0
        assert await produce(lent, "a", SIZE)
        assert await produce(await client_of(broker, "alice"), "b")
        assert not await produce(await client_of(broker, "bob"), "a")


async def test_the_name_of_a_certificate_has_a_quota_as_it_is(tmp_path: Path) -> None:
    """S025: with all that it is written with."""
    name = 'CN=al\\"ice,OU=Or ders,O=a\\,b,C=NO'
    async with metered_broker(tmp_path) as broker:
        await limit(broker, {"user": name})
        for who, has_quota in ((name, True), ("CN=alice", False)):
            client = await client_of(broker, "alice")
            client.connection.info.become(f"User:{who}")  # as the door does it
            assert bool(await produce(client, "a", SIZE)) is has_quota
