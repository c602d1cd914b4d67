"""Every state of a login, and what each API gets in it."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.requests.offered import OFFERED
from odradek.broker.security.login.gate import (
    ACTIONS,
    OTHERWISE,
    REAUTHENTICATION_INTERVAL_MS,
    GateState,
)
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.api_versions import ApiVersionsRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.sasl import SaslAuthenticateRequest
from tests.fakes.login import (
    MECHANISMS,
    LoginClient,
    login_broker,
    plain_token,
    scram_final,
)
from tests.fakes.network import settle

VERSIONS = ApiVersionsRequest(client_software_name="x", client_software_version="1")
JAAS = 'x.PlainLoginModule required user_bob="builder";'
METADATA = MetadataRequest(topics=[])


def test_every_state_says_what_it_does() -> None:
    assert ACTIONS.keys() == OTHERWISE.keys() == set(GateState)


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_login_names_the_user_and_opens_the_gate(
    tmp_path: Path, mechanism: str
) -> None:
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        assert (await client.ask(VERSIONS, 3)).error_code == 0
        answer = await client.log_in("alice", "secret", mechanism)
        assert (answer.error_code, answer.session_lifetime_ms) == (0, 0)
        assert client.principal == "User:alice"
        assert (await client.ask(METADATA, 12)).topics == []
        # Nothing stands between it and the dispatcher any more.
        assert client.connection._dispatch == broker.dispatcher.entry
        assert (
            client.connection._reader.max_size
            == BrokerConfig().socket_request_max_bytes
        )


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_tokens_without_headers_log_in_too(
    tmp_path: Path, mechanism: str
) -> None:
    """S009: version 0 of SaslHandshake."""
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        await client.handshake(mechanism, 0)
        if mechanism == "PLAIN":
            client.send_bytes(plain_token("alice", "secret"))
            assert await client.frame() == b""
        else:
            first = b"n,,n=alice,r=the-client's"
            client.send_bytes(first)
            answer = await client.frame()
            assert answer is not None
            client.send_bytes(scram_final(first, answer, "secret", mechanism))
            assert (await client.frame() or b"").startswith(b"v=")
        assert client.principal == "User:alice"
        assert (await client.ask(METADATA, 12)).topics == []


@pytest.mark.parametrize("token", [b"", b"\0alice\0wrong", b"\x00\x01\x00\x00"])
async def test_a_token_without_a_header_that_is_wrong_closes_unanswered(
    tmp_path: Path, token: bytes
) -> None:
    """S009: also an empty one."""
    delay = {"connection_failed_authentication_delay_ms": 100}
    async with login_broker(tmp_path, **delay) as broker:
        client = broker.connect()
        await client.handshake("PLAIN", 0)
        client.send_bytes(token)
        await broker_thinks(client)
        assert not client.is_closed
        broker.clock.advance(100)
        await settle()
        assert client.is_closed
        assert client.frames() == []


async def broker_thinks(client: LoginClient) -> None:
    """Until the gate has made up its mind."""
    gate: Any = client.gate
    while gate.state is not GateState.SHUT:
        await settle()
    await settle()


@pytest.mark.parametrize("key", sorted(OFFERED))
@pytest.mark.parametrize("state", [GateState.START, GateState.MECHANISM])
async def test_before_a_login_no_other_request_is_read(
    tmp_path: Path, state: GateState, key: int
) -> None:
    """S009, A01: the bodies are garbage; whoever decodes one is noticed."""
    if key in ACTIONS[state]:
        pytest.skip("a request of this state")
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        if state is GateState.MECHANISM:
            await client.handshake("PLAIN")
        version = OFFERED[key].advertised_max
        header = key.to_bytes(2, "big") + version.to_bytes(2, "big")
        client.send_bytes(header + bytes(4) + b"\0\1x\0" + b"\xff" * 100)
        await settle()
        assert client.is_closed
        assert not broker.services.bugs.count
        answers = client.frames()
        if state is GateState.START:
            assert answers == []
            assert (key, version) not in broker.dispatcher.routes
        elif key == ApiKey.HEARTBEAT:
            assert ErrorCode.ILLEGAL_SASL_STATE.to_bytes(2, "big") in answers[0]
        assert len(answers) <= 1


async def test_versions_are_told_once_and_again_after_an_unknown_version(
    tmp_path: Path,
) -> None:
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        client.send_bytes(b"\x00\x12\x00\x63" + bytes(4) + b"\xff\xff")
        assert (await client.frame() or b"")[4:6] == b"\x00\x23"
        assert (await client.ask(VERSIONS, 3)).error_code == 0
        assert await client.ask(VERSIONS, 3) is None


async def test_an_unknown_mechanism_is_answered_with_those_that_there_are(
    tmp_path: Path,
) -> None:
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        answer = await client.handshake("GSSAPI")
        assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert answer.mechanisms == list(MECHANISMS)
        await settle()
        assert client.is_closed


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_who_there_is_cannot_be_seen_from_a_refusal(
    tmp_path: Path, mechanism: str
) -> None:
    async with login_broker(tmp_path) as broker:
        answers = []
        for user in ("alice", "nobody"):
            client = broker.connect()
            answer = await client.log_in(user, "wrong", mechanism)
            assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            await settle()
            assert client.is_closed
            assert client.principal == "User:ANONYMOUS"
            answers.append(answer.error_message)
        assert answers[0] == answers[1]


async def test_a_failed_login_is_answered_late_and_others_are_not(
    tmp_path: Path,
) -> None:
    """S010: each time twice as late; who logs in from there is let in at once."""
    delay = {"connection_failed_authentication_delay_ms": 100}
    async with login_broker(tmp_path, sasl_jaas_config=JAAS, **delay) as broker:
        for delay_ms in (100, 200, 400):
            client = broker.connect("192.0.2.1")
            await client.handshake("PLAIN")
            client.send(SaslAuthenticateRequest(auth_bytes=plain_token("a", "b")), 2)
            broker.clock.advance(delay_ms - 1)
            await settle()
            assert client.frames() == []
            other = broker.connect("192.0.2.1")
            assert (await other.log_in("bob", "builder")).error_code == 0
            broker.clock.advance(1)
            await settle()
            assert len(client.frames()) == 1
            assert client.is_closed


async def test_nothing_waits_for_a_client_that_has_left(tmp_path: Path) -> None:
    delay = {"connection_failed_authentication_delay_ms": 100}
    async with login_broker(tmp_path, sasl_jaas_config=JAAS, **delay) as broker:
        client = broker.connect()
        await client.handshake("PLAIN")
        client.send(SaslAuthenticateRequest(auth_bytes=plain_token("a", "b")), 2)
        assert broker.clock.timer_count == 1
        client.transport.lose()
        assert broker.clock.timer_count == 0


# Logins that end


async def test_a_login_again_keeps_the_connection(tmp_path: Path) -> None:
    async with login_broker(tmp_path, connections_max_reauth_ms=60_000) as broker:
        client = broker.connect()
        assert (await client.log_in("alice", "secret")).session_lifetime_ms == 60_000
        broker.clock.advance(59_000)
        assert (await client.ask(METADATA, 12)).topics == []
        assert (await client.log_in("alice", "secret")).session_lifetime_ms == 60_000
        broker.clock.advance(59_000)
        assert (await client.ask(METADATA, 12)).topics == []
        broker.clock.advance(1_000)
        # Late, but it may: only what is no login closes.
        assert (await client.log_in("alice", "secret")).error_code == 0
        (logins,) = broker.services.logins
        assert (logins.counts.successes["PLAIN"], logins.counts.again["PLAIN"]) == (
            1,
            2,
        )


async def test_a_request_after_the_end_closes_and_is_counted(tmp_path: Path) -> None:
    async with login_broker(tmp_path, connections_max_reauth_ms=60_000) as broker:
        client = broker.connect()
        await client.log_in("alice", "secret")
        broker.clock.advance(60_000)
        assert await client.ask(METADATA, 12) is None
        assert broker.services.logins[0].counts.expired == 1
        assert "the login of User:alice has ended" in broker.log[0]


async def test_nobody_logs_in_again_all_the_time(tmp_path: Path) -> None:
    async with login_broker(tmp_path, connections_max_reauth_ms=60_000) as broker:
        client = broker.connect()
        await client.log_in("alice", "secret")
        await client.log_in("alice", "secret")
        broker.clock.advance(REAUTHENTICATION_INTERVAL_MS - 1)
        answer = await client.handshake("PLAIN")
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        broker.clock.advance(1)
        assert (await client.log_in("alice", "secret")).error_code == 0


async def test_only_the_same_user_logs_in_again(tmp_path: Path) -> None:
    async with login_broker(tmp_path, connections_max_reauth_ms=60_000) as broker:
        await broker.add_user("bob", "secret")
        client = broker.connect()
        await client.log_in("alice", "secret")
        answer = await client.log_in("bob", "secret")
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert "Cannot change principals" in answer.error_message
        await settle()
        assert client.is_closed
        assert client.principal == "User:alice"


async def test_only_the_same_mechanism_logs_in_again(tmp_path: Path) -> None:
    async with login_broker(tmp_path, connections_max_reauth_ms=60_000) as broker:
        client = broker.connect()
        await client.log_in("alice", "secret")
        assert (await client.handshake("SCRAM-SHA-256")).error_code == 0
        answer = await client.authenticate(b"n,,n=alice,r=x")
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert "not supported for re-authentication" in answer.error_message


async def test_between_the_tokens_of_a_login_again_nothing_is_answered(
    tmp_path: Path,
) -> None:
    async with login_broker(tmp_path, connections_max_reauth_ms=60_000) as broker:
        client = broker.connect()
        await client.log_in("alice", "secret")
        await client.handshake("PLAIN")
        assert await client.ask(METADATA, 12) is None


@pytest.mark.parametrize("lifetime_ms", [0, 60_000])
async def test_a_token_when_all_is_said_is_refused(
    tmp_path: Path, lifetime_ms: int
) -> None:
    async with login_broker(tmp_path, connections_max_reauth_ms=lifetime_ms) as broker:
        client = broker.connect()
        await client.log_in("alice", "secret")
        answer = await client.authenticate(b"x")
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert not client.is_closed
