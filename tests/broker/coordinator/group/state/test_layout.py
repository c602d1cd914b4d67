import pytest

from odradek.broker.coordinator.group.state.consumer.records import (
    ConsumerRecord,
    GroupEpoch,
)
from odradek.broker.coordinator.group.state.layout import Layout, decoded, encoded
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.group_records import (
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
)

LAYOUTS = {
    9: Layout(
        (ConsumerGroupRegularExpressionKey, ConsumerGroupMetadataValue),
        lambda value: GroupEpoch(value.epoch, value.metadata_hash),
        lambda said: ConsumerGroupMetadataValue(epoch=said.epoch),
        "regular_expression",
    )
}


def test_a_record_there_and_back() -> None:
    key, value = encoded(LAYOUTS, ConsumerRecord(9, "g", "t.*", GroupEpoch(3, 0)))
    assert key == b"\0\x09\0\1g\0\3t.*"
    assert value is not None
    found = decoded(LAYOUTS, 9, memoryview(key)[2:], value)
    assert found == (9, "g", "t.*", GroupEpoch(3, 0))


def test_without_a_value_it_is_gone() -> None:
    key, value = encoded(LAYOUTS, ConsumerRecord(9, "g", "t.*"))
    assert value is None
    assert decoded(LAYOUTS, 9, memoryview(key)[2:], None) == (9, "g", "t.*", None)


def test_a_later_version_is_passed_over_and_nonsense_is_not() -> None:
    key = memoryview(b"\0\1g\0\3t.*")
    assert decoded(LAYOUTS, 9, key, b"\0\x07whatever") is None
    with pytest.raises(MalformedRequest):
        decoded(LAYOUTS, 9, key, b"\0\0\0")
