import ssl
from pathlib import Path

import pytest

from odradek.broker.security.certificates.certificate import (
    Certificate,
    parse_certificate,
    subject_of,
)
from odradek.broker.security.certificates.der import DerError
from tests.certificates import ALICE_AS_JAVA_HAS_IT, alice, authority


def encoded(path: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert(path.read_text())


def test_it_says_who_until_when_and_under_which_names() -> None:
    names = ["DNS:Broker.example", "DNS:*.cluster.example", "IP:127.0.0.1", "IP:::1"]
    holder = authority().issue("/O=Example/CN=broker", names=names, days=10)
    certificate = parse_certificate(encoded(holder.certificate))
    assert certificate.subject == "CN=broker,O=Example"
    assert certificate.names == {
        "broker.example",
        "*.cluster.example",
        "127.0.0.1",
        "::1",
    }
    lasts = certificate.not_after - certificate.not_before
    assert lasts == pytest.approx(10 * 86400, abs=2)


def test_a_client_is_who_java_says() -> None:
    assert subject_of(encoded(alice().certificate)) == ALICE_AS_JAVA_HAS_IT


def test_hosts_are_looked_for_as_clients_do() -> None:
    certificate = Certificate("", 0, 0, frozenset({"a.example", "*.b.example"}))
    assert certificate.is_for("A.example.")
    assert certificate.is_for("x.b.example")
    assert not certificate.is_for("x.y.b.example")
    assert not certificate.is_for("b.example")


@pytest.mark.parametrize("data", [b"", b"\x30\x00", b"hello", b"\x30\x02\x30\x00"])
def test_what_is_no_certificate_is_refused(data: bytes) -> None:
    with pytest.raises(DerError):
        parse_certificate(data)
