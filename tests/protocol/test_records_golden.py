"""What Apache Kafka, its Java clients and librdkafka wrote, read by us."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.compression import decompress
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    BatchHeader,
    check_crc,
    codec_name,
    scan,
)
from odradek.protocol.records import Record, assemble, encode_record, iterate, summarize

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3.1"
CASES = (
    "codecs-java",
    "codecs-librdkafka",
    "codecs-recompressed",
    "log-append-time",
    "record-shapes",
    "txn-interleaved",
)


@cache
def expected(case: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((GOLDEN / case / "expected.json").read_text())
    return loaded


def partitions() -> list[tuple[str, str]]:
    return [(case, name) for case in CASES for name in expected(case)["on_disk"]]


def batches(case: str, partition: str) -> Iterator[tuple[str, int, BatchHeader, bytes]]:
    """The file, position, header and bytes of all batches, in the order of offsets."""
    for path in sorted((GOLDEN / case / "log-dir" / partition).glob("*.log")):
        data = path.read_bytes()
        for position, header in scan(data):
            batch = data[position : position + header.size]
            yield path.name, position, header, batch


def as_dumped(position: int, header: BatchHeader, is_valid: bool) -> dict[str, object]:
    """A header in the words of Kafka's dump-log tool."""
    time_type = "LogAppendTime" if header.is_log_append_time else "CreateTime"
    return {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.records_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": header.delete_horizon_ms,
        "position": position,
        time_type: header.max_timestamp,
        "size": header.size,
        "magic": header.magic,
        "compresscodec": codec_name(header.compression),
        "crc": header.crc,
        "isvalid": is_valid,
    }


@pytest.mark.parametrize(("case", "partition"), partitions())
def test_headers_are_what_dump_log_prints(case: str, partition: str) -> None:
    found: dict[str, list[object]] = {}
    for name, position, header, batch in batches(case, partition):
        dumped = as_dumped(position, header, check_crc(batch, header))
        found.setdefault(name, []).append(dumped)
    on_disk = expected(case)["on_disk"][partition]
    wanted = {
        name: [{k: v for k, v in batch.items() if k != "records"} for batch in dumped]
        for name, dumped in on_disk.items()
        if name.endswith(".log") and dumped
    }
    assert wanted
    assert found == wanted


def as_consumed(header: BatchHeader, record: Record) -> list[object]:
    """A record as the golden consumer wrote it down."""
    return [
        record.offset,
        record.timestamp,
        "LogAppendTime" if header.is_log_append_time else "CreateTime",
        header.partition_leader_epoch,
        record.key.hex() if record.key is not None else None,
        record.value.hex() if record.value is not None else None,
        [[name, v.hex() if v is not None else None] for name, v in record.headers],
    ]


@pytest.mark.parametrize(("case", "partition"), partitions())
def test_records_are_what_a_consumer_saw(case: str, partition: str) -> None:
    seen = expected(case)["partitions"].get(partition)
    if seen is None or "read_uncommitted" not in seen:
        assert partition.startswith("__")
        return
    found = [
        as_consumed(header, record)
        for _, _, header, batch in batches(case, partition)
        if not header.is_control
        for record in iterate(batch)
    ]
    assert found
    assert found == seen["read_uncommitted"]["records"]


@pytest.mark.parametrize(("case", "partition"), partitions())
def test_records_pass_the_check_of_a_leader(case: str, partition: str) -> None:
    for _, _, header, batch in batches(case, partition):
        payload = decompress(header.compression, memoryview(batch)[BATCH_OVERHEAD:])
        summary = summarize(payload, header.records_count, header.base_timestamp)
        if not header.is_log_append_time:
            assert summary.max_timestamp == header.max_timestamp


@pytest.mark.parametrize(("case", "partition"), partitions())
def test_our_builder_writes_the_same_bytes(case: str, partition: str) -> None:
    for _, _, header, batch in batches(case, partition):
        payload = decompress(header.compression, memoryview(batch)[BATCH_OVERHEAD:])
        records = [
            record._replace(timestamp=header.base_timestamp)
            if header.is_log_append_time
            else record
            for record in iterate(batch)
        ]
        ours = b"".join(
            encode_record(place, record.timestamp - header.base_timestamp, record)
            for place, record in enumerate(records)
        )
        if not header.is_log_append_time:
            assert ours == payload
        if not header.compression:
            assert assemble(header, payload) == batch
