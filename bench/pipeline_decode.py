"""Batches in memory → Arrow, checksums included: GB and records by second of CPU time.

.venv/bin/python bench/pipeline_decode.py --seconds 5
"""

import argparse
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent / "parts"))

import arguments

from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.records.records_arrow import RecordsToArrow
from odradek.protocol.record_batch import codec_id, stamp
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition

DATA_SIZE = 32 << 20
BATCH_SIZE = 16 << 10
BATCHES_MADE = 64
# Bytes of a value, codec, whether each record has a header.
SHAPES = [
    (1024, "none", False),
    (100, "none", False),
    (100, "none", True),
    (1024, "lz4", False),
    (1024, "zstd", False),
    (1024, "snappy", False),
    (1024, "gzip", False),
]


def filled(value_size: int, codec: str, has_headers: bool) -> memoryview:
    """Batches of about 16 KiB (uncompressed), one behind another."""
    random = Random(7)
    words = [random.randbytes(6).hex().encode() for _ in range(500)]
    count = max(1, BATCH_SIZE // value_size)
    made = []
    for _ in range(BATCHES_MADE):
        records = []
        for place in range(count):
            value = b" ".join(random.choices(words, k=value_size // 13 + 1))
            headers = [("trace", random.randbytes(8))] if has_headers else []
            key = b"key-%06d" % random.randrange(10**6)
            time_ms = 1_700_000_000_000 + place
            records.append(NewRecord(key, value[:value_size], time_ms, headers))
        made.append(build_batch(records, compression=codec_id(codec)))
    data, offset = bytearray(), 0
    while len(data) < DATA_SIZE:
        batch = made[offset // count % BATCHES_MADE]
        stamp(batch, offset, 0)
        data += batch
        offset += count
    return memoryview(data)


def decode(data: memoryview, columns: RecordColumns) -> tuple[int, int]:
    """How many records there are, and the bytes of their keys and values."""
    records = size = 0
    decoder = RecordsToArrow(TopicPartition("topic", 0), columns)
    for batch in decoder.decode(data, 0, 2**62):
        records += batch.num_rows
        size += batch.nbytes
    return records, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=arguments.seconds(0), default=5, help="for each shape"
    )
    seconds = parser.parse_args().seconds
    columns = RecordColumns.of(include_headers=True)
    for value_size, codec, has_headers in SHAPES:
        data = filled(value_size, codec, has_headers)
        best, end = 1e9, time.monotonic() + seconds
        while time.monotonic() < end:
            start = time.process_time()
            records, size = decode(data, columns)
            best = min(best, time.process_time() - start)
        shape = f"{value_size} B, {codec}{', a header' if has_headers else ''}"
        print(
            f"{shape:24} {len(data) / best / 1e9:6.2f} GB/s of log,"
            f" {size / best / 1e9:6.2f} GB/s of Arrow,"
            f" {records / best / 1e6:6.1f} M records/s",
            flush=True,
        )


if __name__ == "__main__":
    main()
