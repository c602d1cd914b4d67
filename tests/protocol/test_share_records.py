import pytest

from odradek.protocol.schema import Message
from odradek.protocol.share_records import (
    SHARE_RECORDS,
    ShareSnapshotValue,
    ShareUpdateValue,
)

CLASSES = sorted(
    {cls for pair in SHARE_RECORDS.values() for cls in pair},
    key=lambda cls: cls.__name__,
)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_defaults_go_there_and_back(cls: type[Message]) -> None:
    assert cls.decode(cls().encode(0), 0) == cls()


@pytest.mark.parametrize("cls", [ShareSnapshotValue, ShareUpdateValue])
def test_what_is_not_counted_is_no_tag(cls: type[Message]) -> None:
    """As before Apache Kafka 4.2, which does not know the tag."""
    uncounted = cls(delivery_complete_count=-1).encode(0)
    assert uncounted == cls().encode(0)
    assert uncounted.endswith(b"\0")
    counted = cls(delivery_complete_count=2).encode(0)
    assert counted == uncounted[:-1] + b"\1\0\4\0\0\0\2"
