"""Spot checks; ``test_errors`` checks the whole table."""

import pytest

from odradek.protocol.cluster_errors import (
    InvalidRequest,
    TopicAlreadyExists,
    UnknownServerError,
    UnsupportedVersion,
)
from odradek.protocol.kafka_error import KafkaError


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (InvalidRequest, 42),
        (TopicAlreadyExists, 36),
        (UnknownServerError, -1),
        (UnsupportedVersion, 35),
    ],
)
def test_codes(kind: type[KafkaError], code: int) -> None:
    assert kind.code == code
    assert str(kind()) == kind.__doc__
