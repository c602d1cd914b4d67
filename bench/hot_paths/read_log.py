"""Read a log from end to end, as consumers do, out of the page cache."""

import random
from collections.abc import Iterator

from logs import filled_log, temporary_root
from measuring import Case, main
from samples import KIB, batch, large_batch

from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import FetchIsolation

MIB = 1 << 20
LOG_SIZE = 64 * MIB
SMALL_LOG_SIZE = 8 * MIB


class Read:
    """Reads ``size`` bytes at a time, on and on, from the front again at the end."""

    def __init__(self, log: UnifiedLog, size: int, batch: bytes | bytearray) -> None:
        self._log = log
        self._size = size
        self._batch_size = len(batch)
        self._record_count = int.from_bytes(batch[57:61], "big")

    def run(self, count: int) -> None:
        log, size, end = self._log.reading, self._size, self._log.log_end_offset
        offset = 0
        for _ in range(count):
            data = log.read(offset, size, FetchIsolation.HIGH_WATERMARK)
            whole_batches = len(data.records) // self._batch_size
            offset += whole_batches * self._record_count
            if offset >= end:
                offset = 0


def cases() -> Iterator[Case]:
    with temporary_root() as root:
        records = large_batch()
        log = filled_log(root, records, LOG_SIZE)
        yield Case("read 1 MiB on", Read(log, MIB, records).run, MIB)
        one = batch(1, KIB)
        log = filled_log(root, one, SMALL_LOG_SIZE)
        yield Case("read 1 KiB on", Read(log, KIB, one).run, len(one))
        generator = random.Random(1)
        offsets = [generator.randrange(log.log_end_offset) for _ in range(1000)]

        def read_anywhere(count: int) -> None:
            for place in range(count):
                log.reading.read(
                    offsets[place % 1000], KIB, FetchIsolation.HIGH_WATERMARK
                )

        yield Case("read 1 KiB anywhere", read_anywhere, len(one))
        end = log.log_end_offset

        def read_nothing(count: int) -> None:
            for _ in range(count):
                log.reading.read(end, KIB, FetchIsolation.HIGH_WATERMARK)

        yield Case("read at the end", read_nothing)


if __name__ == "__main__":
    main(cases)
