import os
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from odradek.broker.cli.node.first_start import prepare
from odradek.broker.config.secure_defaults import FirstUser
from odradek.broker.config.settings import Flags
from odradek.broker.config.sources import load
from odradek.broker.runtime.start_error import StartError
from odradek.broker.security.certificates.certificate import parse_certificate
from tests.broker_process import BrokerProcess

FILES = [
    "admin.password",
    "ca.key",
    "ca.pem",
    "client.properties",
    "librdkafka.properties",
    "server.pem",
]


@pytest.fixture
def broker(tmp_path: Path) -> BrokerProcess:
    process = BrokerProcess(tmp_path / "data", ["--secure"])
    process.is_forked = False
    return process


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_first_start_makes_all_and_the_next_nothing(
    broker: BrokerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data" / "security"
    try:
        broker.start()
        made = contents(folder)
        assert list(made) == FILES
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
            0o600,
            0o644,
        }
        password = made["admin.password"].decode().strip()
        asked = ["--command-config", str(folder / "client.properties")]
        asked += ["--bootstrap-server", broker.address]
        assert main(["topic", "create", "orders", *asked]) == 0
        assert main(["topic", "list", "--bootstrap-server", broker.address]) == 1
        # Whoever takes the password away from the folder has changed it by hand.
        given = ["--data-dir", str(tmp_path / "data")]
        assert main(["user", "remove", "admin", *given]) == 0
        broker.terminate()
        broker.start()
        assert contents(folder) == made
        assert main(["topic", "list", *asked]) == 1
        assert password not in broker.log()
        assert "Traceback" not in broker.log()
        assert broker.log().count("the first user is admin") == 1
    finally:
        broker.kill()


def test_a_file_has_the_password_and_no_other_gets_it(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("open sesame\n")
    broker = BrokerProcess(tmp_path / "data")
    broker.environment |= {
        "ODRADEK_SECURE": "true",
        "ODRADEK_ADMIN_USER": "root",
        "ODRADEK_ADMIN_PASSWORD_FILE": str(file),
    }
    folder = tmp_path / "data" / "security"
    options = tmp_path / "client.properties"
    options.write_text(
        f"security.protocol=SASL_SSL\nssl.ca.location={folder}/ca.pem\n"
        "sasl.mechanism=SCRAM-SHA-256\nsasl.username=root\nsasl.password=open sesame\n"
    )
    try:
        broker.start()
        asked = ["--command-config", str(options), "--bootstrap-server", broker.address]
        assert main(["acl", "list", *asked]) == 0
        assert list(contents(folder)) == ["ca.key", "ca.pem", "server.pem"]
        found = b"".join(
            path.read_bytes()
            for path in (tmp_path / "data").rglob("*")
            if path.is_file()
        )
        assert b"open sesame" not in found
        assert "open sesame" not in broker.log()
    finally:
        broker.kill()


def test_the_certificate_is_for_all_that_clients_are_told(tmp_path: Path) -> None:
    import ssl

    listeners = "A://:1,B://192.0.2.1:2"
    told = "A://a.example:1,B://b.example:2"
    pairs = [
        f"listeners={listeners}",
        f"advertised.listeners={told}",
        "listener.security.protocol.map=A:SASL_SSL,B:SASL_SSL",
    ]
    flags = Flags(secure=True, data_dir=str(tmp_path / "data"))
    config = load(None, {}, pairs, flags).config
    prepare(config, FirstUser("admin", None), secure=True)
    text = (tmp_path / "data" / "security" / "server.pem").read_text()
    first = text[text.index("-----BEGIN CERT") :].split("-----END CERT")[0]
    encoded = ssl.PEM_cert_to_DER_cert(f"{first}-----END CERTIFICATE-----\n")
    names = parse_certificate(encoded).names
    assert {"a.example", "b.example", "192.0.2.1", "localhost", "127.0.0.1"} <= names
    options = (tmp_path / "data" / "security" / "client.properties").read_text()
    assert "bootstrap.servers=a.example:1\n" in options


@pytest.mark.parametrize("content", [None, ""])
def test_without_a_password_it_does_not_start(
    tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_text(content)
    environment = {
        "ODRADEK_ADMIN_USER": "root",
        "ODRADEK_ADMIN_PASSWORD_FILE": str(file),
    }
    config = load(None, {}, [], Flags(data_dir=str(tmp_path / "data"))).config
    with pytest.raises(StartError, match="secret: "):
        prepare(config, FirstUser("root", str(file)), secure=False)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "odradek",
            "serve",
            "--data-dir",
            str(tmp_path / "data"),
        ],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
