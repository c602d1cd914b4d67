import pytest

from odradek.client.errors import TlsCause, TlsFailed, Unreachable
from odradek.client.security.settings import Pem, Sasl, Secret, Security, Tls
from odradek.pipeline.security.words import (
    CLUSTER,
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    Need,
    is_final,
    principal,
    told,
)
from odradek.protocol.errors import (
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    NotLeaderOrFollower,
    SaslAuthenticationFailed,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
)

ALICE = Security(sasl=Sasl("PLAIN", "alice", Secret("open sesame")))
TOKEN = Security(sasl=Sasl("OAUTHBEARER"))
CERTIFICATE = Security(tls=Tls(certificate=Pem(Secret("x"))))


def test_a_denial_says_who_may_not_do_what() -> None:
    read = Need("Read", TOPIC, "orders")
    assert told(TopicAuthorizationFailed(), ALICE, read) == (
        "User:alice has no right to Read on topic orders: an entry of the broker's"
        " access control lists has to give it (kafka-acls.sh --add --allow-principal"
        " User:alice --operation Read --topic orders)"
    )
    write = Need("Write", TRANSACTIONAL_ID, "job")
    said = told(TransactionalIdAuthorizationFailed(), None, read, write)
    assert said.startswith("User:ANONYMOUS has no right to Write on transactional id")
    assert "--operation Write --transactional-id job)" in said
    said = told(GroupAuthorizationFailed(), CERTIFICATE, Need("Read", GROUP, "g"))
    assert said.startswith("The holder of our certificate has no right to Read on gr")
    assert "kafka-acls" not in said
    need = Need("IdempotentWrite", CLUSTER, "")
    said = told(ClusterAuthorizationFailed(), ALICE, need)
    assert "right to IdempotentWrite on cluster:" in said
    assert said.endswith("--operation IdempotentWrite --cluster)")


def test_what_is_not_known_is_not_said() -> None:
    said = told(GroupAuthorizationFailed(), ALICE, Need("Read", TOPIC, "orders"))
    assert said == "User:alice may not: Not authorised for this group."
    assert told(NotLeaderOrFollower(), ALICE) == str(NotLeaderOrFollower())


@pytest.mark.parametrize(
    ("security", "said"),
    [
        (ALICE, "The broker does not let User:alice (by PLAIN) in: wrong."),
        (TOKEN, "The broker does not let the owner of our token (by OAUTHBEARER) in"),
        (None, "The broker does not let User:ANONYMOUS in: wrong."),
    ],
)
def test_a_login_that_fails(security: Security | None, said: str) -> None:
    assert told(SaslAuthenticationFailed("wrong."), security).startswith(said)


def test_a_certificate_that_is_not_good() -> None:
    expired = TlsFailed(
        "kafka-1:9093: its certificate has expired", 10, TlsCause.EXPIRED
    )
    assert told(expired, ALICE) == (
        "The broker cannot be spoken to: kafka-1:9093: its certificate has expired: the"
        " broker needs a new one (ssl.certificate.file, or its keystore)."
    )
    named = TlsFailed("a:1: for other names", 62, TlsCause.OTHER_NAME)
    assert "for other names: name the broker as its certificate does" in told(
        named, None
    )
    assert told(TlsFailed("a:1: x"), None) == "The broker cannot be spoken to: a:1: x."


def test_who_we_are() -> None:
    assert principal(Security(tls=Tls())) == "User:ANONYMOUS"
    assert principal(TOKEN) == "The owner of our token"


def test_what_another_try_would_not_mend() -> None:
    assert is_final(SaslAuthenticationFailed())
    assert is_final(TopicAuthorizationFailed())
    assert is_final(TlsFailed("its certificate has expired", 10))
    assert not is_final(TlsFailed("hung up", cause=TlsCause.HUNG_UP))
    assert not is_final(Unreachable("refused"))
    assert not is_final(NotLeaderOrFollower())
