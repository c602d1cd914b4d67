import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.client.cluster import Cluster
from odradek.client.connection import Connection
from odradek.client.errors import TlsCause, TlsFailed
from odradek.client.security.names import SecurityOptionError
from odradek.client.security.options import read_security
from odradek.client.security.settings import Security
from odradek.client.security.tls import open_tls
from tests.authority import Authority, openssl
from tests.fakes.scripted import ScriptedBroker, scripted_cluster
from tests.patience import PATIENCE_S

Serve = Callable[..., ScriptedBroker]


@pytest.fixture
def serve(identity: Path) -> Iterator[Serve]:
    """A broker that speaks TLS, or does not for None."""
    with contextlib.ExitStack() as stack:

        def begin(path: Path | None = identity, trusted: Path | None = None) -> object:
            broker = stack.enter_context(scripted_cluster()).brokers[1]
            if path is not None:
                broker.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                broker.tls.load_cert_chain(path)
                if trusted is not None:
                    # Of 1.3 the alert can be lost: it follows what the client sends.
                    broker.tls.maximum_version = ssl.TLSVersion.TLSv1_2
                    broker.tls.verify_mode = ssl.CERT_REQUIRED
                    broker.tls.load_verify_locations(trusted)
            return broker

        yield begin  # type: ignore[misc]


def security(ca: Authority | None, **more: str) -> Security:
    options = {"security.protocol": "SSL"}
    if ca is not None:
        options["ssl.ca.location"] = str(ca.certificate)
    return read_security(
        options | {name.replace("_", "."): value for name, value in more.items()}
    )


def failure(broker: ScriptedBroker, of: Security) -> str:
    with pytest.raises(TlsFailed) as caught:
        Connection(*broker.address, security=of, timeout_s=PATIENCE_S)
    return str(caught.value)


def test_requests_go_through_tls(serve: Serve, ca: Authority) -> None:
    address = serve().address
    with Cluster([address], security=security(ca), timeout_s=PATIENCE_S) as cluster:
        assert list(cluster.metadata().brokers) == [1]


def test_a_server_that_is_not_who_it_should_be(
    serve: Serve, ca: Authority, tmp_path: Path
) -> None:
    assert "nobody whom we trust: name its CA" in failure(serve(), security(None))
    other = serve(ca.issue("elsewhere", "DNS:kafka-1", "IP:10.0.0.1"))
    assert "for other names, not for 127.0.0.1" in failure(other, security(ca))
    unchecked = security(ca, ssl_endpoint_identification_algorithm="")
    Connection(*other.address, security=unchecked, timeout_s=PATIENCE_S).close()
    old = ca.issue("old", "IP:127.0.0.1", to_date="20200102000000Z")
    assert "has expired" in failure(serve(old), security(ca))
    blind = security(None, enable_ssl_certificate_verification="false")
    Connection(*serve(old).address, security=blind, timeout_s=PATIENCE_S).close()
    later = ca.issue("later", "IP:127.0.0.1", from_date="20990101000000Z")
    assert "is not valid yet" in failure(serve(later), security(ca))


def test_certificates_of_clients(
    serve: Serve, ca: Authority, identity: Path, tmp_path: Path
) -> None:
    strict = serve(trusted=ca.certificate)
    assert "wants a certificate of ours" in failure(strict, security(ca))
    mine = security(ca, ssl_certificate_location=str(identity))
    Connection(*strict.address, security=mine, timeout_s=PATIENCE_S).close()
    stranger = Authority(tmp_path, "stranger").issue("client")
    other = security(ca, ssl_certificate_location=str(stranger))
    said = failure(strict, other)
    assert (
        "refuses our certificate (tlsv1 alert unknown ca): ssl.certificate.loc" in said
    )
    assert said.endswith("valid today, and issued by whom the broker trusts")
    old = str(ca.issue("old", to_date="20200102000000Z"))
    said = failure(strict, security(ca, ssl_certificate_location=old))
    assert said.endswith(
        "refuses our certificate, which has expired: ssl.certificate.location has to"
        " name a new one"
    )


def send_much(client: ssl.SSLSocket) -> None:
    for _ in range(1000):  # the first may go out before the kernel says who is there
        client.send(b"anything")


def test_a_refusal_after_the_handshake_is_read_when_nothing_can_be_sent(
    ca: Authority, identity: Path
) -> None:
    """With TLS 1.3 a broker has refused and closed before we send what we want."""
    strict = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    strict.minimum_version = ssl.TLSVersion.TLSv1_3
    strict.load_cert_chain(identity)
    strict.verify_mode = ssl.CERT_REQUIRED
    strict.load_verify_locations(ca.certificate)
    old = str(ca.issue("old", to_date="20200102000000Z"))
    of = security(ca, ssl_certificate_location=old)
    assert of.tls is not None
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            with contextlib.suppress(ssl.SSLError):
                strict.wrap_socket(listener.accept()[0], server_side=True)

        thread = threading.Thread(target=refuse)
        thread.start()
        plain = socket.create_connection(listener.getsockname(), PATIENCE_S)
        with open_tls(plain, of.tls, "127.0.0.1") as client:
            thread.join()
            with pytest.raises(TlsFailed, match="which has expired") as caught:
                send_much(client)
    assert caught.value.cause is TlsCause.CERTIFICATE_REFUSED


def test_a_key_that_is_locked(
    serve: Serve, ca: Authority, identity: Path, tmp_path: Path
) -> None:
    locked = tmp_path / "locked.key"
    key = str(identity.with_suffix(".key"))
    words = ("-in", key, "-out", str(locked), "-passout", "pass:open")
    openssl("pkey", "-aes256", *words)
    options = {
        "ssl_certificate_location": str(identity.with_suffix(".crt")),
        "ssl_key_location": str(locked),
    }
    mine = security(ca, **options, ssl_key_password="open")
    strict = serve(trusted=ca.certificate)
    Connection(*strict.address, security=mine, timeout_s=PATIENCE_S).close()
    with pytest.raises(SecurityOptionError, match="does not open the key") as caught:
        security(ca, **options, ssl_key_password="marker")
    assert "marker" not in str(caught.value)


def test_who_does_not_speak_tls(ca: Authority) -> None:
    def hang_up() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=hang_up)
        thread.start()
        address = server.getsockname()
        with pytest.raises(TlsFailed, match="does its listener speak TLS"):
            Connection(*address, security=security(ca), timeout_s=PATIENCE_S)
        thread.join()


def test_no_version_in_common(serve: Serve, ca: Authority) -> None:
    broker = serve()
    assert broker.tls is not None
    broker.tls.maximum_version = ssl.TLSVersion.TLSv1_2
    later = security(ca, ssl_enabled_protocols="TLSv1.3")
    assert "no version of TLS in common" in failure(broker, later)


def test_what_fails_is_not_tried_again(serve: Serve) -> None:
    address = serve().address
    with (
        Cluster([address], security=security(None), timeout_s=PATIENCE_S) as cluster,
        pytest.raises(TlsFailed, match=f"{address}: its certificate was issued"),
    ):
        cluster.metadata()


def test_ciphers_that_nobody_knows() -> None:
    with pytest.raises(SecurityOptionError, match="OpenSSL knows none of NO-SUCH"):
        security(None, ssl_cipher_suites="NO-SUCH")
