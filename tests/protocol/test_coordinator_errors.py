"""Spot checks; ``test_errors`` checks the whole table."""

import pytest

from odradek.protocol.coordinator_errors import (
    ConcurrentTransactions,
    IllegalGeneration,
    NotCoordinator,
    ProducerFenced,
    UnknownMemberId,
)
from odradek.protocol.kafka_error import KafkaError


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ConcurrentTransactions, 51),
        (IllegalGeneration, 22),
        (NotCoordinator, 16),
        (ProducerFenced, 90),
        (UnknownMemberId, 25),
    ],
)
def test_codes(kind: type[KafkaError], code: int) -> None:
    assert kind.code == code
    assert str(kind()) == kind.__doc__
