import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.backup.cut import take_rolled_cuts
from odradek.storage.backup.snapshot import SnapshotWriter
from odradek.storage.directory.checkpoints import DirectoryFailure
from odradek.storage.files.files import Files, OsFiles
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_config import LogConfig
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import NOW_MS
from tests.storage.backup.backups import DATA, MADE, TOPIC_ID, A, B, append, log_of
from tests.storage.backup.snapshots import (
    described,
    fork,
    manager_at,
    snapshot,
    snapshot_plan,
)
from tests.storage.cleaner.cleaning import clean, put
from tests.storage.logs import EPOCH

ROOT = Path("/disk")
ORIGIN, TAKEN = DATA, ROOT / "taken"
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))


def tree(files: Files, root: Path) -> dict[str, bytes]:
    """The content of all files of a snapshot."""
    names = described(files, root)["files"]
    return {name: files.read_bytes(root / name) for name in names}


def loaded(files: Files, directory: Path, config: LogConfig) -> UnifiedLog:
    manager = manager_at(files, directory)
    assert manager.was_clean
    log = manager.load(A, TOPIC_ID, config, NOW_MS)
    manager.register(log)
    return log


def test_a_fork_recovers_nothing_and_reads_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = FakeFiles()
    manager = manager_at(files, ORIGIN)
    origin = log_of(manager, A)
    snapshot(files, manager, TAKEN)
    fork(files, TAKEN, ROOT / "fork")
    caplog.clear()
    caplog.set_level(logging.INFO)
    log = loaded(files, ROOT / "fork", LogConfig())
    assert not caplog.records
    assert log.loaded is not None
    assert log.loaded[:3] == (False, 0, 0)
    assert (log.log_end_offset, log.high_watermark) == (6, 6)
    assert log.producers.encode() == origin.producers.encode()
    assert log.local.active.size == 0


def test_all_records_are_in_sealed_segments() -> None:
    files = FakeFiles()
    manager = manager_at(files, ORIGIN)
    log = log_of(manager, A)
    empty = manager.create(B, TOPIC_ID, LogConfig(), ORIGIN, NOW_MS)
    written = snapshot(files, manager, TAKEN)
    content = described(files, TAKEN)
    logs = {
        name: size for name, size in content["files"].items() if name.endswith(".log")
    }
    assert {name for name, size in logs.items() if size} < set(content["sealed"])
    assert [name for name, size in logs.items() if not size] == [
        f"0/{A}/{6:020d}.log",
        f"0/{B}/{0:020d}.log",
    ]
    assert len(empty.local.segments) == 1  # nothing to be sealed
    sealed_size = sum(content["files"][name] for name in content["sealed"])
    assert written.shared_size == sealed_size > 0
    assert written.size == sum(content["files"].values())
    append(log, 1)
    assert log.log_end_offset == 7


def test_it_says_what_made_it() -> None:
    files = FakeFiles()
    snapshot(files, manager_at(files, ORIGIN), TAKEN)
    content = described(files, TAKEN)
    assert (content["snapshot_format"], content["directories"]) == (1, 1)
    assert (content["odradek"], content["made"]) == tuple(MADE)


def test_what_cannot_be_shared_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    files = FakeFiles()
    manager = manager_at(files, ORIGIN)
    log_of(manager, A)
    plan = snapshot_plan(files, manager)
    monkeypatch.setattr(files, "share", lambda *_: False)
    written = SnapshotWriter(files, plan, TAKEN).write(MADE)
    assert written.shared_size == 0
    shared = snapshot_plan(files, manager)
    monkeypatch.undo()
    SnapshotWriter(files, shared, ROOT / "links").write(MADE)
    assert tree(files, TAKEN) == tree(files, ROOT / "links")


def test_a_kill_at_any_moment_leaves_no_half_snapshot() -> None:
    """T363: what has the name is whole, and the origin is as it was."""
    count = 0
    while True:
        count += 1
        files = FakeFiles()
        manager = manager_at(files, ORIGIN)
        log = log_of(manager, A)
        plan = snapshot_plan(files, manager)
        files.fail(nth=count)
        try:
            SnapshotWriter(files, plan, TAKEN).write(MADE)
        except KafkaStorageError:
            assert not files.exists(TAKEN)
        files.heal()
        append(log, 1)
        if not files.failed:
            break
        SnapshotWriter(files, plan, TAKEN).write(MADE)
        assert described(files, TAKEN)["files"]
    assert count > 20


