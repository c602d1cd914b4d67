import pytest

from odradek.protocol.uuids import ZERO_UUID, from_text
from odradek.storage.formats.partition_metadata import (
    BadPartitionMetadata,
    format_partition_metadata,
    parse_partition_metadata,
)


def test_text_is_kafkas_and_has_no_newline_at_the_end() -> None:
    topic_id = from_text("yE-4XVDfSdeFkun9NFVDag")
    data = format_partition_metadata(topic_id)
    assert data == b"version: 0\ntopic_id: yE-4XVDfSdeFkun9NFVDag"
    assert parse_partition_metadata(data) == topic_id


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "malformed"),
        (b"version: 0\n", "malformed"),
        (b"version: 1\ntopic_id: yE-4XVDfSdeFkun9NFVDag", "version '1' is not known"),
        (b"version: 0\ntopic_id: short", "malformed"),
        (b"version: 0\ntopic_id=yE-4XVDfSdeFkun9NFVDag", "malformed"),
        (format_partition_metadata(ZERO_UUID), "is zero"),
        (b"\xff\xfe", "malformed"),
    ],
)
def test_text_that_does_not_say_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(BadPartitionMetadata, match=reason):
        parse_partition_metadata(data)
