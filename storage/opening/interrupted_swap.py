"""A swap of segments that was interrupted: finished, or undone where it has damage.

What a ``.swap`` file replaces is nowhere written but in its batches: all segments that
begin at or below its last offset. No checksum covers that offset, and segments that go
for a wrong one are records that are lost. So nothing is removed before

- every batch of the new segment is valid, and
- its last offset is confirmed: by its time index, or by the batch that it was made of,
  which an old segment has, at that offset and at no other that one bit leads to.

Otherwise the old segments take their places again, if they have all that the new one
has: those that readers do not need any more wait under ``.deleted`` names until it has
its own. If they have not, its last offset is believed unless they contradict it.

Each step is durable before the next, and a start that is interrupted as well leaves
what the next one needs to decide the same.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.batch_columns import FoundBatch
from odradek.protocol.errors import KafkaError
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import iterate
from odradek.storage.files.files import File, Files
from odradek.storage.formats.index_entry import RELATIVE_OFFSET_MAX
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.scan.batch_scan import BatchScan, Expected
from odradek.storage.segment.indexes import SegmentIndexes
from odradek.storage.values.file_names import (
    DELETED,
    LOG,
    SEGMENT_KINDS,
    SWAP,
    base_offset_of,
    is_segment_file,
    segment_bases,
    segment_path,
)
from odradek.storage.values.log_lines import LogLines

if TYPE_CHECKING:
    from odradek.storage.scan.result import Recovery

_RETIRED = re.compile(r"(\d{20})(\.\w+)((?:\.(\d+))?\.deleted)", re.ASCII)
# Of the segment that the new one is named like: see `segment_replacement`.
_NUMBERED = f".0{DELETED}"
_OFFSET_BITS = 63
_FAR = 1 << 62

_log = logging.getLogger(__name__)


def settle_swaps(files: Files, directory: Path) -> None:
    """Have the ``.swap`` files in the places of what they replace, or remove them."""
    files.sync_directory(directory)
    names = files.listdir(directory)
    swaps = [name for name in names if is_segment_file(name) and name.endswith(SWAP)]
    lines = LogLines(_log, directory)
    if any(name.endswith(LOG + SWAP) for name in swaps):
        swap = _Swap(files, directory, names)
        try:
            end = swap.find_end()
        finally:
            swap.close()
        if end is None:
            swap.restore_old()
            for name in swaps:
                lines.warning(
                    "%s is damaged, and what it was made of is there: removed", name
                )
                files.unlink(directory / name)
            return
        swap.retire_old(end)
    for name in swaps:
        lines.warning("%s was not in place yet: renamed", name)
        files.rename(directory / name, directory / name.removesuffix(SWAP))


class _Part(NamedTuple):
    """A log file: what follows its name, and what no offset in it reaches."""

    base_offset: int
    suffix: str
    limit: int


class _Swap:
    """The new segments, and the old ones by the names that they have by now."""

    def __init__(self, files: Files, directory: Path, names: Sequence[str]) -> None:
        self._files = files
        self._directory = directory
        bases = sorted(
            base_offset_of(name)
            for name in names
            if is_segment_file(name) and name.endswith(LOG + SWAP)
        )
        self._first = bases[0]
        self._named = [base for base in segment_bases(names) if base >= self._first]
        # The last segment of a log is never replaced, unless it is split.
        self._limit = max(self._named, default=0)
        if self._limit <= bases[-1]:
            self._limit = bases[-1] + RELATIVE_OFFSET_MAX + 1
        limits = [*bases[1:], self._limit]
        self._new = [
            _Part(base, SWAP, limit) for base, limit in zip(bases, limits, strict=True)
        ]
        self._is_split = len(bases) > 1
        self._opened: dict[str, File] = {}
        self._indexes = self._open_indexes(self._new[-1])
        self._retired = list(filter(None, map(_RETIRED.fullmatch, names)))
        self._old = self._find_old()
        self._last: FoundBatch | None = None
        self._end_before_last = self._first
        self._recoveries: list[Recovery] = []

    def close(self) -> None:
        """Let go of the files, which are to have other names."""
        self._indexes.let_go()
        for file in self._opened.values():
            file.close()

    def find_end(self) -> int | None:
        """What follows the last offset; None: the old segments are the better ones."""
        self._read_new()
        if self._last is None and self._is_clean:
            return self._first
        if self._last is not None and self._is_confirmed and self._is_clean:
            return self._last[1].next_offset
        if self._have_old_all() and (not self._is_split or self._have_old_more()):
            return None
        return self._believed_end()

    def restore_old(self) -> None:
        """Give the old segments their names back."""
        old = {part.base_offset: part.suffix for part in self._old}
        logs = {(found[1], found[3]) for found in self._retired if found[2] == LOG}
        for found in self._retired:
            number, kind, suffix, _ = found.groups()
            path = self._directory / (number + kind)
            is_of_named = (number, suffix) not in logs and not self._files.exists(path)
            if old.get(int(number)) == suffix or (
                old.get(int(number)) == "" and is_of_named
            ):
                self._files.rename(self._directory / found[0], path)
        self._files.sync_directory(self._directory)

    def retire_old(self, end: int) -> None:
        """Take the names of the old segments that begin below ``end``."""
        last_offset = max(self._first, end - 1)
        for base_offset in self._named:
            if base_offset > last_offset:
                break
            suffix = _NUMBERED if base_offset == self._first else DELETED
            for kind in SEGMENT_KINDS:
                path = segment_path(self._directory, base_offset, kind)
                if self._files.exists(path):
                    self._files.rename(path, path.with_name(path.name + suffix))
        self._files.sync_directory(self._directory)

    def _find_old(self) -> list[_Part]:
        """The old segments, without those that a round before has replaced.

        These wait to be removed, too. What they held is in the one before them.
        """
        suffixes: dict[int, tuple[int, str]] = {}
        for found in self._retired:
            base, number = int(found[1]), (int(found[4] or 0), found[3])
            if found[2] == LOG and self._first <= base < self._limit:
                suffixes[base] = max(suffixes.get(base, number), number)
        suffixes |= dict.fromkeys(self._named, (0, ""))
        old: list[_Part] = []
        for base in sorted(suffixes):
            suffix = suffixes[base][1]
            if old and suffix and self._reaches(old[-1], base):
                continue
            if old:
                old[-1] = old[-1]._replace(limit=base)
            old.append(_Part(base, suffix, _FAR))
        return old[:1] if self._is_split else old

    def _reaches(self, part: _Part, offset: int) -> bool:
        """Whether two batches of a segment, which are not both wrong, are behind."""
        behind = (base for base, _ in self._offsets(part) if base >= offset)
        return len(list(zip(range(2), behind, strict=False))) > 1

    def _open(self, part: _Part) -> File:
        base_offset, suffix, _ = part
        path = segment_path(self._directory, base_offset, LOG + suffix)
        if path.name not in self._opened:
            self._opened[path.name] = self._files.open(path)
        return self._opened[path.name]

    def _open_indexes(self, part: _Part) -> SegmentIndexes:
        place = self._directory, part.base_offset, self._open(part), 0, part.suffix
        return SegmentIndexes(self._files, *place)

    def _scan(self, part: _Part) -> BatchScan:
        base_offset = part.base_offset
        expected = Expected(relative_offset_max=part.limit - base_offset - 1)
        if part is self._new[-1]:
            expected = expected._replace(indexed=self._indexes.claims())
        return BatchScan(self._open(part), 0, base_offset, expected=expected)

    def _offsets(self, part: _Part) -> Iterator[tuple[int, int]]:
        """The base and next offsets of the valid batches."""
        for run in self._scan(part).runs():
            columns = run.columns
            yield from zip(columns.base_offsets, columns.next_offsets, strict=True)

    def _read_new(self) -> None:
        for part in self._new:
            scan = self._scan(part)
            for run in scan.runs():
                if run.length > 1:
                    self._end_before_last = run.columns.next_offsets[run.length - 2]
                elif self._last is not None:
                    self._end_before_last = self._last[1].next_offset
                for position, header, batch in run.batches([run.length - 1]):
                    self._last = position, header, memoryview(bytes(batch))
            self._recoveries.append(scan.recovery())

    @property
    def _is_clean(self) -> bool:
        return all(each.is_clean for each in self._recoveries)

    @cached_property
    def _is_confirmed(self) -> bool:
        assert self._last is not None
        _, header, _ = self._last
        with suppress(CorruptIndex):
            if self._indexes.times.has_offset(header.last_offset):
                return True
        return self._originals == [header.base_offset]

    @cached_property
    def _originals(self) -> list[int]:
        """Where the old segments have what the last batch may have been made of."""
        assert self._last is not None
        claimed = self._last[1].base_offset
        near = {claimed, *(claimed ^ (1 << bit) for bit in range(_OFFSET_BITS))}
        found = []
        for part in self._old:
            limit = min(part.limit, self._limit)
            wanted = {offset for offset in near if part.base_offset <= offset < limit}
            for run in self._scan(part).runs() if wanted else ():
                bases = run.columns.base_offsets
                places = [n for n in range(run.length) if bases[n] in wanted]
                found += [
                    original[1].base_offset
                    for original in run.batches(places)
                    if _is_made_of(self._last, original)
                ]
        return found

    def _have_old_all(self) -> bool:
        """Whether every batch is in an old segment, too; its last one maybe nearby."""
        old = (each for part in self._old for each in self._offsets(part))
        found: tuple[int, int] | None = (-1, -1)
        for part in self._new:
            for batch in self._offsets(part):
                while found is not None and found < batch:
                    found = next(old, None)
                if found != batch and not self._is_last_nearby(batch[0]):
                    return False
        return True

    def _is_last_nearby(self, base_offset: int) -> bool:
        is_last = self._last is not None and self._last[1].base_offset == base_offset
        return is_last and bool(self._originals)

    def _have_old_more(self) -> bool:
        """Whether an old segment has a batch where the new ones have damage."""
        lost = [
            (each.base_offset, each.next_offset)
            for recovery in self._recoveries
            for each in recovery.damaged
        ]
        for part, recovery in zip(self._new, self._recoveries, strict=True):
            if recovery.is_torn:
                lost.append((recovery.next_offset, part.limit))
        return any(
            start <= base < end
            for part in self._old
            for base, _ in self._offsets(part)
            for start, end in lost
        )

    def _believed_end(self) -> int:
        """What follows the last offset, as far as nothing contradicts it."""
        if self._last is None:
            return self._first
        _, header, _ = self._last
        if self._is_confirmed or not self._is_contradicted(header.base_offset):
            return header.next_offset
        LogLines(_log, self._directory).warning(
            "%s: no old segment has what its last batch, at offset %d, was made of:"
            " those from offset %d on are kept",
            segment_path(self._directory, self._new[-1].base_offset, LOG + SWAP).name,
            header.base_offset,
            self._end_before_last,
        )
        return self._end_before_last

    def _is_contradicted(self, claimed: int) -> bool:
        """Whether its original is elsewhere, or is not where it should be."""
        if self._originals:
            return claimed not in self._originals
        below = [part for part in self._old if part.base_offset <= claimed]
        if not below:
            return False
        scan = self._scan(below[-1])
        for _ in scan.runs():
            pass
        recovery = scan.recovery()
        return recovery.is_clean and recovery.next_offset > claimed


def _is_made_of(batch: FoundBatch, original: FoundBatch) -> bool:
    """Whether cleaning may have left this of another batch."""
    (_, header, data), (_, old, old_data) = batch, original
    if (
        header.last_offset_delta != old.last_offset_delta
        or header.producer_id != old.producer_id
        or header.producer_epoch != old.producer_epoch
        or header.base_sequence != old.base_sequence
        or header.is_control != old.is_control
    ):
        return False
    if header.crc == old.crc:
        return True
    if header.max_timestamp > old.max_timestamp:
        return False
    try:
        return _content(data) <= _content(old_data)
    except KafkaError:
        return False


def _content(batch: memoryview) -> set[tuple[int, bytes | None, bytes | None]]:
    """Its records, which say by how much they are behind its first offset."""
    base_offset = read_header(batch).base_offset
    return {
        (
            record.offset - base_offset,
            None if record.key is None else bytes(record.key),
            None if record.value is None else bytes(record.value),
        )
        for record in iterate(batch)
    }
