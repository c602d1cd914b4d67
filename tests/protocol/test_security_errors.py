"""Spot checks; ``test_errors`` checks the whole table."""

import pytest

from odradek.protocol.kafka_error import KafkaError
from odradek.protocol.security_errors import (
    DelegationTokenExpired,
    SaslAuthenticationFailed,
    TopicAuthorizationFailed,
)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (DelegationTokenExpired, 66),
        (SaslAuthenticationFailed, 58),
        (TopicAuthorizationFailed, 29),
    ],
)
def test_codes(kind: type[KafkaError], code: int) -> None:
    assert kind.code == code
    assert str(kind()) == kind.__doc__
