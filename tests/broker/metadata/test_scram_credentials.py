import hashlib
import hmac
from base64 import b64decode
from pathlib import Path

from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.resource_options import ResourceOptions
from odradek.broker.metadata.scram_credentials import ScramCredential, ScramCredentials
from odradek.protocol.scram import Mechanism

# The example of RFC 7677: the password is "pencil".
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
ITERATIONS = 4096
NONCE = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SAID = (
    f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
    f"c=biws,r={NONCE}"
).encode()
PROOF = b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
SIGNATURE = b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def example() -> ScramCredential:
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", SALT, ITERATIONS)
    return ScramCredential.of(Mechanism.SCRAM_SHA_256, ITERATIONS, SALT, salted)


def test_a_login_can_be_checked_with_the_keys() -> None:
    credential = example()
    assert hmac.digest(credential.server_key, SAID, "sha256") == SIGNATURE
    signed = hmac.digest(credential.stored_key, SAID, "sha256")
    client_key = bytes(a ^ b for a, b in zip(PROOF, signed, strict=True))
    assert hashlib.sha256(client_key).digest() == credential.stored_key
    assert ScramCredential.read(str(credential)) == credential


async def test_credentials_are_kept(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    credentials = ScramCredentials(ResourceOptions(catalog))
    await credentials.put("u", Mechanism.SCRAM_SHA_256, example())
    await credentials.put("u", Mechanism.SCRAM_SHA_512, example())
    await credentials.put("u", Mechanism.SCRAM_SHA_512, None)
    assert credentials.users() == ["u"]
    await catalog.close()
    catalog = Catalog.open(tmp_path)
    again = ScramCredentials(ResourceOptions(catalog))
    assert again.of("u") == {Mechanism.SCRAM_SHA_256: example()}
    assert again.of("nobody") == {}
    await catalog.close()


async def test_a_changed_credential_is_the_one_that_holds(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    credentials = ScramCredentials(ResourceOptions(catalog))
    mechanism, before = Mechanism.SCRAM_SHA_256, example()
    for name in ("u", "v"):
        await credentials.put(name, mechanism, before)
        assert credentials.of(name) is credentials.of(name) == {mechanism: before}
    after = before._replace(stored_key=bytes(32))
    await credentials.put("u", mechanism, after)
    assert credentials.of("u") == {mechanism: after}
    assert credentials.of("v") == {mechanism: before}
    await credentials.put("u", mechanism, None)
    assert credentials.of("u") == {}
    assert set(credentials._read) == {"v"}, "nothing is kept of who is not there"
    await catalog.close()


def test_mechanisms_have_the_names_of_sasl() -> None:
    assert [each.title for each in Mechanism] == ["SCRAM-SHA-256", "SCRAM-SHA-512"]
