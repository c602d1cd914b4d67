import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.security.certificates.stores import (
    StoreError,
    read_key_pair,
    read_trusted,
)
from tests.broker.security.certificates.options import bare_options, tls_options
from tests.certificates import authority, server
from tests.patience import PATIENCE_S

PEM: dict[str, Any] = {"ssl_keystore_type": "PEM", "ssl_truststore_type": "PEM"}


def test_pem_is_read_from_our_files_from_one_file_and_from_the_options(
    tmp_path: Path,
) -> None:
    certificate, key = (each.read_text() for each in server())
    one_file = tmp_path / "both.pem"
    one_file.write_text(f"a comment\n{key}{certificate}")
    in_one_line = certificate.replace("\n", " ")
    pairs = [
        read_key_pair(each)
        for each in (
            tls_options(),
            bare_options(ssl_certificate_file=one_file),
            bare_options(**PEM, ssl_keystore_location=one_file),
            bare_options(
                **PEM, ssl_keystore_key=key, ssl_keystore_certificate_chain=in_one_line
            ),
        )
    ]
    assert {(pair.chain.strip(), pair.key.strip()) for pair in pairs} == {
        (certificate.strip(), key.strip())
    }


def test_trust_is_read_from_our_file_from_kafkas_and_from_the_options() -> None:
    file, text = authority().certificate, authority().certificate.read_text()
    for options in (
        tls_options(),
        bare_options(**PEM, ssl_truststore_location=file),
        bare_options(**PEM, ssl_truststore_certificates=text.replace("\n", "\\n")),
    ):
        trusted = read_trusted(options)
        assert trusted is not None
        assert trusted.certificates == text
    assert read_trusted(bare_options()) is None


@pytest.mark.parametrize(
    ("content", "options", "complaint"),
    [
        (None, {}, r"cannot read ssl\.keystore\.location=.*No such file"),
        (b"\xfe\xed\xfe\xed\0", {}, "keytool -importkeystore .* -deststoretype PKCS12"),
        (b"\xce\xce\xce\xce\0", {}, "-srcstoretype JCEKS"),
        (b"\xfe\xed\xfe\xed\0", PEM, "is not PEM"),
        (b"-----BEGIN CERTIFICATE-----", {}, r"add ssl\.keystore\.type=PEM"),
        (b"hello", {}, "neither PEM nor PKCS12"),
        (b"hello", PEM, "there is no certificate"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(
    tmp_path: Path, content: bytes | None, options: dict[str, Any], complaint: str
) -> None:
    path = tmp_path / "keystore"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StoreError, match=complaint):
        read_key_pair(bare_options(ssl_keystore_location=path, **options))


@pytest.mark.skipif(not shutil.which("keytool"), reason="needs the JDK")
def test_the_line_for_a_true_jks_works_as_it_stands(tmp_path: Path) -> None:
    folder = tmp_path / "with a blank"
    folder.mkdir()
    path, password = folder / "broker.p12", "changeit"  # a JKS, whatever it is called
    names = ["-alias", "broker", "-dname", "CN=broker,O=Example", "-keyalg", "EC"]
    given = ["-storetype", "JKS", "-storepass", password, "-keypass", password]
    made = ["keytool", "-genkeypair", "-keystore", str(path), *given, *names]
    subprocess.run(made, check=True, capture_output=True, timeout=PATIENCE_S)
    options = {"ssl_keystore_password": password}
    with pytest.raises(StoreError) as refused:
        read_key_pair(bare_options(ssl_keystore_location=path, **options))
    line = re.search(r"keytool .*? PKCS12(?=;)", str(refused.value))
    new = re.search(
        r"then set ssl\.keystore\.location=(.*?) and ssl", str(refused.value)
    )
    assert line
    assert new
    subprocess.run(
        line[0],
        shell=True,
        input=f"{password}\n" * 3,
        text=True,
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    pair = read_key_pair(bare_options(ssl_keystore_location=Path(new[1]), **options))
    assert pair.key.startswith("-----BEGIN PRIVATE KEY-----")


def test_who_else_can_read_or_write_a_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A22"""
    path, link = tmp_path / "it.pem", tmp_path / "link.pem"
    path.write_text("".join(each.read_text() for each in server()))
    link.symlink_to(path)
    options = bare_options(ssl_certificate_file=link)
    path.chmod(0o640)
    read_key_pair(options)
    assert not caplog.text
    path.chmod(0o644)
    read_key_pair(options)
    assert f"can read it (mode 644): chmod 600 {link}" in caplog.text
    path.chmod(0o666)
    with pytest.raises(StoreError, match="can be written by everybody"):
        read_key_pair(options)


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    """A22"""
    pipe, loop = tmp_path / "pipe", tmp_path / "loop"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for path, complaint in (
        (pipe, "is no file"),
        (tmp_path, "Is a directory"),
        (Path("/dev/zero"), "is no file"),
        (loop, "Too many levels of symbolic links"),
    ):
        with pytest.raises(StoreError, match=complaint):
            read_key_pair(bare_options(ssl_certificate_file=path))


def test_a_certificate_without_a_key_is_not_enough() -> None:
    with pytest.raises(StoreError, match="there is no key"):
        read_key_pair(bare_options(ssl_certificate_file=server().certificate))


def test_who_has_none_is_told_what_to_set() -> None:
    with pytest.raises(StoreError, match=r"set ssl\.certificate\.file and ssl\.key"):
        read_key_pair(bare_options())
