import pytest

from odradek.broker.security.login.mechanism import LoginRefused, OtherMechanism


def test_another_mechanism_is_refused_with_its_first_token() -> None:
    other = OtherMechanism("PLAIN", "SCRAM-SHA-256")
    with pytest.raises(LoginRefused) as refused:
        other.step(b"")
    assert refused.value.told == (
        "SASL mechanism 'PLAIN' requested by client is not supported for"
        " re-authentication of mechanism 'SCRAM-SHA-256'"
    )
