"""Sound is only what was read: by executors that see the files, or others, or none."""

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from odradek.pipeline.audit.audit import conclude, plan_audit
from odradek.pipeline.audit.run import Unread, audit_spans
from odradek.pipeline.errors import SourceError
from odradek.pipeline.segments.directory import DataDirectory
from odradek.pipeline.segments.planning import SegmentRange
from odradek.pipeline.spark.executors import Executors
from odradek.protocol.record_batch import scan
from tests.pipeline.audit.test_audit import audit, flip
from tests.pipeline.fake_executors import FakeExecutors
from tests.pipeline.log_directories import (
    log_file,
    make_directory,
    small_batches,
    write_segment,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from odradek.pipeline.audit.span import AuditSpan

    Answers = list[AuditSpan | Unread]

DATA = small_batches(40)
See = Callable[[SegmentRange], SegmentRange]


def spans_of(
    root: Path, see: See, pieces: list[SegmentRange] | None = None
) -> "list[AuditSpan]":
    if pieces is None:
        pieces = plan_audit(DataDirectory(root), [])
    return audit_spans(FakeExecutors(see), pieces)


def as_here(piece: SegmentRange) -> SegmentRange:
    return piece


def elsewhere(root: Path) -> See:
    """A machine on which the directory is another one."""
    other = str(root.with_name("other"))
    return lambda piece: piece._replace(path=piece.path.replace(str(root), other))


def test_executors_that_see_everything(tmp_path: Path) -> None:
    root = make_directory(tmp_path / "data", DATA)
    found = conclude(DataDirectory(root), spans_of(root, as_here))
    assert found == audit(root)
    assert found.is_sound


def test_no_executor_sees_the_directory(tmp_path: Path) -> None:
    root = make_directory(tmp_path / "data", DATA)
    with pytest.raises(SourceError) as failed:
        spans_of(root, elsewhere(root))
    said = str(failed.value)
    assert said.startswith(
        f"{socket.gethostname()} could not read {log_file(root, 0)} (no such file)"
    )
    assert f"{len(DATA):,} bytes in 4 pieces were not read" in said


def test_one_piece_that_an_executor_cannot_see(tmp_path: Path) -> None:
    root = make_directory(tmp_path / "data", DATA)
    hidden, blind = str(log_file(root, 40)), elsewhere(root)
    with pytest.raises(SourceError, match=r"in 1 pieces were not read"):
        spans_of(root, lambda piece: blind(piece) if piece.path == hidden else piece)


def test_a_copy_is_not_the_same_directory(tmp_path: Path) -> None:
    root = make_directory(tmp_path / "data", DATA)
    shutil.copytree(root, root.with_name("other"))
    with pytest.raises(SourceError, match="with the same inode numbers"):
        spans_of(root, elsewhere(root))


def test_an_executor_that_sees_a_shorter_file(tmp_path: Path) -> None:
    root = make_directory(tmp_path / "data", DATA)
    other = Path(shutil.copytree(root, root.with_name("other"))) / "topic-0"
    path = other / log_file(root, 60).name
    with path.open("r+b") as log:
        log.truncate(path.stat().st_size // 2)
    see = elsewhere(root)

    def shorter(piece: SegmentRange) -> SegmentRange:
        if piece.path != str(log_file(root, 60)):
            return piece
        return see(piece)._replace(inode=path.stat().st_ino)

    with pytest.raises(SourceError, match=r"60.log \(a shorter file\), .* in 1 pieces"):
        spans_of(root, shorter)


def test_an_executor_that_may_not_read(tmp_path: Path) -> None:
    """Any error of its file system will do."""
    root = make_directory(tmp_path / "data", DATA)

    def failing(piece: SegmentRange) -> SegmentRange:
        return piece._replace(path=f"{'x' * 300}/{piece.path}")

    with pytest.raises(SourceError, match=r"\(File name too long\), which is here"):
        spans_of(root, failing)


@pytest.mark.parametrize("change", [lambda done: done[1:], lambda done: []])
def test_answers_that_do_not_come_back(
    tmp_path: Path, change: "Callable[[Answers], Answers]"
) -> None:
    class Forgetful(FakeExecutors):
        def run(self, *asked: Any) -> "list[Answers]":
            return [change(each) for each in super().run(*asked)]

    root = make_directory(tmp_path / "data", DATA)
    pieces = plan_audit(DataDirectory(root), [])
    with pytest.raises(SourceError, match="what was not read is not known"):
        audit_spans(Forgetful(as_here), pieces)


def test_segments_that_retention_removes_meanwhile(tmp_path: Path) -> None:
    root = make_directory(tmp_path / "data", DATA)
    pieces = plan_audit(DataDirectory(root), [])
    log_file(root, 0).unlink()
    found = conclude(DataDirectory(root), spans_of(root, as_here, pieces))
    assert found.is_sound
    assert found.partitions[0].base_offset == 20
    shutil.rmtree(root / "topic-0")
    assert spans_of(root, as_here, pieces) == []


def test_segments_that_are_replaced_meanwhile_are_read_again(tmp_path: Path) -> None:
    """Compaction wrote the first two into one, in which is damage."""
    root = make_directory(tmp_path / "data", DATA)
    pieces = plan_audit(DataDirectory(root), [])
    both = log_file(root, 0).read_bytes() + log_file(root, 20).read_bytes()
    log_file(root, 20).unlink()
    cleaned = root / "topic-0" / "cleaned"
    cleaned.write_bytes(both)
    os.replace(cleaned, log_file(root, 0))
    flip(log_file(root, 0), 70)
    found = conclude(DataDirectory(root), spans_of(root, as_here, pieces))
    assert found == audit(root)
    assert not found.is_sound


def test_a_log_that_was_cut_meanwhile_is_read_as_it_is(tmp_path: Path) -> None:
    root = make_directory(tmp_path / "data", DATA)
    pieces = plan_audit(DataDirectory(root), [])
    path = log_file(root, 60)
    behind = list(scan(path.read_bytes()))[-1][0]
    with path.open("r+b") as log:
        log.truncate(behind)
    found = conclude(DataDirectory(root), spans_of(root, as_here, pieces))
    assert found == audit(root)
    assert found.partitions[0].next_offset == 78


def test_segments_that_are_replaced_again_and_again(tmp_path: Path) -> None:
    root = make_directory(tmp_path / "data", DATA)
    first = log_file(root, 0).read_bytes()
    kept = []

    def replaced(piece: SegmentRange) -> SegmentRange:
        if piece.path == str(log_file(root, 0)):
            kept.append(log_file(root, 0).rename(root / f"old-{len(kept)}"))
            write_segment(root / "topic-0", 0, first)
        return piece

    with pytest.raises(SourceError, match="topic-0: the segments are replaced faster"):
        spans_of(root, replaced)


def test_spark_audits_the_same(spark: "SparkSession", tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    flip(log_file(root, 20), list(scan(log_file(root, 20).read_bytes()))[3][0] + 70)
    directory = DataDirectory(root)
    said: list[AuditSpan] = []
    executors = Executors(spark)
    spans = audit_spans(executors, plan_audit(directory, []), said.extend)
    assert conclude(directory, spans) == audit(root)
    assert said == spans
    assert audit_spans(executors, []) == []
