import errno
from pathlib import Path

import pytest

from odradek.storage.directory.disk_reserve import (
    RESERVE_BYTES,
    RESERVE_NAME,
    DiskReserve,
    has_room,
)
from tests.fakes.files import FakeFiles

DIRECTORY = Path("/logs")
PATH = DIRECTORY / RESERVE_NAME


def new() -> tuple[FakeFiles, DiskReserve]:
    files = FakeFiles()
    files.mkdir(DIRECTORY)
    return files, DiskReserve(files, DIRECTORY)


def test_room_is_kept_once_and_given_up_once() -> None:
    files, reserve = new()
    assert not reserve.give_up()
    reserve.keep()
    assert files.size(PATH) == RESERVE_BYTES
    reserve.keep()
    assert files.counts["append"] == 1
    assert reserve.give_up()
    assert not files.exists(PATH)
    assert not reserve.give_up()
    reserve.keep()
    assert files.size(PATH) == RESERVE_BYTES


def test_what_the_last_process_kept_is_found() -> None:
    files, reserve = new()
    reserve.keep()
    again = DiskReserve(files, DIRECTORY)
    again.keep()
    assert files.counts["append"] == 1
    assert DiskReserve(files, DIRECTORY).give_up()


def test_a_full_disk_keeps_none_and_is_tried_again() -> None:
    files, reserve = new()
    files.fail("append", error=errno.ENOSPC)
    reserve.keep()
    assert files.size(PATH) == 0
    reserve.keep()
    assert files.size(PATH) == RESERVE_BYTES


def test_a_short_one_is_made_whole() -> None:
    files, reserve = new()
    files.put(PATH, bytes(10))
    reserve.keep()
    assert files.size(PATH) == RESERVE_BYTES


@pytest.mark.parametrize("operation", ["open", "append"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_whether_there_is_room_is_tried(operation: str, error: int) -> None:
    files, _ = new()
    assert has_room(files, DIRECTORY)
    files.fail(operation, error=error)
    assert not has_room(files, DIRECTORY)
    assert files.listdir(DIRECTORY) == []
    assert has_room(files, DIRECTORY)


def test_a_directory_with_another_trouble_is_not_full() -> None:
    files, _ = new()
    assert has_room(files, DIRECTORY / "gone")
    files.fail("append")
    assert has_room(files, DIRECTORY)
