from pathlib import Path

import pytest

from odradek.broker.security.certificates.context import make_server_tls
from odradek.broker.security.certificates.stores import StoreError, read_trusted
from tests.broker.security.certificates.options import bare_options
from tests.certificates import authority, server

pytest.importorskip("cryptography")
NOW_S = 1_800_000_000.0


@pytest.fixture
def keystore() -> Path:
    return authority().pkcs12(server(), "secret")


@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
def test_a_keystore_of_java_is_read_whatever_it_is_called(
    keystore: Path, kind: str
) -> None:
    options = bare_options(
        ssl_keystore_location=keystore,
        ssl_keystore_type=kind,
        ssl_keystore_password="secret",
    )
    assert make_server_tls(options, NOW_S).certificate.names == {
        "localhost",
        "127.0.0.1",
    }


def test_trust_is_read_from_one(keystore: Path) -> None:
    options = bare_options(
        ssl_truststore_location=keystore, ssl_truststore_password="secret"
    )
    trusted = read_trusted(options)
    assert trusted is not None
    assert trusted.certificates.count("BEGIN CERTIFICATE") == 2


def test_a_wrong_password_is_said(keystore: Path) -> None:
    options = bare_options(ssl_keystore_location=keystore, ssl_keystore_password="no")
    with pytest.raises(StoreError, match="the password is wrong, or the file is"):
        make_server_tls(options, NOW_S)
