"""Partitions to be cleaned, written by hand, and rounds over them."""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from processes import machine_busy_seconds

from odradek.protocol.record_batch import stamp
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.cleaner.choice import find_cleanable, plan_round
from odradek.storage.cleaner.plan import RoundEnd
from odradek.storage.cleaner.unfinished import remove_unfinished
from odradek.storage.cleaner.worker import receive, send
from odradek.storage.files.files import OsFiles
from odradek.storage.files.partition_metadata import write_partition_metadata
from odradek.storage.opening.loader import Checkpointed, Surroundings, load_log
from odradek.storage.values.file_names import LOG, segment_path
from odradek.storage.values.log_config import LogConfig

ROOT = Path(__file__).resolve().parents[2]
TOPIC_ID = bytes(range(16))
SEGMENT_BYTES = 100 << 20
BATCH_BYTES = 16_384


class Round(NamedTuple):
    """Seconds of wall and CPU time; bytes read; bytes of the process at its largest.

    ``others`` is what the rest of the machine did meanwhile, in cores.
    """

    wall_s: float
    cpu_s: float
    size: int
    memory: int
    records_read: int
    records_written: int
    others: float


def keyed_batches(keys: int, records: int, value_size: int) -> Iterator[bytearray]:
    """Values of random keys, some 16 KB a batch, half of a value random."""
    pick = random.Random(1)
    value = os.urandom(value_size)
    together = max(1, BATCH_BYTES // (value_size + 30))
    now_ms = time.time_ns() // 1_000_000
    for first in range(0, records, together):
        yield build_batch(
            [
                NewRecord(b"key-%010d" % pick.randrange(keys), value, now_ms)
                for _ in range(min(together, records - first))
            ]
        )


def committed_batches(keys: int, commits: int) -> Iterator[bytearray]:
    """Offsets as groups commit them: a batch each, of keys in turn."""
    now_ms = time.time_ns() // 1_000_000
    made = [
        build_batch(
            [
                NewRecord(
                    b"\0\1\0\12group-%04d\0\14topic-000001\0\0%c%c"
                    % (key // 10, key % 10 >> 8, key % 10),
                    bytes(28),
                    now_ms,
                )
            ]
        )
        for key in range(keys)
    ]
    for number in range(commits):
        yield made[number % keys]


def write_partition(directory: Path, batches: Iterator[bytearray]) -> None:
    """Write segments, and an empty last one; no indexes."""
    directory.mkdir(parents=True)
    write_partition_metadata(OsFiles(), directory, TOPIC_ID)
    offset, size, pieces = 0, 0, []
    for batch in batches:
        if size + len(batch) > SEGMENT_BYTES:
            _write_segment(directory, pieces)
            size, pieces = 0, []
        stamp(batch, offset, 0)
        pieces.append(bytes(batch))
        size += len(batch)
        offset += int.from_bytes(batch[57:61], "big")
    _write_segment(directory, pieces)
    segment_path(directory, offset, LOG).touch()


def _write_segment(directory: Path, batches: list[bytes]) -> None:
    base_offset = int.from_bytes(batches[0][:8], "big")
    segment_path(directory, base_offset, LOG).write_bytes(b"".join(batches))


def log_size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*" + LOG))


def warm(directory: Path) -> None:
    """Its bytes on the disk, and in the page cache."""
    os.sync()
    for path in directory.glob("*" + LOG):
        path.read_bytes()


def clean(directory: Path, map_size: int) -> Round:
    """One round over all of it in a process, as the broker runs it; taken back."""
    config = LogConfig(
        segment_bytes=SEGMENT_BYTES, cleanup_policy=frozenset({"compact"})
    )
    files, now_ms = OsFiles(), time.time_ns() // 1_000_000
    log = load_log(
        TopicPartition("compacted", 0),
        TOPIC_ID,
        directory,
        config,
        Checkpointed(was_clean=False),
        Surroundings(files, now_ms),
    )
    log.visibility.raise_to(log.end_metadata)
    plan = plan_round(log, find_cleanable(log, 0, now_ms), now_ms, map_size)
    log.local.close()
    warm(directory)
    busy, began = machine_busy_seconds(), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "odradek.storage.cleaner.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    send(process.stdin, plan)
    memory = 0
    while not isinstance(message := receive(process.stdout), RoundEnd):
        memory = memory_bytes_max(process.pid)
        process.stdin.write(b"+")
        process.stdin.flush()
    _, _, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    cpu = used.ru_utime + used.ru_stime
    busy = machine_busy_seconds() - busy
    process.returncode = 0
    process.stdin.close()
    process.stdout.close()
    remove_unfinished(files, plan)
    if message.error is not None:
        raise message.error
    stats = message.stats
    return Round(
        wall,
        cpu,
        stats.bytes_read,
        memory,
        stats.records_read,
        stats.records_written,
        max(0.0, busy - cpu) / wall,
    )


def memory_bytes_max(pid: int) -> int:
    """The most memory that it has had, since it became another program."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) << 10


def copy_segments(source: Path, target: Path) -> None:
    """The segments in place of those that are there; the rest of it stays."""
    for path in target.iterdir():
        if path.suffix in (LOG, ".index", ".timeindex"):
            path.unlink()
    for path in source.iterdir():
        if path.suffix in (LOG, ".index", ".timeindex"):
            shutil.copy(path, target)
