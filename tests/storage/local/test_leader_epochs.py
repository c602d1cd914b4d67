from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.files.file_system import StorageFailure
from odradek.storage.files.files import OsFiles
from odradek.storage.formats.checkpoint import EpochEntry
from odradek.storage.local.leader_epochs import UNDEFINED, EpochEndOffset, LeaderEpochs
from tests.fakes.files import FakeFiles

DIRECTORY = Path("/data/topic-0")
GOLDEN = Path(__file__).parents[2] / "golden/kafka-4.3.1/leader-epochs/log-dir/le-0"


def epochs_with(*entries: tuple[int, int]) -> LeaderEpochs:
    files = FakeFiles()
    files.put(DIRECTORY / "x", b"")
    epochs = LeaderEpochs.load(files, DIRECTORY)
    for epoch, start_offset in entries:
        epochs.assign(epoch, start_offset)
    return epochs


def pairs(epochs: LeaderEpochs) -> list[tuple[int, int]]:
    return [tuple(entry) for entry in epochs.entries]


def test_t103_assign_regressing_offset_removes_conflicts() -> None:
    assert pairs(epochs_with((2, 6), (3, 5))) == [(3, 5)]


def test_lower_epoch_removes_higher_ones() -> None:
    assert pairs(epochs_with((1, 0), (4, 5), (5, 9), (3, 10))) == [(1, 0), (3, 10)]


def test_two_elections_without_data_leave_the_newer() -> None:
    assert pairs(epochs_with((0, 0), (1, 7), (2, 7))) == [(0, 0), (2, 7)]


def test_same_epoch_keeps_its_start_offset() -> None:
    epochs = epochs_with((0, 0), (1, 7))
    assert not epochs.assign(1, 9)
    assert pairs(epochs) == [(0, 0), (1, 7)]


def test_same_epoch_with_a_lower_start_is_moved() -> None:
    assert pairs(epochs_with((0, 0), (1, 7), (1, 5))) == [(0, 0), (1, 5)]


@pytest.mark.parametrize(("epoch", "offset"), [(-1, 0), (0, -1)])
def test_negative_values_are_refused(epoch: int, offset: int) -> None:
    with pytest.raises(ValueError, match="cannot start"):
        epochs_with().assign(epoch, offset)


def test_t104_end_offset_for() -> None:
    epochs = epochs_with((1, 10), (4, 20), (6, 30))
    assert epochs.end_offset_for(7, 40) == UNDEFINED
    assert epochs.end_offset_for(-1, 40) == UNDEFINED
    assert epochs.end_offset_for(6, 40) == EpochEndOffset(6, 40)
    assert epochs.end_offset_for(0, 40) == EpochEndOffset(0, 10)
    assert epochs.end_offset_for(1, 40) == EpochEndOffset(1, 20)
    assert epochs.end_offset_for(3, 40) == EpochEndOffset(1, 20)
    assert epochs.end_offset_for(5, 40) == EpochEndOffset(4, 30)
    assert epochs_with().end_offset_for(0, 40) == UNDEFINED


def test_epoch_for_offset() -> None:
    epochs = epochs_with((1, 10), (4, 20))
    expected = [(9, -1), (10, 1), (19, 1), (20, 4), (99, 4)]
    assert [(o, epochs.epoch_for_offset(o)) for o, _ in expected] == expected


def test_t106_truncate_from_start_keeps_covering_epoch_at_new_start() -> None:
    epochs = epochs_with((1, 0), (2, 10), (3, 20))
    epochs.truncate_from_start(15)
    assert pairs(epochs) == [(2, 15), (3, 20)]
    epochs.truncate_from_start(20)
    assert pairs(epochs) == [(3, 20)]
    epochs.truncate_from_start(5)
    assert pairs(epochs) == [(3, 20)]


def test_truncate_from_end_drops_what_begins_there() -> None:
    epochs = epochs_with((1, 0), (2, 10), (3, 20))
    epochs.truncate_from_end(20)
    assert pairs(epochs) == [(1, 0), (2, 10)]
    epochs.truncate_from_end(10)
    assert pairs(epochs) == [(1, 0)]


def test_flush_survives_a_power_cut() -> None:
    files = FakeFiles()
    files.put(DIRECTORY / "x", b"")
    epochs = LeaderEpochs.load(files, DIRECTORY)
    epochs.assign(3, 9)
    assert epochs.is_dirty
    files.power_cut()
    assert pairs(LeaderEpochs.load(files, DIRECTORY)) == []
    epochs.flush()
    assert not epochs.is_dirty
    files.power_cut()
    assert pairs(LeaderEpochs.load(files, DIRECTORY)) == [(3, 9)]


def test_clean_epochs_are_not_written() -> None:
    files = FakeFiles()
    files.mkdir(DIRECTORY)
    epochs = LeaderEpochs.load(files, DIRECTORY)
    epochs.assign(3, 9)
    epochs.flush()
    epochs.assign(3, 12)
    epochs.truncate_from_end(100)
    epochs.truncate_from_start(9)
    epochs.flush()
    assert files.counts["sync"] == 1


def test_failed_flush_stays_dirty() -> None:
    files = FakeFiles()
    files.mkdir(DIRECTORY)
    epochs = LeaderEpochs.load(files, DIRECTORY)
    epochs.assign(3, 9)
    files.fail("sync")
    with pytest.raises(StorageFailure):
        epochs.flush()
    assert epochs.is_dirty


def test_text_for_another_writer_is_what_flush_writes() -> None:
    files = FakeFiles()
    files.mkdir(DIRECTORY)
    epochs = LeaderEpochs.load(files, DIRECTORY)
    epochs.assign(3, 9)
    data = epochs.encode()
    epochs.flush()
    assert files.content(epochs.path) == data
    epochs.clear()
    assert epochs.is_dirty
    epochs.mark_flushed()
    assert not epochs.is_dirty


def test_path_follows_the_directory() -> None:
    epochs = epochs_with((3, 9))
    epochs.moved(Path("/data/elsewhere"))
    assert epochs.path == Path("/data/elsewhere/leader-epoch-checkpoint")


def test_kafkas_file_is_read_and_written_the_same() -> None:
    epochs = LeaderEpochs.load(OsFiles(), GOLDEN)
    assert epochs.latest_epoch == 10
    assert epochs.earliest == EpochEntry(0, 0)
    assert epochs.encode() == (GOLDEN / "leader-epoch-checkpoint").read_bytes()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=30))
def test_epochs_and_offsets_always_increase(entries: list[tuple[int, int]]) -> None:
    epochs = LeaderEpochs(FakeFiles(), DIRECTORY)
    for epoch, offset in entries:
        epochs.assign(epoch, offset)
        kept = pairs(epochs)
        assert kept == sorted(set(kept))
        assert len({offset for _, offset in kept}) == len(kept)
        assert len({epoch for epoch, _ in kept}) == len(kept)
        assert epochs.latest_epoch == epoch
