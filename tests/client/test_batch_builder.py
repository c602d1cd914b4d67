import pytest

from odradek.client.batch_builder import (
    NOBODY,
    BatchBuilder,
    BatchFormat,
    ProducerIdentity,
    split,
)
from odradek.protocol.errors import MessageTooLarge
from odradek.protocol.record_batch import check_crc, read_header
from odradek.protocol.records import NewRecord, Record, iterate
from odradek.protocol.topic_partition import TopicPartition

PLACE = TopicPartition("t", 0)
RECORDS = [
    NewRecord(b"k", b"v", 2000, [("h", b"x"), ("none", None)]),
    NewRecord(None, None, 1000),
    NewRecord(b"", b"w" * 100, 3000),
]


def builder_of(records: list[NewRecord], size_max: int = 1000) -> BatchBuilder:
    builder = BatchBuilder(PLACE, size_max, 0)
    for record in records:
        assert builder.try_add(record)
    return builder


@pytest.mark.parametrize("compression", range(5))
def test_a_batch_has_the_records_in_order(compression: int) -> None:
    form = BatchFormat(compression, is_transactional=True)
    batch = builder_of(RECORDS).seal(form, ProducerIdentity(7, 3), 40)
    header = read_header(batch.data)
    assert check_crc(batch.data, header)
    assert (header.compression, header.is_transactional) == (compression, True)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (
        *(7, 3),
        40,
    )
    assert (header.base_timestamp, header.max_timestamp) == (2000, 3000)
    assert list(iterate(batch.data)) == [
        Record(n, each.timestamp, each.key, each.value, tuple(each.headers))  # type: ignore[arg-type]
        for n, each in enumerate(RECORDS)
    ]
    assert batch.records_count == 3


def test_without_an_identity_there_is_no_sequence() -> None:
    header = read_header(builder_of(RECORDS).seal(BatchFormat(), NOBODY, 5).data)
    assert (header.producer_id, header.base_sequence) == (-1, -1)
    assert not header.is_transactional


def test_a_batch_is_not_larger_than_its_limit_but_for_a_single_record() -> None:
    large = NewRecord(None, b"x" * 5000)
    assert BatchBuilder(PLACE, 1000, 0).try_add(large)
    builder = BatchBuilder(PLACE, 1000, 0)
    record = NewRecord(b"k" * 10, b"v" * 50, 0, [("name", b"value")])
    while builder.try_add(record):
        pass
    assert not builder.try_add(large)
    batch = builder.seal(BatchFormat(), NOBODY, 0)
    assert 900 < len(batch.data) <= 1000
    assert builder.size == len(batch.data)


def test_a_batch_is_split_into_halves_that_continue_each_other() -> None:
    whole = builder_of(RECORDS).seal(
        BatchFormat(4, is_transactional=True), ProducerIdentity(7, 3), 2**31 - 2
    )
    halves = split(whole, None)
    headers = [read_header(half.data) for half in halves]
    assert [each.base_sequence for each in headers] == [2**31 - 2, 2**31 - 1]
    assert [each.records_count for each in headers] == [1, 2]
    assert all(each.compression == 4 and each.is_transactional for each in headers)
    values = [record.value for half in halves for record in iterate(half.data)]
    assert values == [each.value for each in RECORDS]
    with pytest.raises(MessageTooLarge):
        split(halves[0], None)
