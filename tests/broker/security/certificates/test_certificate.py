import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.security.certificates import certificate
from odradek.broker.security.certificates.certificate import (
    Certificate,
    parse_certificate,
    subject_of,
)
from odradek.broker.security.certificates.der import DerError, only_value
from tests.certificates import ALICE_AS_JAVA_HAS_IT, alice, authority


def encoded(path: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert(path.read_text())


def test_it_says_who_until_when_and_under_which_names() -> None:
    names = ["DNS:Broker.example", "DNS:*.cluster.example", "IP:127.0.0.1", "IP:::1"]
    holder = authority().issue("/O=Example/CN=broker", names=names, days=10)
    found = parse_certificate(encoded(holder.certificate))
    assert found.subject == "CN=broker,O=Example"
    assert found.names == {
        "broker.example",
        "*.cluster.example",
        "127.0.0.1",
        "::1",
    }
    lasts = found.not_after - found.not_before
    assert lasts == pytest.approx(10 * 86400, abs=2)


def test_a_client_is_who_java_says() -> None:
    assert subject_of(encoded(alice().certificate)) == ALICE_AS_JAVA_HAS_IT


def test_hosts_are_looked_for_as_clients_do() -> None:
    issued = Certificate("", 0, 0, frozenset({"a.example", "*.b.example"}))
    assert issued.is_for("A.example.")
    assert issued.is_for("x.b.example")
    assert not issued.is_for("x.y.b.example")
    assert not issued.is_for("b.example")


@pytest.mark.parametrize("data", [b"", b"\x30\x00", b"hello", b"\x30\x02\x30\x00"])
def test_what_is_no_certificate_is_refused(data: bytes) -> None:
    with pytest.raises(DerError):
        parse_certificate(data)


@given(st.datetimes(datetime(1950, 1, 1), datetime(2049, 12, 31)))
def test_moments_are_read_in_both_ways_of_writing_them(moment: datetime) -> None:
    text = moment.strftime("%Y%m%d%H%M%SZ").encode()
    expected = moment.replace(microsecond=0, tzinfo=UTC).timestamp()
    for tag, content in ((0x18, text), (0x17, text[2:])):
        value = only_value(bytes((tag, len(content))) + content)
        assert certificate._moment(value) == expected


@pytest.mark.parametrize(
    "text",
    ["", "Z", "20261231235959", "20261331235959Z", "2026123123595Z", "2026 231235959Z"]
    + ["20261231235960Z", "+0261231235959Z", "202612312359590Z"],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    value = only_value(bytes((0x18, len(text))) + text.encode())
    with pytest.raises(DerError):
        certificate._moment(value)
