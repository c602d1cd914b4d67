import sys
from pathlib import Path

import pytest

from odradek.broker.config.image_secrets import SECRETS_VARIABLE, of_secrets
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.sources import load
from tests.broker_process import BrokerProcess
from tests.certificates import authority, server

PASSWORD = "open sesame"


@pytest.fixture
def secrets(tmp_path: Path) -> dict[str, str]:
    """The variables of a compose file for apache/kafka, with keystores of PKCS12."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    store = authority().pkcs12(server(), PASSWORD)
    (folder / "broker.p12").write_bytes(store.read_bytes())
    (folder / "credentials").write_text(f"{PASSWORD}\n")
    return {
        SECRETS_VARIABLE: str(folder),
        "KAFKA_SSL_KEYSTORE_FILENAME": "broker.p12",
        "KAFKA_SSL_KEYSTORE_CREDENTIALS": "credentials",
        "KAFKA_SSL_KEY_CREDENTIALS": "credentials",
        "KAFKA_LISTENERS": "SSL://127.0.0.1:0",
    }


def test_a_broker_starts_with_them(secrets: dict[str, str], tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data")
    broker.environment |= secrets
    try:
        broker.start()
        if sys.platform == "linux":
            environment = Path(f"/proc/{broker.pid}/environ").read_bytes()
            command = Path(f"/proc/{broker.pid}/cmdline").read_bytes()
            assert PASSWORD.encode() not in environment + command
        assert PASSWORD not in broker.log()
    finally:
        broker.kill()


def test_a_truststore_too(secrets: dict[str, str]) -> None:
    given = secrets | {
        "KAFKA_SSL_TRUSTSTORE_FILENAME": "broker.p12",
        "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "credentials",
        "KAFKA_SSL_CLIENT_AUTH": "required",
    }
    config = load(None, given).config
    assert config.ssl_truststore_password == PASSWORD
    assert config.ssl_truststore_location == config.ssl_keystore_location
    nothing = {"KAFKA_SSL_KEY_CREDENTIALS": ""}
    assert of_secrets("KAFKA_SSL_KEY_CREDENTIALS", nothing) == []


def test_a_file_that_is_of_no_use_is_named(secrets: dict[str, str]) -> None:
    folder = Path(secrets[SECRETS_VARIABLE])
    (folder / "bytes").write_bytes(b"\xff")
    (folder / "much").write_text("x" * 5000)
    for variable, name, said in (
        ("KAFKA_SSL_KEYSTORE_FILENAME", "nowhere", "there is no file"),
        ("KAFKA_SSL_KEYSTORE_CREDENTIALS", "nowhere", "No such file"),
        ("KAFKA_SSL_KEYSTORE_CREDENTIALS", "bytes", "it is no text"),
        ("KAFKA_SSL_KEYSTORE_CREDENTIALS", "much", "that is no password"),
    ):
        with pytest.raises(OptionError, match=said) as refused:
            load(None, secrets | {variable: name})
        assert str(refused.value).startswith(f"environment {variable}: ")
