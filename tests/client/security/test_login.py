from typing import Any

import pytest

from odradek.client.connection import Connection
from odradek.client.security.login import Login, exchange_of
from odradek.client.security.settings import OAuth, Sasl, Secret, Security
from odradek.protocol import scram
from odradek.protocol.errors import (
    ErrorCode,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.fakes.scripted import ScriptedCluster, scripted_cluster
from tests.patience import PATIENCE_S

ALICE = Sasl("PLAIN", "alice", Secret("open sesame"))


class Broker:
    """Answers the two requests of a login; a `login.Asker`."""

    def __init__(self, *answers: SaslAuthenticateResponse) -> None:
        self.offer = SaslHandshakeResponse()
        self.answers = list(answers)
        self.asked: list[Any] = []

    def exchange(self, request: Any, response_class: Any) -> Any:
        self.asked.append(request)
        is_first = isinstance(request, SaslHandshakeRequest)
        return self.offer if is_first else self.answers.pop(0)


def scripted(cluster: ScriptedCluster, lifetime_ms: int = 0) -> None:
    answer = SaslAuthenticateResponse(session_lifetime_ms=lifetime_ms)
    cluster.script(SaslHandshakeRequest, lambda asked, _: SaslHandshakeResponse())
    cluster.script(SaslAuthenticateRequest, lambda asked, _: answer)


def test_plain_sends_name_and_password() -> None:
    broker = Broker(SaslAuthenticateResponse())
    Login(ALICE).run(broker)
    handshake, sent = broker.asked
    assert handshake.mechanism == "PLAIN"
    assert sent.auth_bytes == b"\0alice\0open sesame"


@pytest.mark.parametrize("mechanism", list(scram.Mechanism))
def test_scram_proves_the_password_and_wants_the_same_of_the_broker(
    mechanism: scram.Mechanism,
) -> None:
    exchange = exchange_of(Sasl(mechanism.title, "alice", Secret("p"), is_token=True))
    first = scram.read_client_first(next(exchange))
    assert (first.user, first.is_by_token) == ("alice", True)
    answered = scram.server_first(first, "more", b"salt", 4096)
    assert b",p=" in exchange.send(answered)
    with pytest.raises(scram.ScramError, match="does not know the password"):
        exchange.send(b"v=AAAA")


def test_scram_with_too_little_hashing_is_not_done() -> None:
    exchange = exchange_of(Sasl("SCRAM-SHA-256", "alice", Secret("p")))
    first = scram.read_client_first(next(exchange))
    with pytest.raises(scram.ScramError, match="iterations"):
        exchange.send(scram.server_first(first, "more", b"salt", 1))


def test_tokens_with_extensions(tmp_path: Any) -> None:
    path = tmp_path / "token"
    path.write_text("a.b.c\n")
    oauth = OAuth(token_file=str(path), extensions=(("x", "y"),))
    exchange = exchange_of(Sasl("OAUTHBEARER", oauth=oauth))
    assert next(exchange) == b"n,,\1auth=Bearer a.b.c\1x=y\1\1"
    assert exchange.send(b'{"status":"invalid_token"}') == b"\1"
    with pytest.raises(SaslAuthenticationFailed, match="invalid_token"):
        exchange.send(b"")


def test_why_a_login_fails() -> None:
    refused = SaslAuthenticateResponse(error_code=58, error_message="no")
    with pytest.raises(SaslAuthenticationFailed, match=r"^no$"):
        Login(ALICE).run(Broker(refused))
    broker = Broker()
    broker.offer = SaslHandshakeResponse(error_code=33, mechanisms=["B", "A"])
    with pytest.raises(UnsupportedSaslMechanism, match="offers A, B"):
        Login(ALICE).run(broker)
    broker.offer = SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    with pytest.raises(SaslAuthenticationFailed, match="has no SASL"):
        Login(ALICE).run(broker)


def test_logins_are_a_second_apart_however_short_a_session_is() -> None:
    now_s = 100.0
    login = Login(ALICE, lambda: now_s)
    login.run(Broker(SaslAuthenticateResponse(session_lifetime_ms=1000)))
    now_s += 1
    assert not login.is_due
    now_s += 0.2
    assert login.is_due


def test_a_session_is_renewed_before_it_ends() -> None:
    now_s = 100.0
    login = Login(ALICE, lambda: now_s)
    assert not login.is_due
    login.run(Broker(SaslAuthenticateResponse(session_lifetime_ms=10_000)))
    now_s += 8
    assert not login.is_due
    now_s += 1
    assert login.is_due
    login.run(Broker(SaslAuthenticateResponse()))
    now_s += 1e9
    assert not login.is_due  # this session has no end


def test_a_refused_login_is_not_tried_again() -> None:
    refused = SaslAuthenticateResponse(error_code=58)
    with scripted_cluster() as cluster:
        scripted(cluster)
        cluster.script(SaslAuthenticateRequest, lambda asked, _: refused)
        client = cluster.client()
        client.security = Security(sasl=ALICE)
        with client, pytest.raises(SaslAuthenticationFailed):
            client.metadata()
        assert cluster.brokers[1].asked_for(SaslAuthenticateRequest) == 1


def test_answers_that_are_on_their_way_outlive_a_login() -> None:
    with scripted_cluster() as cluster:
        scripted(cluster)
        security, broker = Security(sasl=ALICE), cluster.brokers[1]
        with Connection(
            *broker.address, security=security, timeout_s=PATIENCE_S
        ) as connection:
            version = connection.version_of(MetadataRequest())
            ids = [connection.send(MetadataRequest(), version) for _ in range(2)]
            assert connection._login is not None
            connection._login._due_s = 0.0  # the session ends
            ids.append(connection.send(MetadataRequest(), version))
            for each in ids:
                connection.receive_answer(each, MetadataResponse, version)
        assert broker.asked_for(SaslAuthenticateRequest) == 2
