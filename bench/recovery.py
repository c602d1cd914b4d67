"""How fast a log that was not closed is recovered, by the size of its batches.

For each size a partition of ``--size`` bytes is written by hand and then

- scanned: every header read, every checksum compared (`BatchScan.runs`);
- loaded as after a kill with no recovery point: scanned, indexed, its producers
  replayed, all of it written again and synced (`load_log`).

Each is printed in GB/s of wall time and in seconds of CPU time for a GB, the best of
``--repeats``; the page cache is warm. ``--keep DIR`` leaves the partitions in DIR, a
log directory as another broker finds it after a kill: so that one can be timed on the
same bytes. ``--directory DIR`` scans a partition's directory that is there, and changes
nothing in it.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from odradek.protocol.record_batch import stamp
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import OsFiles
from odradek.storage.files.partition_metadata import write_partition_metadata
from odradek.storage.opening.loader import Checkpointed, Surroundings, load_log
from odradek.storage.scan.batch_scan import BatchScan
from odradek.storage.values.file_names import LOG, segment_bases, segment_path
from odradek.storage.values.log_config import LogConfig

RECORD_SIZES = (10, 100, 1000, 4000, 16_000, 256_000)
PRODUCERS = 4
SEGMENT_BYTES = 256 << 20
TOPIC_ID = bytes(range(16))


def make_partition(directory: Path, record_size: int, size: int, producers: int) -> int:
    """Write a log of ``size`` bytes. Returns the size of a batch."""
    directory.mkdir(parents=True)
    files = OsFiles()
    write_partition_metadata(files, directory, TOPIC_ID)
    now_ms = time.time_ns() // 1_000_000
    batches = [
        build_batch(
            [NewRecord(b"key", bytes(record_size), now_ms)],
            producer_id=number if producers else -1,
            producer_epoch=0 if producers else -1,
            base_sequence=0 if producers else -1,
        )
        for number in range(max(producers, 1))
    ]
    batch_size, offset = len(batches[0]), 0
    while offset * batch_size < size:
        path = segment_path(directory, offset, LOG)
        with open(path, "wb", buffering=1 << 20) as file:
            for _ in range(min(size, SEGMENT_BYTES) // batch_size):
                batch = batches[offset % len(batches)]
                stamp(batch, offset, 0)
                file.write(batch)
                offset += 1
    return batch_size


def log_size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*" + LOG))


def scan_partition(directory: Path) -> None:
    """Read every batch of every segment."""
    files = OsFiles()
    for base_offset in segment_bases(path.name for path in directory.iterdir()):
        log = files.open(segment_path(directory, base_offset, LOG))
        scan = BatchScan(log, 0, base_offset)
        for _ in scan.runs():
            pass
        for damaged in scan.recovery().damaged:
            print(f"{log.path}: {damaged}")


def load_partition(directory: Path) -> None:
    """Recover it as after a kill."""
    for path in directory.iterdir():
        if path.suffix in (".index", ".timeindex", ".snapshot"):
            path.unlink()
    log = load_log(
        TopicPartition("recovery", 0),
        TOPIC_ID,
        directory,
        LogConfig(segment_bytes=SEGMENT_BYTES),
        Checkpointed(was_clean=False),
        Surroundings(OsFiles(), time.time_ns() // 1_000_000),
    )
    log.local.close()


def best_of(repeats: int, work: Callable[[], None], size: int) -> str:
    """GB/s of wall time and CPU seconds for a GB."""
    walls, cpus = [], []
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return f"{size / min(walls) / 1e9:6.2f} GB/s {min(cpus) / size * 1e9:6.2f} CPU s/GB"


@contextmanager
def root_directory(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as root:
        yield Path(root)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=512 << 20, help="bytes of each log")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--producers", type=int, default=PRODUCERS, help="0: none")
    parser.add_argument("--keep", type=Path, help="make the partitions here, and leave")
    parser.add_argument("--directory", type=Path, help="scan this partition only")
    args = parser.parse_args()
    if args.directory is not None:
        size = log_size(args.directory)
        scan = best_of(args.repeats, lambda: scan_partition(args.directory), size)
        print(f"{args.directory}: {size} bytes, scan {scan}")
        return
    with root_directory(args.keep) as root:
        for record_size in RECORD_SIZES:
            directory = root / f"recovery-{record_size}-0"
            batch = make_partition(directory, record_size, args.size, args.producers)
            size = log_size(directory)
            scan = best_of(args.repeats, lambda: scan_partition(directory), size)  # noqa: B023
            load = best_of(args.repeats, lambda: load_partition(directory), size)  # noqa: B023
            print(f"batches of {batch:7} bytes: scan {scan}, load {load}", flush=True)
            if args.keep is None:
                shutil.rmtree(directory)


if __name__ == "__main__":
    main()
