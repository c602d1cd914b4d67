"""Real logs in a temporary directory, for the hot paths that need some."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from samples import TOPIC

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import OsFiles
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.opening.loader import Surroundings, create_log
from odradek.storage.values.log_config import LogConfig

EPOCH = 0
TOPIC_ID = bytes(range(16))

_partitions = count()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def temporary_root() -> Iterator[Path]:
    """A directory on the file system of TMPDIR: a real one, for real syncs."""
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as root:
        yield Path(root)


def new_log(root: Path) -> UnifiedLog:
    """An empty log of a new partition."""
    topic_partition = TopicPartition(TOPIC, next(_partitions))
    return create_log(
        topic_partition,
        TOPIC_ID,
        root / str(topic_partition),
        LogConfig(),
        Surroundings(OsFiles(), now_ms()),
    )


def filled_log(root: Path, batch: bytearray, size: int) -> UnifiedLog:
    """A log of ``size`` bytes of equal batches, all of which may be read."""
    log = new_log(root)
    for _ in range(size // len(batch)):
        log.appender.append_as_leader(memoryview(bytearray(batch)), EPOCH, now_ms())
    log.visibility.raise_to(log.log_end_offset)
    return log
