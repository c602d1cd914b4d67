"""Spot checks; ``test_errors`` checks the whole table."""

import pytest

from odradek.protocol.kafka_error import KafkaError
from odradek.protocol.log_errors import (
    CorruptMessage,
    KafkaStorageError,
    MessageTooLarge,
    OffsetOutOfRange,
    UnknownTopicOrPartition,
)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (CorruptMessage, 2),
        (KafkaStorageError, 56),
        (MessageTooLarge, 10),
        (OffsetOutOfRange, 1),
        (UnknownTopicOrPartition, 3),
    ],
)
def test_codes(kind: type[KafkaError], code: int) -> None:
    assert kind.code == code
    assert str(kind()) == kind.__doc__
