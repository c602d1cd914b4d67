from odradek.broker.security.login.decoy import SALT_SIZE, Decoy
from odradek.protocol.scram import Mechanism


def test_a_salt_belongs_to_a_name_a_mechanism_and_a_secret() -> None:
    salts = {
        Decoy(secret).salt(name, mechanism)
        for secret in (b"one", b"two")
        for name in ("alice", "bob")
        for mechanism in Mechanism
    }
    assert len(salts) == 8
    assert {len(salt) for salt in salts} == {SALT_SIZE}


def test_no_password_fits() -> None:
    one, two = (Decoy(b"x").credential("a", Mechanism.SCRAM_SHA_512) for _ in "12")
    assert one.salt == two.salt
    assert one.stored_key != two.stored_key
    assert len(one.stored_key) == 64
