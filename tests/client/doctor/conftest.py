"""Listeners of every kind, and clients with every mistake."""

import contextlib
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.client.address import Address
from odradek.client.diagnosis import diagnose
from odradek.client.doctor.finding import Finding
from odradek.client.security.options import read_security
from tests.authority import Authority
from tests.broker_process import running_broker
from tests.fakes.scripted import ScriptedBroker, scripted_cluster
from tests.patience import PATIENCE_S

Serve = Callable[..., ScriptedBroker]
FAR = "20990101000000Z"
NAMES = ("SASL_SSL", "SSL", "MTLS", "SASL_PLAINTEXT", "PLAINTEXT")


@pytest.fixture(scope="package")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="package")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stranger"), "stranger")


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A broker with this certificate; with ``trusted`` it wants ours."""
    with contextlib.ExitStack() as stack:

        def begin(identity: Path, trusted: Path | None = None) -> ScriptedBroker:
            broker = stack.enter_context(scripted_cluster()).brokers[1]
            broker.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            broker.tls.load_cert_chain(identity)
            if trusted is not None:
                # Of 1.3 the alert can be lost: it follows what the client sends.
                broker.tls.maximum_version = ssl.TLSVersion.TLSv1_2
                broker.tls.verify_mode = ssl.CERT_REQUIRED
                broker.tls.load_verify_locations(trusted)
            return broker

        yield begin


@pytest.fixture(scope="package")
def listeners(
    ca: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Address]]:
    """A broker with a listener of each kind, and the user alice, who may nothing."""
    from odradek.broker.cli.admin.admin_client import ask
    from odradek.broker.cli.main import main

    folder = tmp_path_factory.mktemp("listeners")
    pem = ca.issue("broker", "IP:127.0.0.1", "DNS:localhost", to_date=FAR)
    kinds = {name: "SSL" if name == "MTLS" else name for name in NAMES}
    protocols = ",".join(map(":".join, kinds.items()))
    options = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in NAMES),
        "listener.security.protocol.map": protocols,
        "ssl.certificate.file": str(pem),
        "listener.name.mtls.ssl.client.auth": "required",
        "ssl.ca.file": str(ca.certificate),
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "authorizer.class.name": "acl",
        "super.users": "User:admin",
    }
    pairs = [word for each in options.items() for word in ("-o", "=".join(each))]
    with running_broker(folder / "data", *pairs) as broker:
        (folder / "password").write_text("open sesame")
        for user in "admin", "alice":
            given = [user, "--password-file", str(folder / "password")]
            given += ["--data-dir", str(folder / "data")]
            assert main(["user", "set", *given]) == 0
        found = list(ask(folder / "data", {"request": "listeners"}, PATIENCE_S))
        yield {each["name"]: Address(each["host"], each["port"]) for each in found}
        assert "Traceback" not in broker.log()


def findings(address: Address, **options: str) -> list[Finding]:
    """What is found by a client with these options; dots are underscores."""
    named = {name.replace("_", "."): value for name, value in options.items()}
    security = read_security(named) if named else None
    return list(diagnose([address], PATIENCE_S, security))


def failure(address: Address, **options: str) -> Finding:
    """The one that fails."""
    (found,) = [each for each in findings(address, **options) if not each.is_ok]
    assert found.advice
    return found


def login(user: str = "alice", password: str = "open sesame") -> dict[str, str]:
    return {
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": user,
        "sasl_password": password,
    }
