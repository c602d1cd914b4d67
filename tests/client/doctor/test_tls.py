"""S028: every way in which TLS fails, with the line that would mend it."""

import contextlib
import socket
import ssl
from pathlib import Path

import pytest

from odradek.client.address import Address
from odradek.client.doctor.tls import certificate
from odradek.client.errors import TlsCause, TlsFailed
from tests.authority import Authority
from tests.patience import PATIENCE_S

from .conftest import FAR, Serve, failure, findings

Listeners = dict[str, Address]


def trusting(ca: Authority) -> dict[str, str]:
    return {"security_protocol": "SSL", "ssl_ca_location": str(ca.certificate)}


def test_all_is_well(listeners: Listeners, ca: Authority) -> None:
    found = findings(listeners["SSL"], **trusting(ca))
    (shown,) = [each for each in found if each.check == "TLS"]
    assert shown.is_ok
    assert shown.detail.startswith("certificate for 127.0.0.1, localhost, good for ")


def test_a_client_without_tls(listeners: Listeners) -> None:
    found = failure(listeners["SSL"])
    assert found.detail == "it expects TLS"
    assert "security.protocol=SSL (or SASL_SSL)" in found.advice
    found = failure(listeners["MTLS"])
    assert found.detail == "it expects TLS"


def test_a_listener_without_tls(listeners: Listeners, ca: Authority) -> None:
    found = failure(listeners["PLAINTEXT"], **trusting(ca))
    assert found.check == "TLS"
    assert "set security.protocol=PLAINTEXT in the client" in found.advice


def test_a_ca_that_nobody_named(listeners: Listeners, stranger: Authority) -> None:
    for options in ({"security_protocol": "SSL"}, trusting(stranger)):
        found = failure(listeners["SSL"], **options)
        assert "issued by nobody whom we trust" in found.detail
        assert "ssl.ca.location=FILE" in found.advice
        assert f"'odradek cert show {listeners['SSL']}'" in found.advice


def test_a_certificate_that_has_expired(serve: Serve, ca: Authority) -> None:
    late = ca.issue("late", "IP:127.0.0.1", to_date="20200102000000Z")
    found = failure(serve(late).address, **trusting(ca))
    assert found.detail == "its certificate has expired"
    assert "'odradek cert init HOST --renew'" in found.advice


def test_one_that_is_not_valid_yet(serve: Serve, ca: Authority) -> None:
    early = ca.issue("early", "IP:127.0.0.1", from_date="20990101000000Z")
    found = failure(serve(early).address, **trusting(ca))
    assert "is not valid yet" in found.detail
    assert "Set the clock" in found.advice


def test_one_for_another_host(serve: Serve, ca: Authority) -> None:
    other = serve(ca.issue("other", "DNS:kafka-1"))
    found = failure(other.address, **trusting(ca))
    assert "not for 127.0.0.1" in found.detail
    assert "'odradek cert init 127.0.0.1 --renew'" in found.advice


def test_one_that_is_not_for_what_clients_are_told(serve: Serve, ca: Authority) -> None:
    broker = serve(ca.issue("near", "DNS:localhost", to_date=FAR))
    near = broker.address._replace(host="localhost")
    found = failure(near, **trusting(ca))
    assert found.target == f"broker 1 ({broker.address})"
    assert "for other names, not for 127.0.0.1" in found.detail
    assert found.advice.startswith("Clients are told this address by the broker")
    assert "needs a certificate for 127.0.0.1" in found.advice


def test_no_certificate_of_ours(listeners: Listeners, ca: Authority) -> None:
    found = failure(listeners["MTLS"], **trusting(ca))
    assert "wants a certificate" in found.detail  # said before it hangs up, or not
    assert "ssl.certificate.location=FILE and ssl.key.location=FILE" in found.advice


def test_a_strangers_certificate_with_tls_1_3(
    listeners: Listeners, ca: Authority, stranger: Authority
) -> None:
    ours = str(stranger.issue("carol"))
    shown = {"ssl_certificate_location": ours, "ssl_key_location": ours}
    found = failure(listeners["MTLS"], **trusting(ca), **shown)
    assert "refuses our certificate" in found.detail
    assert "its CA is not in the broker's ssl.ca.file" in found.advice


def test_a_certificate_of_ours_by_a_stranger(
    serve: Serve, ca: Authority, stranger: Authority
) -> None:
    broker = serve(ca.issue("b", "IP:127.0.0.1"), ca.certificate)
    late = ca.issue("lately", to_date="20200102000000Z")
    for ours in stranger.issue("alice"), late:
        shown = {"ssl_certificate_location": str(ours), "ssl_key_location": str(ours)}
        found = failure(broker.address, **trusting(ca), **shown)
        assert "refuses our certificate" in found.detail
        assert "'odradek cert client NAME' makes one" in found.advice


def test_no_version_in_common(serve: Serve, ca: Authority) -> None:
    broker = serve(ca.issue("old", "IP:127.0.0.1"))
    assert broker.tls is not None
    broker.tls.maximum_version = ssl.TLSVersion.TLSv1_2
    found = failure(broker.address, **trusting(ca), ssl_enabled_protocols="TLSv1.3")
    assert "no version of TLS in common" in found.detail
    assert "ssl.enabled.protocols=TLSv1.2,TLSv1.3" in found.advice


def test_no_cipher_in_common(serve: Serve, ca: Authority) -> None:
    broker = serve(ca.issue("odd", "IP:127.0.0.1"))
    assert broker.tls is not None
    broker.tls.maximum_version = ssl.TLSVersion.TLSv1_2
    broker.tls.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
    suites = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    found = failure(broker.address, **trusting(ca), ssl_cipher_suites=suites)
    assert "no cipher in common" in found.detail
    assert "cipher suite" in found.advice


def test_a_chain_with_a_gap(serve: Serve, ca: Authority, tmp_path: Path) -> None:
    """The CA of the CA is trusted, and the one between is not shown."""
    root = Authority(tmp_path, "root")
    found = failure(serve(ca.issue("gap", "IP:127.0.0.1")).address, **trusting(root))
    assert "leaves out a certificate between" in found.advice


def test_one_that_ends_soon(serve: Serve, ca: Authority) -> None:
    from datetime import UTC, datetime, timedelta

    soon = datetime.now(UTC) + timedelta(days=5, hours=1)
    pem = ca.issue("soon", "IP:127.0.0.1", to_date=f"{soon:%Y%m%d%H%M%SZ}")
    found = failure(serve(pem).address, **trusting(ca))
    assert found.detail == "certificate for 127.0.0.1, good for 5 days"
    assert "It ends soon." in found.advice


def test_what_cannot_be_said_is_not(listeners: Listeners) -> None:
    assert certificate(listeners["PLAINTEXT"], PATIENCE_S) is None
    assert certificate(Address("127.0.0.1", 1), PATIENCE_S) is None


@pytest.mark.parametrize("cause", TlsCause)
def test_every_cause_has_its_advice(cause: TlsCause) -> None:
    from odradek.client.doctor.tls import tls_failure
    from odradek.client.security.settings import UNPROTECTED

    error = TlsFailed("x", cause=cause)
    with contextlib.closing(socket.socket()) as closed:
        closed.bind(("127.0.0.1", 0))  # nobody listens there
        address = Address(*closed.getsockname())
        found = tls_failure(address, PATIENCE_S, error, UNPROTECTED)
    assert not found.is_ok
    assert len(found.advice) > 20
