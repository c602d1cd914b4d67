"""A cleaned segment takes the place of those that it was made of.

The steps, so that a kill or a power cut between any two leaves the old segments or the
new one, and `leftovers` knows which:

1. the new files are there, synced, with names that end in ``.cleaned``: undone;
2. they are renamed to ``.swap``, and the names synced: finished, or undone where they
   have damage (`interrupted_swap`);
3. readers get the new one, and the old ones are renamed to ``.deleted``;
4. the new ones to their own names. Several old ones must be gone by then: one that a
   power cut brings back would hide what lies behind it in the new one.

Nothing waits for the disk here: who goes through the steps is asked to sync names.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import MISSING, StorageFailure
from odradek.storage.producers.snapshot import snapshot_path
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.file_names import (
    CLEANED,
    DELETED,
    SEGMENT_KINDS,
    SWAP,
    segment_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .unified_log import UnifiedLog

# The old files of the segment that the new one is named like wait for a while under
# ``.deleted`` names with a number: a later round may replace that one before they have
# gone, and a start must not take its transaction index for one that is still needed.
_numbers = count(1)


class SegmentReplacement:
    """Takes the ``.cleaned`` segment at ``base_offset`` in, and the old ones out."""

    def __init__(
        self, log: "UnifiedLog", base_offset: int, replaced: Sequence[int], now_ms: int
    ) -> None:
        """``replaced``: the base offsets of the old ones; the first is the new one's.

        Old ones that are not there any more are not missed.
        """
        self.old: list[LogSegment] = []
        """Those that were taken out. Their files are to be removed when nobody can
        read them any more."""
        self._local = log.local
        self._directory = log.local.directory
        self._base_offset = base_offset
        self._replaced = replaced
        self._now_ms = now_ms

    def steps(
        self, is_wanted: "Callable[[], bool]" = lambda: True
    ) -> "Iterator[Callable[[], None]]":
        """Go through the steps, one for each time that it is asked.

        It yields a job, for a disk thread, that is to be run before the next step. Any
        may be the last if ``is_wanted`` says so before readers get the new segment,
        which leaves nothing, or if the partition is deleted. To be gone through to the
        end otherwise: nobody else may clean the log before.

        Raises:
            DiskFull: nothing has changed.
            StorageFailure: the log must `fail` with it.
        """
        new = self._announce()
        yield self._sync
        if self._has_gone() or not is_wanted():
            self._withdraw()
            return
        try:
            yield from self._exchange(new)
        except StorageFailure:
            raise
        except KafkaStorageError as error:  # no room: names and segments differ
            raise StorageFailure(str(error)) from error

    def _announce(self) -> LogSegment:
        local = self._local
        new = LogSegment(
            local.files,
            self._directory,
            self._base_offset,
            local.config,
            self._now_ms,
            False,
            CLEANED,
        )
        try:
            new.rename(SWAP)
        except KafkaStorageError:
            self._withdraw()
            raise
        return new

    def _withdraw(self) -> None:
        for kind in () if self._has_gone() else SEGMENT_KINDS:
            path = segment_path(self._directory, self._base_offset, kind + SWAP)
            with suppress(KafkaStorageError, *MISSING):
                self._local.files.unlink(path)

    def _exchange(self, new: LogSegment) -> "Iterator[Callable[[], None]]":
        segments = self._local.segments
        found = map(segments.get, self._replaced)
        self.old = [segment for segment in found if segment is not None]
        for segment in self.old:
            segments.remove(segment.base_offset)
        segments.add(new)
        is_one = len(self.old) == 1
        for segment in self.old:
            # The names of a thousand segments would keep everybody waiting.
            if not is_one:
                yield _nothing
                if self._has_gone():
                    return
            self._retire(segment)
        if not is_one:
            yield self._sync
            if self._has_gone():
                return
        if segments.get(self._base_offset) is new:
            new.rename("")
        yield self._sync
        self._has_gone()

    def _retire(self, segment: LogSegment) -> None:
        if segment.base_offset == self._base_offset:
            segment.rename(f".{next(_numbers)}{DELETED}")
            return
        segment.rename_deleted()
        files, path = (
            self._local.files,
            snapshot_path(self._directory, segment.base_offset),
        )
        if files.exists(path):
            files.unlink(path)

    def _has_gone(self) -> bool:
        """Whether the partition was deleted: its name may be another's by now."""
        if self._local.directory != self._directory:
            self.old.clear()  # they go with the directory
            return True
        return False

    def _sync(self) -> None:
        self._local.files.sync_directory(self._directory)


def _nothing() -> None:
    """For steps that are only to let others go on."""
