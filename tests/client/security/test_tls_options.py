from pathlib import Path

import pytest

from odradek.client.security.names import SecurityOptionError
from odradek.client.security.settings import Secret
from odradek.client.security.tls_options import read_tls
from tests.authority import Authority, openssl


def refused(options: dict[str, str]) -> str:
    with pytest.raises(SecurityOptionError) as caught:
        read_tls(options)
    return str(caught.value)


def test_without_options_this_machine_says_whom_to_trust() -> None:
    tls = read_tls({})
    assert not tls.trusted
    assert not tls.certificate
    assert tls.checks_certificate
    assert tls.checks_host_name
    assert read_tls({"ssl.ca.location": "probe"}) == tls


def test_one_file_or_two_or_the_text_itself(ca: Authority, identity: Path) -> None:
    one = read_tls({"ssl.keystore.location": str(identity)})
    assert one.certificate == one.key
    key = identity.with_suffix(".key")
    two = read_tls(
        {
            "ssl.certificate.location": str(identity.with_suffix(".crt")),
            "ssl.key.location": str(key),
        }
    )
    assert two.key.text.value == key.read_text()
    # In one line, as a file of properties has it.
    text = " ".join(key.read_text().split("\n"))
    chain = " ".join(identity.with_suffix(".crt").read_text().split("\n"))
    options = {"ssl.keystore.key": text, "ssl.keystore.certificate.chain": chain}
    inline = read_tls(options)
    assert inline.key.text == two.key.text
    assert inline.certificate.text == two.certificate.text


def test_the_host_name_is_checked_unless_somebody_says_no() -> None:
    name = "ssl.endpoint.identification.algorithm"
    assert read_tls({name: "HTTPS"}).checks_host_name
    assert not read_tls({name: ""}).checks_host_name
    assert not read_tls({name: "none"}).checks_host_name
    assert "is https, or empty" in refused({name: "http"})
    off = {"enable.ssl.certificate.verification": "false"}
    assert not read_tls(off).checks_certificate


def test_ciphers_by_both_names() -> None:
    java = (
        "TLS_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,"
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA"
    )
    tls = read_tls({"ssl.cipher.suites": java})
    assert tls.ciphers == (
        "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:AES128-SHA"
    )
    assert tls.versions == ("TLSv1.2", "TLSv1.3")
    tls = read_tls({"ssl.cipher.suites": "ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA"})
    assert tls.versions == ("TLSv1.2",)  # no suite of 1.3 was named
    later = read_tls({"ssl.cipher.suites": "TLS_AES_128_GCM_SHA256"})
    assert later.versions == ("TLSv1.3",)
    both = {"ssl.cipher.suites": "AES128-SHA", "ssl.enabled.protocols": "TLSv1.3"}
    assert "has none" in refused(both)


def test_versions() -> None:
    tls = read_tls({"ssl.enabled.protocols": "TLSv1.3"})
    assert tls.versions == ("TLSv1.3",)
    assert "not 'TLSv1.1'" in refused({"ssl.enabled.protocols": "TLSv1.1"})


def test_files_that_are_no_pem_come_with_what_makes_one(
    tmp_path: Path, identity: Path
) -> None:
    store = tmp_path / "trust.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    assert f"keytool -importkeystore -srckeystore {store} " in refused(
        {"ssl.truststore.location": str(store)}
    )
    pkcs12 = tmp_path / "trust.p12"
    words = ("-in", str(identity), "-out", str(pkcs12), "-passout", "pass:x")
    openssl("pkcs12", "-export", *words)
    line = f"openssl pkcs12 -in {pkcs12} -out {tmp_path}/trust.pem -nodes"
    assert line in refused({"ssl.truststore.location": str(pkcs12)})
    plain = tmp_path / "plain"
    plain.write_text("nothing")
    assert "has no PEM in it" in refused({"ssl.ca.location": str(plain)})
    assert "No such file" in refused({"ssl.ca.location": str(tmp_path / "none")})


def test_contradictions(ca: Authority, identity: Path, tmp_path: Path) -> None:
    path, key = str(ca.certificate), str(identity.with_suffix(".key"))
    both = {"ssl.ca.location": path, "ssl.truststore.location": path}
    assert "is set, and ssl.truststore.location too" in refused(both)
    assert "a key without a certificate" in refused({"ssl.key.location": key})
    assert "no private key" in refused({"ssl.certificate.location": path})
    assert "has no certificate" in refused({"ssl.ca.location": key})
    password = {"ssl.truststore.password": "marker", "ssl.truststore.location": path}
    assert "ssl.truststore.password: files of PEM have none" in refused(password)
    locked = tmp_path / "locked.key"
    words = ("-aes256", "-passout", "pass:x", "-out", str(locked))
    openssl("pkey", "-in", key, *words)
    options = {
        "ssl.certificate.location": str(identity),
        "ssl.key.location": str(locked),
    }
    assert "is not set, and the key is encrypted" in refused(options)
    tls = read_tls({**options, "ssl.key.password": "x"})
    assert tls.key_password == Secret("x")
