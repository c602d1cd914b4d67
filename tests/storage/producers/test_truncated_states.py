"""The producers of a log whose end is cut off."""

from odradek.storage.producers.snapshot import list_snapshots
from tests.storage.producers.test_states import DIRECTORY, end, snapshots, write


def test_truncation_goes_back_to_the_newest_snapshot_below() -> None:
    files, states = snapshots(0, 5, 10, 20)
    states.map_end_offset = 30
    write(states, 25, 9)
    states.truncate_and_reload(files, DIRECTORY, 0, 19, now_ms=2000)
    assert states.map_end_offset == 10
    assert [state.producer_id for state in states] == [7, 8]
    assert states.first_unstable_offset == 1
    assert list_snapshots(files, DIRECTORY) == [5, 10], "none at the log start or above"


def test_truncation_without_snapshots_begins_at_the_log_start() -> None:
    files, states = snapshots(5, 20)
    states.map_end_offset = 30
    write(states, 25, 9, is_transactional=True)
    states.truncate_and_reload(files, DIRECTORY, 7, 19, now_ms=2000)
    assert (len(states), states.map_end_offset) == (0, 7)
    assert states.first_unstable_offset == -1
    assert list_snapshots(files, DIRECTORY) == []


def test_producers_that_are_at_the_new_end_stay() -> None:
    files, states = snapshots(5, 20)
    write(states, 11, 9, is_transactional=True)
    end(states, 12, 9)
    write(states, 18, 9, 1)
    states.map_end_offset = 19
    states.truncate_and_reload(files, DIRECTORY, 13, 19, now_ms=2000)
    assert [state.producer_id for state in states] == [9]
    assert states.first_unstable_offset == -1, "the log start has passed its marker"
    assert list_snapshots(files, DIRECTORY) == []
