"""S028: why a client cannot connect, in the words that the operator gets."""

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.client.address import Address
from odradek.client.diagnosis import Finding, diagnose
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import FindCoordinatorRequest
from odradek.protocol.messages.metadata import MetadataRequest
from tests.broker_process import BrokerProcess
from tests.fakes.scripted import scripted_cluster
from tests.patience import PATIENCE_S

TIMEOUT_S = 0.5


def findings(*addresses: Address, timeout_s: float = PATIENCE_S) -> list[Finding]:
    return list(diagnose(addresses, timeout_s))


def failed(*addresses: Address, timeout_s: float = PATIENCE_S) -> Finding:
    found = findings(*addresses, timeout_s=timeout_s)
    (failure,) = (each for each in found if not each.is_ok)
    assert failure.advice
    return failure


@contextlib.contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[Address]:
    """Somebody at a free port, for one connection after the other."""
    server = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                connection.settimeout(PATIENCE_S)
                with connection, contextlib.suppress(OSError):
                    serve(connection)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield Address(*server.getsockname())
    finally:
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(10)


def test_all_is_well(broker: BrokerProcess) -> None:
    found = findings(Address("127.0.0.1", broker.port))
    assert all(each.is_ok for each in found)
    assert [each.check for each in found] == [
        *("name", "connection", "protocol", "metadata", "rights", "groups"),
    ]
    assert "Produce 0-13" in found[2].detail


def test_a_name_that_nobody_knows() -> None:
    finding = failed(Address("no-such-host.invalid", 9092))
    assert finding.check == "name"
    assert "no-such-host.invalid has no address" in finding.detail


def test_a_port_where_nobody_listens() -> None:
    with listening(lambda _: None) as address:
        pass
    finding = failed(address)
    assert (finding.check, finding.detail) == (
        "connection",
        "refused: nothing listens on that port",
    )
    assert f"'odradek serve --port {address.port}' starts one" in finding.advice


def test_a_web_server() -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with listening(serve) as address:
        assert failed(address).detail == "a web server answers"


def test_who_hangs_up_and_who_says_nothing() -> None:
    with listening(lambda connection: None) as address:
        assert failed(address).detail.startswith("no broker, or a broken one")
    over = threading.Event()
    with listening(lambda connection: over.wait(PATIENCE_S) and None) as address:
        assert "no answer in 0.5 s" in failed(address, timeout_s=TIMEOUT_S).detail
        over.set()


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    made += ["-keyout", str(key), "-out", str(certificate), "-subj", "/CN=localhost"]
    try:
        subprocess.run(made, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl makes no certificate here")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def test_a_listener_that_expects_tls(tls: ssl.SSLContext) -> None:
    def serve(connection: socket.socket) -> None:
        with tls.wrap_socket(connection, server_side=True) as wrapped:
            wrapped.recv(1)

    with listening(serve) as address:
        finding = failed(address)
    assert finding.detail == "it expects TLS"
    assert "security.protocol=SSL" in finding.advice


def test_a_listener_that_expects_sasl() -> None:
    with scripted_cluster() as script:
        script.script(MetadataRequest, lambda request, version: None)
        finding = failed(script.brokers[1].address)
    assert finding.check == "metadata"
    assert "(SASL expected)" in finding.detail


def test_a_controller_is_no_broker() -> None:
    with scripted_cluster() as script:
        del script.brokers[1].answers[MetadataRequest]
        finding = failed(script.brokers[1].address)
    assert finding.detail == "a controller, which serves no clients"


def test_an_advertised_address_that_leads_nowhere() -> None:
    with scripted_cluster(2) as script:
        script.brokers[2].close()
        finding = failed(script.brokers[1].address)
    assert finding.target.startswith("broker 2 (127.0.0.1:")
    assert finding.advice.startswith("Clients are told this address by the broker")


def test_partitions_without_a_leader() -> None:
    with scripted_cluster() as script:
        script.leaders = {"t": [1, -1], "u": [-1]}
        finding = failed(script.brokers[1].address)
    assert (finding.target, finding.detail) == (
        "2 partitions",
        "without a leader: t-1, u-0",
    )


def test_no_coordinator_for_groups() -> None:
    with scripted_cluster() as script:
        script.coordinator_errors = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 100
        finding = failed(script.brokers[1].address, timeout_s=2)
        assert finding.check == "groups"
        assert finding.detail.startswith("COORDINATOR_NOT_AVAILABLE: ")
        assert script.brokers[1].asked_for(FindCoordinatorRequest) > 1


def test_one_of_several_bootstrap_addresses_is_enough_to_go_on() -> None:
    with scripted_cluster(2) as script:
        known = [each.address for each in script.brokers.values()]
        found = findings(Address("no-such-host.invalid", 1), *known)
    assert [each.is_ok for each in found] == [False] + [True] * 12
