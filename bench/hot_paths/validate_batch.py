"""May this batch be stored? Its header, its checksum, every byte of its records."""

import time
from collections.abc import Iterator

from measuring import Case, main, repeating
from samples import KIB, TOPIC, batch, large_batch, small_batch

from odradek.protocol.plain import records as records_plain
from odradek.protocol.record_batch import BATCH_OVERHEAD, check_crc, read_header
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.validation.validator import validate
from odradek.storage.values.log_config import LogConfig

try:
    from odradek.protocol.speedups import summarize as summarize_fast
except ImportError:
    summarize_fast = None


def cases() -> Iterator[Case]:
    samples = (
        ("100 B", small_batch()),
        ("16 KiB", large_batch()),
        ("1 MB of 1 KiB", batch(960, KIB)),
        ("1 MB of 100 B", batch(9000, 100)),
    )
    for label, data in samples:
        yield from _parts(label, memoryview(data))


def _parts(label: str, data: memoryview) -> Iterator[Case]:
    header = read_header(data)
    payload = data[BATCH_OVERHEAD:]
    count, base_timestamp, size = header.records_count, header.base_timestamp, len(data)
    now_ms = time.time_ns() // 1_000_000
    config, tp = LogConfig(), TopicPartition(TOPIC, 0)
    yield Case(f"read batch header, {label}", repeating(lambda: read_header(data)))
    yield Case(f"CRC, {label}", repeating(lambda: check_crc(data, header)), size)
    if summarize_fast is not None:
        fast = repeating(lambda: summarize_fast(payload, count, base_timestamp))
        yield Case(f"check records in C, {label}", fast, size)
    plain = repeating(lambda: records_plain.summarize(payload, count, base_timestamp))
    yield Case(f"check records in Python, {label}", plain, size)
    whole = repeating(
        lambda: validate(data, config, now_ms, AppendOrigin.CLIENT, tp),
    )
    yield Case(f"validate a batch, {label}", whole, size)


if __name__ == "__main__":
    main(cases)
