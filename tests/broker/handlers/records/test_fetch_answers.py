from typing import Any

import pytest

from odradek.broker.handlers.records.fetch_answers import (
    FIRST_VERSION,
    encode_read,
    is_plain,
)
from odradek.broker.replica.partition.fetch_reader import FetchResult
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from odradek.storage.values.log_read import AbortedTransaction

ID = b"i" * 16


def encoded(version: int, result: FetchResult, session_id: int) -> bytes:
    """The same by the message's own encoder."""
    partition = PartitionData(
        partition_index=3,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        aborted_transactions=None if result.aborted is None else [],
        records=result.records,
    )
    topic = FetchableTopicResponse(topic="t", topic_id=ID, partitions=[partition])
    return FetchResponse(session_id=session_id, responses=[topic]).encode(version)


@pytest.mark.parametrize("version", range(FIRST_VERSION, FetchResponse.max_version + 1))
@pytest.mark.parametrize("session_id", [0, 7, (1 << 31) - 1])
@pytest.mark.parametrize("size", [0, 1, 126, 127, 20_000])
def test_it_is_what_the_message_encodes(
    version: int, session_id: int, size: int
) -> None:
    for aborted in (None, []):
        result = FetchResult(0, 1 << 40, 77, 5, b"r" * size, aborted)
        buffers = encode_read(version, "t", ID, 3, result, session_id)
        assert b"".join(buffers) == encoded(version, result, session_id)
        assert buffers[1] is result.records, "not copied"


@pytest.mark.parametrize(
    ("fields", "plain"),
    [
        ({}, True),
        ({"aborted": []}, True),
        ({"aborted": [AbortedTransaction(7, 1)]}, False),
        ({"diverging_epoch": (1, 2)}, False),
        ({"error_code": 3}, False),
    ],
)
def test_what_else_there_is_to_say_needs_structs(
    fields: dict[str, Any], plain: bool
) -> None:
    assert is_plain(FetchResult(**{"error_code": 0, **fields})) is plain
