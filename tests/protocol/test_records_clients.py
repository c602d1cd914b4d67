"""Batches that other clients build are read here, and theirs read ours."""

import warnings
from typing import Any

import pytest
from aiokafka.record import default_records as aiokafka

from odradek.protocol.record_batch import check_crc, read_header
from odradek.protocol.records import NewRecord, Record, build_batch, iterate

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record import default_records as kafka_python

# kafka-python has snappy, lz4 and zstd only beside libraries that tests do without.
pytestmark = pytest.mark.parametrize(
    ("client", "codec"),
    [
        *(pytest.param(aiokafka, codec, id=f"aiokafka-{codec}") for codec in range(5)),
        pytest.param(kafka_python, 0, id="kafka-python-0"),
        pytest.param(kafka_python, 1, id="kafka-python-1"),
    ],
)

RECORDS = [
    Record(i, 1000 + i, b"key" if i % 3 else None, b"value" * i, (("h", b"x"),))
    for i in range(1000)
]


def test_batches_of_other_clients_are_read(client: Any, codec: int) -> None:
    made = client.DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=False,
        producer_id=12,
        producer_epoch=3,
        base_sequence=4,
        batch_size=1 << 24,
    )
    for record in RECORDS:
        made.append(
            record.offset,
            timestamp=record.timestamp,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
        )
    batch = made.build()
    header = read_header(batch)
    assert check_crc(batch, header)
    assert header.compression == codec
    assert (header.producer_id, header.base_sequence) == (12, 4)
    assert list(iterate(batch)) == RECORDS


def test_other_clients_read_what_is_built(client: Any, codec: int) -> None:
    records = [NewRecord(r.key, r.value, r.timestamp, r.headers) for r in RECORDS]
    batch = build_batch(records, compression=codec, producer_id=9)
    theirs = client.DefaultRecordBatch(bytes(batch))
    assert theirs.validate_crc()
    found = [
        Record(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in theirs
    ]
    assert found == RECORDS
