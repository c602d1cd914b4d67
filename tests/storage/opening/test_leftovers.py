"""What interrupted brokers leave in a directory is finished or undone."""

from pathlib import Path

import pytest

from odradek.storage.opening.leftovers import (
    remove_leftovers,
    remove_stray_snapshots,
    stray_snapshots,
)
from tests.fakes.files import FakeFiles
from tests.storage.batches import batch

DIRECTORY = Path("/data/t-0")


def directory(*names: str) -> FakeFiles:
    files = FakeFiles()
    for name in names:
        files.put(DIRECTORY / name, b"")
    return files


def segment(base_offset: int, suffix: str = "") -> list[str]:
    kinds = (".index", ".log", ".timeindex")
    return [f"{base_offset:020d}{kind}{suffix}" for kind in kinds]


def left(files: FakeFiles) -> list[str]:
    return files.listdir(DIRECTORY)


def test_a_tidy_directory_is_left_alone() -> None:
    files = directory(*segment(0), "partition.metadata", f"{5:020d}.snapshot")
    before = left(files)
    assert remove_leftovers(files, DIRECTORY) == (before, False, [])
    assert left(files) == before


def test_deleted_and_temporary_files_go() -> None:
    files = directory(
        *segment(0), *segment(0, ".deleted"), "leader-epoch-checkpoint.tmp"
    )
    assert remove_leftovers(files, DIRECTORY).has_new_names
    assert left(files) == segment(0)


def test_a_transaction_index_whose_log_is_still_there_is_kept() -> None:
    index = f"{0:020d}.txnindex"
    files = directory(*segment(0), index + ".deleted")
    assert remove_leftovers(files, DIRECTORY).has_new_names
    assert left(files) == sorted([*segment(0), index])
    for others in ([index], [f"{0:020d}.log.deleted"]):
        files = directory(*segment(7), *others, index + ".deleted")
        remove_leftovers(files, DIRECTORY)
        assert index + ".deleted" not in left(files)


def test_t071_orphan_index_deleted_with_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = directory(*segment(0), f"{36:020d}.index", f"{36:020d}.txnindex")
    assert remove_leftovers(files, DIRECTORY).has_new_names
    assert left(files) == segment(0)
    assert f"{36:020d}.index is an index without a log" in caplog.text


def test_t073_cleaned_files_and_what_belongs_to_them_are_discarded() -> None:
    files = directory(
        *segment(0), *segment(5, ".swap"), *segment(5, ".cleaned"), *segment(9, ".swap")
    )
    assert remove_leftovers(files, DIRECTORY).has_new_names
    assert left(files) == segment(0)


def test_finished_swaps_replace_the_segments_they_cover() -> None:
    files = directory(
        *segment(0), *segment(5), *segment(10), *segment(15), *segment(5, ".swap")
    )
    files.put(DIRECTORY / f"{5:020d}.log.swap", bytes(batch(5) + batch(14)))
    assert remove_leftovers(files, DIRECTORY).has_new_names
    assert left(files) == sorted(segment(0) + segment(5) + segment(15))
    assert len(files.content(DIRECTORY / f"{5:020d}.log")) == len(batch(5) + batch(14))


def test_an_interrupted_renaming_is_finished() -> None:
    files = directory(*segment(0), f"{5:020d}.log", f"{5:020d}.index.swap")
    assert remove_leftovers(files, DIRECTORY).has_new_names
    assert left(files) == sorted([*segment(0), f"{5:020d}.log", f"{5:020d}.index"])


def test_t078_stray_snapshot_rules() -> None:
    assert stray_snapshots({2, 5, 42}, {5}) == {2}
    assert stray_snapshots({2, 5, 42}, {42}) == {2, 5}
    assert stray_snapshots({5, 50}, {5, 100}) == {50}
    assert stray_snapshots((), {5}) == set()


def test_snapshots_above_the_log_end_go() -> None:
    names = [f"{offset:020d}.snapshot" for offset in (0, 5, 9, 12)]
    files = directory(*names)
    assert remove_stray_snapshots(files, DIRECTORY, [0, 5], 9)
    assert left(files) == names[:3]
    assert not remove_stray_snapshots(files, DIRECTORY, [0, 5], 9)


def test_a_segment_whose_removal_was_interrupted_is_not_missing() -> None:
    """Its log has another name already, its indexes have not."""
    files = directory(*segment(0), f"{36:020d}.log.deleted", f"{36:020d}.index")
    assert remove_leftovers(files, DIRECTORY).missing_bases == []
    assert left(files) == segment(0)
    files = directory(*segment(0), f"{36:020d}.index")
    assert remove_leftovers(files, DIRECTORY).missing_bases == [36]


def test_a_swapped_segment_without_records_replaces_its_own_place_at_least() -> None:
    names = [f"{0:020d}{kind}" for kind in (".log", ".index", ".timeindex")]
    files = directory(*segment(0), f"{0:020d}.txnindex", *segment(7))
    for name in names:
        files.put(DIRECTORY / (name + ".swap"), b"")
    remove_leftovers(files, DIRECTORY)
    assert left(files) == sorted([*names, *segment(7)])
    assert files.size(DIRECTORY / names[0]) == 0
