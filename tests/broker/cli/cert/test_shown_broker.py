from pathlib import Path

import pytest

from odradek.broker.cli.cert.shown_broker import (
    UNKNOWN,
    USUAL,
    ShownBroker,
    shown_broker,
)
from odradek.broker.config.sources import load
from odradek.broker.security.issuing.issuer import IssuingError
from odradek.broker.security.issuing.key_folder import KeyFolder


def shown(folder: Path, *lines: str, file: str = "server.properties") -> ShownBroker:
    (folder / file).write_text("\n".join(lines))
    return shown_broker(KeyFolder(folder))


def test_a_folder_without_a_broker_has_the_usual_one(tmp_path: Path) -> None:
    assert shown_broker(KeyFolder(tmp_path)) == ShownBroker(USUAL)
    assert shown(tmp_path, "log.dirs=/data") == ShownBroker(USUAL)


@pytest.mark.parametrize(
    ("lines", "bootstrap"),
    [
        (("listeners=SSL://127.0.0.1:7",), "127.0.0.1:7"),
        (("listeners=SSL://:7",), "127.0.0.1:7"),
        (("listeners=SSL://[::1]:7",), "[::1]:7"),
        (("listeners=SASL_SSL://:6, SSL://0.0.0.0:7",), "127.0.0.1:7"),
        (("listeners=SSL://:0",), UNKNOWN),
        (
            ("listeners=SSL://:7", "advertised.listeners=SSL://kafka.example.com:8"),
            "kafka.example.com:8",
        ),
        (
            (
                "listeners=INSIDE://127.0.0.1:7",
                "listener.security.protocol.map=INSIDE:SSL",
            ),
            "127.0.0.1:7",
        ),
    ],
)
def test_where_certificates_are_shown(
    tmp_path: Path, lines: tuple[str, ...], bootstrap: str
) -> None:
    assert shown(tmp_path, *lines) == ShownBroker(bootstrap)


def test_what_a_broker_lacks_that_asks_for_no_certificate(tmp_path: Path) -> None:
    found = shown(
        tmp_path,
        "listeners=SASL_SSL://0.0.0.0:7,PLAINTEXT://127.0.0.1:8",
        "advertised.listeners=SASL_SSL://kafka.example.com:7",
    )
    assert found.bootstrap == "kafka.example.com:9"
    assert found.missing == (
        (
            "listeners",
            "SASL_SSL://0.0.0.0:7,PLAINTEXT://127.0.0.1:8,SSL://0.0.0.0:9",
        ),
        (
            "advertised.listeners",
            "SASL_SSL://kafka.example.com:7,SSL://kafka.example.com:9",
        ),
        ("ssl.client.auth", "required"),
        ("ssl.ca.file", str(tmp_path / "ca.pem")),
    )
    # A broker starts with that.
    more = {
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "ssl.certificate.file": "/server.pem",
    }
    load(None, {}, [f"{name}={x}" for name, x in (*found.missing, *more.items())])


def test_the_broker_of_a_data_directory_is_known_by_its_first_client(
    tmp_path: Path,
) -> None:
    """`odradek serve --secure` leaves no file of the broker's options."""
    file = "client.properties"
    found = shown(tmp_path, "bootstrap.servers=127.0.0.1:9092", file=file)
    assert found.bootstrap == "127.0.0.1:9093"
    assert found.missing[0] == (
        "listeners",
        "SASL_SSL://127.0.0.1:9092,SSL://127.0.0.1:9093",
    )
    several = shown(tmp_path, "bootstrap.servers=127.0.0.1:9092, b:9092", file=file)
    assert several == found
    with pytest.raises(IssuingError, match=r"client\.properties: 'SASL_SSL://x' is"):
        shown(tmp_path, "bootstrap.servers=x", file=file)
    assert shown(tmp_path, "sasl.mechanism=PLAIN", file=file) == ShownBroker(USUAL)


def test_any_port_stays_any_port(tmp_path: Path) -> None:
    found = shown(tmp_path, "listeners=SASL_SSL://127.0.0.1:0")
    assert found.bootstrap == UNKNOWN
    assert found.missing[0][1] == "SASL_SSL://127.0.0.1:0,SSL://127.0.0.1:0"


def test_options_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(IssuingError, match=r"server\.properties: 'x' is not like"):
        shown(tmp_path, "listeners=x")
    (tmp_path / "server.properties").write_bytes(b"\xff")
    with pytest.raises(IssuingError, match=r"server\.properties is no text"):
        shown_broker(KeyFolder(tmp_path))
