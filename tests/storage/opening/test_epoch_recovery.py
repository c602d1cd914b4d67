"""Leader epochs in batches: believed when the file or a neighbour confirms them."""

from pathlib import Path

import pytest

from odradek.protocol.record_batch import BatchHeader, read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.formats.checkpoint import EpochEntry
from odradek.storage.local.leader_epochs import LeaderEpochs
from odradek.storage.opening.epoch_recovery import EpochRecovery
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    DIRECTORY,
    closed,
    files_of,
    filled,
    new_log,
    produce,
    reopened,
    sync,
)

EPOCHS = DIRECTORY / "leader-epoch-checkpoint"


def recovered(
    file: list[tuple[int, int]], batches: list[tuple[int, int]], newest_epoch: int = -1
) -> list[tuple[int, int]]:
    """The entries after batches of one record, given as (epoch, offset)."""
    known = [EpochEntry(*entry) for entry in file]
    epochs = LeaderEpochs(FakeFiles(), Path("/data/t-0/epochs"), known)
    recovery = EpochRecovery(Path("/data/t-0"), epochs, newest_epoch)
    for epoch, offset in batches:
        recovery.take(header(epoch, offset))
    recovery.finish()
    return [(entry.epoch, entry.start_offset) for entry in epochs.entries]


def header(epoch: int, offset: int) -> BatchHeader:
    batch = build_batch([NewRecord()], base_offset=offset, leader_epoch=epoch)
    return read_header(batch)


@pytest.mark.parametrize(
    ("file", "batches", "expected"),
    [
        # As the file says.
        ([(4, 0)], [(4, 0), (4, 1)], [(4, 0)]),
        ([(4, 0), (5, 2)], [(4, 0), (4, 1), (5, 2)], [(4, 0), (5, 2)]),
        # Newer than the file, and confirmed by the batch behind.
        ([(4, 0)], [(4, 0), (6, 1), (6, 2)], [(4, 0), (6, 1)]),
        ([(4, 0)], [(4, 0), (6, 1), (7, 2), (7, 3)], [(4, 0), (6, 1), (7, 2)]),
        # Contradicted by the batch behind.
        ([(4, 0)], [(4, 0), (20, 1), (4, 2)], [(4, 0)]),
        ([(4, 0)], [(20, 0), (6, 1), (6, 2)], [(4, 0), (6, 1)]),
        # Nothing behind: the file wins.
        ([(4, 0)], [(4, 0), (5, 1)], [(4, 0)]),
        # Lower than what the file says of the offset.
        ([(4, 0), (5, 2)], [(4, 1), (3, 2), (5, 3)], [(4, 0), (5, 2)]),
        # No file: the batches are all there is.
        ([], [(1, 0), (1, 1), (3, 2)], [(1, 0), (3, 2)]),
        ([], [(1, 0), (9, 1), (1, 2)], [(1, 0)]),
        # Batches of a time before epochs.
        ([], [(-1, 0), (-1, 1)], []),
    ],
)
def test_epochs_of_batches(
    file: list[tuple[int, int]],
    batches: list[tuple[int, int]],
    expected: list[tuple[int, int]],
) -> None:
    assert recovered(file, batches) == expected


@pytest.mark.parametrize(("newest_epoch", "is_believed"), [(4, False), (5, True)])
def test_the_last_batch_is_believed_if_there_was_such_an_epoch(
    newest_epoch: int, is_believed: bool
) -> None:
    found = recovered([(4, 0)], [(4, 0), (5, 1)], newest_epoch)
    assert found == [(4, 0), *([(5, 1)] if is_believed else [])]


def test_what_is_not_believed_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recovered([(4, 0)], [(9, 0), (4, 1), (9, 2), (4, 3)])
    assert len(caplog.records) == 1
    assert "offset 0 says leader epoch 9" in caplog.text
    assert "that of 1 others" in caplog.text


def test_a_missing_file_after_a_clean_stop_is_made_from_the_batches() -> None:
    log = new_log(segment_bytes=300)
    for epoch in (1, 1, 2, 2, 2, 5, 5, 5):
        produce(log, 2, leader_epoch=epoch)
    sync(log)
    closed(log)
    before = log.epochs.entries
    files_of(log).unlink(EPOCHS)
    again = reopened(log, was_clean=True, recovery_point=16)
    assert again.epochs.entries == before == ((1, 0), (2, 4), (5, 10))
    assert reopened(again, was_clean=True, recovery_point=16).epochs.entries == before


def test_no_epoch_begins_at_an_offset_beyond_its_segment() -> None:
    """Of the last batch of a segment, where an epoch begins, a bit has flipped."""
    log = new_log(segment_bytes=300)
    for epoch in (1, 1, 1, 2, 2, 2):
        produce(log, 1, leader_epoch=epoch)
    sync(log)
    closed(log)
    first, second = (each.base_offset for each in log.local.segments)
    assert (first, second) == (0, 4)
    files_of(log).unlink(EPOCHS)
    position = files_of(log).size(DIRECTORY / f"{0:020d}.log") // 4 * 3
    files_of(log).flip(f"{0:020d}.log", position + 7, bit=6)  # 67 for 3
    again = reopened(log, was_clean=True, recovery_point=6)
    assert again.epochs.entries == ((1, 0), (2, 3))


def test_t079_epoch_cache_trimmed_both_ends_from_stale_file() -> None:
    log = closed(filled(batches=5))
    files_of(log).put(EPOCHS, b"0\n4\n0 0\n1 2\n4 6\n9 40\n")
    again = reopened(log, was_clean=True, recovery_point=15, log_start_offset=3)
    assert list(again.epochs.entries) == [(1, 3), (4, 6)]
    assert files_of(log).content(EPOCHS) == b"0\n2\n1 3\n4 6\n"
