import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from odradek.broker.security.certificates.certificate import (
    Certificate,
    issuer_of,
    parse_certificate,
)
from odradek.broker.security.issuing.issuer import (
    CA_DAYS,
    DAYS,
    Identity,
    Issuer,
    IssuingError,
    pkcs12,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer.make("our CA", NOW)


def read(identity: Identity) -> Certificate:
    return parse_certificate(ssl.PEM_cert_to_DER_cert(identity.certificate))


def test_a_server_has_all_of_its_names(issuer: Issuer) -> None:
    hosts = ["Kafka.Example.com", "192.0.2.1", "[2001:db8::1]", "*.example.org"]
    made = read(issuer.issue_server(hosts, NOW))
    assert made.names == {
        "kafka.example.com",
        "192.0.2.1",
        "2001:db8::1",
        "*.example.org",
    }
    assert made.subject == "CN=Kafka.Example.com"
    assert made.not_after == (NOW + timedelta(days=DAYS)).timestamp()
    # A client's clock may be behind.
    assert made.not_before == (NOW - timedelta(hours=1)).timestamp()


def test_a_name_longer_than_that_of_a_certificate_is_among_the_others(
    issuer: Issuer,
) -> None:
    host = f"kafka-0.{'headless.' * 8}svc.cluster.local"
    made = read(issuer.issue_server([host, "localhost"], NOW))
    assert made.names == {host, "localhost"}
    assert made.subject == "CN=kafka-0"


def test_a_client_is_called_what_it_was_called(issuer: Issuer) -> None:
    made = issuer.issue_client("alice", NOW)
    assert read(made).subject == "CN=alice"
    assert read(made).names == frozenset()
    assert issuer_of(ssl.PEM_cert_to_DER_cert(made.certificate)) == "CN=our CA"


def test_the_ca_is_the_same_after_it_was_kept(issuer: Issuer) -> None:
    kept = issuer.identity
    again = Issuer.read(kept, "here")
    assert again.identity == kept
    assert read(kept).not_after == (NOW + timedelta(days=CA_DAYS)).timestamp()


def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> str:
    """What the client's check says to the server's certificate; empty: nothing."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(10):
        for side in tuple(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as error:
                return error.verify_message
            sides.remove(side)
    assert not sides
    return ""


def contexts(tmp_path: Path, issuer: Issuer) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of a server with a certificate of the CA, and of a client that knows none."""
    path = tmp_path / "server.pem"
    path.write_text("".join(issuer.issue_server(["localhost"], datetime.now(UTC))))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # What Python 3.13 asks for by default, and Go, and Apple.
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    return server, client


def test_who_trusts_the_ca_trusts_what_it_issued(tmp_path: Path) -> None:
    issuer = Issuer.make("CA", datetime.now(UTC))
    server, client = contexts(tmp_path, issuer)
    assert handshake(server, client) == "unable to get local issuer certificate"
    client.load_verify_locations(cadata=issuer.identity.certificate)
    assert handshake(server, client) == ""


def test_a_client_is_no_server_and_no_ca(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    issuer = Issuer.make("CA", now)
    server, client = contexts(tmp_path, issuer)
    client.load_verify_locations(cadata=issuer.identity.certificate)
    client.check_hostname = False
    alice = issuer.issue_client("alice", now)
    (tmp_path / "alice.pem").write_text("".join(alice))
    server.load_cert_chain(tmp_path / "alice.pem")
    assert "purpose" in handshake(server, client)
    # What she signs with her key nobody believes.
    forged = Issuer.read(alice, "alice").issue_server(["localhost"], now)
    (tmp_path / "forged.pem").write_text("".join(forged) + alice.certificate)
    server.load_cert_chain(tmp_path / "forged.pem")
    assert handshake(server, client)


def test_java_gets_one_file(issuer: Issuer) -> None:
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    made = issuer.issue_client("alice", NOW)
    store = load_pkcs12(pkcs12(made, issuer.identity.certificate, "alice", "pw"), b"pw")
    assert store.cert is not None
    assert store.cert.friendly_name == b"alice"
    assert len(store.additional_certs) == 1
    with pytest.raises(ValueError, match="password"):
        load_pkcs12(pkcs12(made, issuer.identity.certificate, "alice", "pw"), b"other")


@pytest.mark.parametrize(
    "host", ["", "a b", "-a", "a..b", "x" * 64, "a/b", "ä", "1::2::3"]
)
def test_a_host_is_a_name_or_an_address(issuer: Issuer, host: str) -> None:
    with pytest.raises(IssuingError):
        issuer.issue_server(["localhost", host], NOW)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 65, "\x1b[2J"])
def test_a_name_can_be_read(issuer: Issuer, name: str) -> None:
    with pytest.raises(IssuingError):
        issuer.issue_client(name, NOW)


def test_what_is_no_ca_is_refused(issuer: Issuer) -> None:
    kept = issuer.identity
    for broken in (
        kept._replace(key="x"),
        kept._replace(certificate="x"),
        kept._replace(key=issuer.issue_client("a", NOW).key),
    ):
        with pytest.raises(IssuingError, match=r"^here: "):
            Issuer.read(broken, "here")


def test_who_lacks_the_package_is_told_what_to_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(IssuingError, match=r"install .*\[security\]"):
        Issuer.make("CA", NOW)
