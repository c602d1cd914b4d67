import base64
import hashlib
import hmac

import pytest

from odradek.client.cluster import Cluster
from odradek.client.scram import (
    Credential,
    Mechanism,
    describe_users,
    remove_password,
    salted,
    set_password,
)
from odradek.protocol.errors import ResourceNotFound, UnacceptableCredential
from odradek.protocol.messages.scram import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from tests.fakes.scripted import scripted_cluster


def test_the_example_of_rfc_7677() -> None:
    """The proof that a client sends follows from the salted password alone."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    password = salted("pencil", salt, Mechanism.SCRAM_SHA_256, 4096)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    said = (
        "n=user,r=rOprNGfwEbeRWgbNEkqO,"
        f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}"
    )
    client_key = hmac.digest(password, b"Client Key", "sha256")
    stored_key = hashlib.sha256(client_key).digest()
    signature = hmac.digest(stored_key, said.encode(), "sha256")
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    assert base64.b64encode(proof).decode() == (
        "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )


def test_mechanisms_are_called_as_they_are_registered() -> None:
    assert [each.text for each in Mechanism] == ["SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert [each.digest for each in Mechanism] == ["sha256", "sha512"]


def test_passwords_are_set_and_removed(cluster: Cluster) -> None:
    set_password(cluster, "alice", "pencil", Mechanism.SCRAM_SHA_256)
    set_password(cluster, "alice", "pencil", Mechanism.SCRAM_SHA_512, 8192)
    users = describe_users(cluster)
    assert users.found["alice"] == [
        Credential("SCRAM-SHA-256", 4096),
        Credential("SCRAM-SHA-512", 8192),
    ]
    remove_password(cluster, "alice", Mechanism.SCRAM_SHA_256)
    users = describe_users(cluster, ["alice", "nobody"])
    assert users.found == {"alice": [Credential("SCRAM-SHA-512", 8192)]}
    assert isinstance(users.failed["nobody"], ResourceNotFound)
    with pytest.raises(ResourceNotFound):
        remove_password(cluster, "alice", Mechanism.SCRAM_SHA_256)
    remove_password(cluster, "alice", Mechanism.SCRAM_SHA_512)
    assert "alice" not in describe_users(cluster).found


def test_what_the_broker_does_not_accept_is_said(cluster: Cluster) -> None:
    with pytest.raises(UnacceptableCredential, match="Too few"):
        set_password(cluster, "bob", "x", Mechanism.SCRAM_SHA_256, 1)


def test_a_mechanism_of_later_is_its_number() -> None:
    infos = [CredentialInfo(mechanism=each, iterations=1) for each in (9, 1)]
    result = DescribeUserScramCredentialsResult(user="u", credential_infos=infos)
    answer = DescribeUserScramCredentialsResponse(results=[result])
    with scripted_cluster(1) as script, script.client() as cluster:
        script.script(DescribeUserScramCredentialsRequest, lambda *_: answer)
        found = [Credential("SCRAM-SHA-256", 1), Credential("9", 1)]
        assert describe_users(cluster).found == {"u": found}
