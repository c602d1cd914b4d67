"""Log directories made for tests: segments, indexes, and what lies beside them."""

from collections.abc import Sequence
from pathlib import Path

from odradek.pipeline.records.offset_range import OffsetRange
from odradek.protocol.record_batch import read_header, scan
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.formats.index_entry import IndexEntry, pack_index_entry
from odradek.storage.formats.quarantine_entry import QuarantineEntry, format_quarantine
from tests.protocol.walked_batches import laid_out

TOPIC = "topic"
END = 2**62


def wanted(start: int, end: int = END) -> list[OffsetRange]:
    return [OffsetRange(TOPIC, 0, start, end)]


def small_batches(count: int, size: int = 100) -> bytes:
    """Batches of two records each, of which the values say the offset."""
    return laid_out(
        [
            build_batch(
                [
                    NewRecord(b"k", b"%d" % (2 * n) + b"." * size, 1000 + n),
                    NewRecord(None, b"%d" % (2 * n + 1), 1000 + n),
                ]
            )
            for n in range(count)
        ]
    )


def make_directory(
    root: Path,
    data: bytes,
    *,
    segment_batches: int = 10,
    index_every: int = 2,
    is_clean: bool = True,
) -> Path:
    """A log directory with one partition that has ``data``; its root is answered."""
    partition = root / f"{TOPIC}-0"
    partition.mkdir(parents=True)
    (root / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    if is_clean:
        (root / ".kafka_cleanshutdown").write_text("{}")
    found = list(scan(data))
    for first in range(0, max(len(found), 1), segment_batches):
        part = found[first : first + segment_batches]
        start = part[0][0] if part else 0
        end = part[-1][0] + part[-1][1].size if part else 0
        base = part[0][1].base_offset if part else 0
        write_segment(partition, base, data[start:end], index_every)
    return root


def write_segment(
    partition: Path, base: int, data: bytes, index_every: int = 2
) -> None:
    entries = [
        IndexEntry(header.last_offset - base, position)
        for position, header in list(scan(data))[index_every::index_every]
    ]
    (partition / f"{base:020d}.log").write_bytes(data)
    index = b"".join(map(pack_index_entry, entries))
    (partition / f"{base:020d}.index").write_bytes(index + bytes(80))


def quarantine(root: Path, entries: Sequence[QuarantineEntry]) -> None:
    (root / f"{TOPIC}-0" / "quarantine").write_text(format_quarantine(entries))


def log_file(root: Path, base: int) -> Path:
    return root / f"{TOPIC}-0" / f"{base:020d}.log"


def position_of(data: bytes, offset: int) -> int:
    """Where the batch with an offset begins."""
    return next(at for at, header in scan(data) if header.last_offset >= offset)


def size_at(data: bytes, position: int) -> int:
    return read_header(data, position).size