def test_a_disk_that_fails_is_named() -> None:
    files = FakeFiles()
    manager = manager_at(files, ORIGIN)
    log_of(manager, A)
    files.fail("open")
    with pytest.raises(DirectoryFailure) as failed:
        take_rolled_cuts(manager, NOW_MS)
    assert failed.value.directory == ORIGIN


def go_on(log: UnifiedLog) -> None:
    put(log, (b"k", b"new"))


def cut_inside(log: UnifiedLog) -> None:
    log.truncation.truncate_to(3, NOW_MS)
    put(log, (b"k", b"other"))


def cut_at_a_segment(log: UnifiedLog) -> None:
    log.truncation.truncate_to(log.local.active.base_offset, NOW_MS)
    put(log, (b"k", b"other"))


def compact(log: UnifiedLog) -> None:
    clean(log)
    put(log, (b"k", b"compacted"))


def write_again(log: UnifiedLog) -> None:
    for segment in log.local.segments:
        segment.log.rewrite(0)


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(
    "change", [go_on, cut_inside, cut_at_a_segment, compact, write_again]
)
def test_whatever_one_does_the_others_keep_their_bytes(
    tmp_path: Path, change: Callable[[UnifiedLog], None], in_memory: bool
) -> None:
    """T361: an origin, a snapshot and two forks share the bytes of sealed segments."""
    files: Files = FakeFiles() if in_memory else OsFiles()
    manager = manager_at(files, tmp_path / "origin")
    origin = manager.create(A, TOPIC_ID, COMPACTED, tmp_path / "origin", NOW_MS)
    origin.assign_epoch(EPOCH)
    for number in range(3):
        put(origin, (b"k", b"%d" % number), (b"l", b"%d" % number))
        if number < 2:
            origin.roll(NOW_MS)
    snapshot(files, manager, tmp_path / "taken")
    before = tree(files, tmp_path / "taken")
    fork(files, tmp_path / "taken", tmp_path / "one")
    fork(files, tmp_path / "taken", tmp_path / "two")
    logs = [loaded(files, tmp_path / name, COMPACTED) for name in ("one", "two")]
    logs.append(origin)
    for changed in logs:
        kept = {log: bytes_of(files, log) for log in logs if log is not changed}
        change(changed)
        changed.flush(with_snapshot=True)
        assert {log: bytes_of(files, log) for log in kept} == kept
        assert tree(files, tmp_path / "taken") == before
    contents = [bytes_of(files, log) for log in logs]
    assert contents[0] == contents[1] == contents[2]


def test_a_log_that_was_cut_into_a_gap_appends_to_a_copy(tmp_path: Path) -> None:
    """Nothing of the sealed segment is cut; all the same it is shared."""
    files = OsFiles()
    manager = manager_at(files, tmp_path / "origin")
    log = manager.create(A, TOPIC_ID, LogConfig(), tmp_path / "origin", NOW_MS)
    log.assign_epoch(EPOCH)
    put(log, (b"k", b"1"))
    log.roll(NOW_MS, expected_next_offset=10)
    log.local.end = log.local.end._replace(offset=10)
    put(log, (b"k", b"1"))
    snapshot(files, manager, tmp_path / "taken")
    before = tree(files, tmp_path / "taken")
    log.truncation.truncate_to(5, NOW_MS)
    assert log.local.active.base_offset == 0
    put(log, (b"k", b"2"), timestamp=NOW_MS + 1)
    log.flush(with_snapshot=True)
    log.local.active.seal()
    for name in ("log", "timeindex"):
        shared, own = (tmp_path / path for path in ("taken/0/a-0", "origin/a-0"))
        assert files.size(own / f"{0:020d}.{name}") > files.size(
            shared / f"{0:020d}.{name}"
        )
    assert tree(files, tmp_path / "taken") == before


def bytes_of(files: Files, log: UnifiedLog) -> list[bytes]:
    return [files.read_bytes(segment.log.path) for segment in log.local.segments]
