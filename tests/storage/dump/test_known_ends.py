from pathlib import Path

import pytest

from odradek.storage.directory.log_directory import CLEAN_MARKER_NAME
from odradek.storage.dump.dump_file import dump_file
from odradek.storage.dump.log_dump import Depth
from odradek.storage.dump.row import RowKind
from odradek.storage.files.checkpoints import HIGH_WATERMARKS_NAME, RECOVERY_POINTS_NAME
from tests.fakes.files import FakeFiles
from tests.storage.logs import DIRECTORY, ROOT, new_log, produce

LOG = "00000000000000000000.log"
UNDURABLE = (
    "what follows is not known to be durable: recovery-point-offset-checkpoint ends at"
    " 2"
)
UNSEEN = (
    "what follows is above the high watermark, shown to no consumer:"
    " replication-offset-checkpoint ends at 4"
)


def files_with(count: int = 5, **checkpoints: int | str) -> FakeFiles:
    """A log of so many batches of a record each, and what checkpoints say of it."""
    files = FakeFiles()
    log = new_log(files)
    for _ in range(count):
        produce(log)
    for name, offset in checkpoints.items():
        path = ROOT / name.replace("_", "-")
        text = f"0\n1\ntopic 0 {offset}\n" if isinstance(offset, int) else offset
        files.put(path, text.encode())
    return files


def shown(files: FakeFiles, path: Path = DIRECTORY / LOG) -> list[object]:
    """The base offsets of batches, and the notes between them."""
    return [
        row.fields["baseOffset" if row.kind is RowKind.BATCH else "reason"]
        for row in dump_file(files, path, Depth())
        if row.kind is not RowKind.FILE
    ]


def checkpoints(recovery_point: int, high_watermark: int) -> dict[str, int | str]:
    return {RECOVERY_POINTS_NAME: recovery_point, HIGH_WATERMARKS_NAME: high_watermark}


def test_what_is_behind_the_checkpoints_is_marked() -> None:
    files = files_with(**checkpoints(2, 4))
    assert shown(files) == [0, 1, UNDURABLE, 2, 3, UNSEEN, 4]
    rows = dump_file(files, DIRECTORY / LOG, Depth())
    notes = [row.fields["offset"] for row in rows if row.kind is RowKind.NOTE]
    assert notes == [2, 4]


def test_two_ends_at_one_offset_are_one_mark() -> None:
    found = shown(files_with(3, **checkpoints(1, 1)))
    assert found[0] == 0
    assert found[1] == (
        "what follows is not known to be durable, and above the high watermark, shown"
        " to no consumer: recovery-point-offset-checkpoint and"
        " replication-offset-checkpoint end at 1"
    )
    assert found[2:] == [1, 2]


def test_a_log_that_is_all_durable_has_no_mark() -> None:
    assert shown(files_with(**checkpoints(5, 5))) == [0, 1, 2, 3, 4]


def test_a_partition_that_no_checkpoint_knows_begins_with_the_mark() -> None:
    files = files_with(2, **{RECOVERY_POINTS_NAME: "0\n0\n"})
    assert shown(files) == [UNDURABLE.replace(" 2", " 0"), 0, 1]


def test_after_a_clean_stop_nothing_is_marked() -> None:
    files = files_with(**checkpoints(2, 4))
    files.put(ROOT / CLEAN_MARKER_NAME, b"{}")
    assert shown(files) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("said", [None, "nonsense"])
def test_where_nobody_says_it_nothing_is_marked(said: str | None) -> None:
    files = files_with(**({RECOVERY_POINTS_NAME: said} if said else {}))
    assert shown(files) == [0, 1, 2, 3, 4]


def test_a_segment_outside_of_a_log_directory_has_no_mark() -> None:
    files = files_with(**checkpoints(2, 4))
    path = ROOT / "copied" / LOG
    files.put(path, files.content(LOG))
    assert shown(files, path) == [0, 1, 2, 3, 4]
