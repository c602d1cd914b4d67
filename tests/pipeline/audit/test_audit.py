from pathlib import Path

import pytest

from odradek.pipeline.audit.audit import Audit, conclude, plan_audit
from odradek.pipeline.audit.span import audit_piece
from odradek.pipeline.errors import SourceError
from odradek.pipeline.segments.directory import DataDirectory
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from tests.pipeline.log_directories import (
    log_file,
    make_directory,
    position_of,
    quarantine,
    small_batches,
    write_segment,
)

GOLDEN = Path(__file__).parents[2] / "golden/kafka-4.3.1"
DATA = small_batches(40)


def audit(root: Path, *topics: str) -> Audit:
    """Without Spark, in pieces as it has them."""
    directory = DataDirectory(root)
    pieces = plan_audit(directory, topics)
    return conclude(directory, map(audit_piece, pieces))


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def test_a_sound_directory(tmp_path: Path) -> None:
    found = audit(make_directory(tmp_path, DATA))
    assert found.is_sound
    assert found.findings == []
    (partition,) = found.partitions
    assert (partition.segments, partition.batches, partition.records) == (4, 40, 80)
    assert (partition.base_offset, partition.next_offset) == (0, 80)
    assert partition.size == len(DATA)
    assert len(found.spans) == 4


def test_a_flipped_bit_is_damage(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    position = position_of(log_file(root, 20).read_bytes(), 26)
    flip(log_file(root, 20), position + 70)
    found = audit(root)
    assert not found.is_sound
    (finding,) = found.findings
    assert str(finding).startswith(
        f"DAMAGE topic-0: 00000000000000000020.log, bytes {position} to "
    )
    assert str(finding).endswith("offset 26: the checksum is wrong")
    assert found.partitions[0].damages == 1


def test_a_torn_end_is_a_note_unless_it_was_durable(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA, is_clean=False)
    path = log_file(root, 60)
    path.write_bytes(path.read_bytes()[:-5])
    found = audit(root)
    assert found.is_sound
    assert "torn by a stop, or being written" in str(found.findings[0])
    checkpoint = root / "recovery-point-offset-checkpoint"
    checkpoint.write_text("0\n1\ntopic 0 79\n")
    assert not audit(root).is_sound
    checkpoint.write_text("0\n1\ntopic 0 70\n")
    assert audit(root).is_sound
    (root / ".kafka_cleanshutdown").write_text("{}")
    assert not audit(root).is_sound


def test_a_torn_segment_in_the_middle_is_damage(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA, is_clean=False)
    path = log_file(root, 20)
    path.write_bytes(path.read_bytes()[:-5])
    assert not audit(root).is_sound


def test_what_is_in_quarantine_is_damage(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    data = log_file(root, 20).read_bytes()
    start, end = position_of(data, 24), position_of(data, 28)
    quarantine(root, [QuarantineEntry(20, start, end, 24, 27, "bad")])
    found = audit(root)
    (finding,) = found.findings
    assert "in quarantine: bad; offsets 24 to 27 are lost" in str(finding)
    assert not found.is_sound


def test_a_missing_segment_is_a_note(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    log_file(root, 20).unlink()
    found = audit(root)
    assert found.is_sound
    assert [str(each) for each in found.findings] == [
        "note topic-0: 20 offsets are missing, and nothing looks compacted"
    ]
    assert found.partitions[0].missing_offsets == 20


def test_a_segment_that_goes_back_is_damage(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    data = log_file(root, 20).read_bytes()
    write_segment(root / "topic-0", 10, data)
    assert not audit(root).is_sound


def test_bytes_behind_the_last_batch_of_a_segment_are_damage(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    with log_file(root, 20).open("ab") as log:
        log.write(b"no batch")
    (finding,) = audit(root).findings
    assert finding.is_damage
    assert "something behind the last batch of the segment" in finding.message


def test_zeros_behind_a_segment_are_none(tmp_path: Path) -> None:
    """A power cut may take the cut of a file that was allocated ahead."""
    root = make_directory(tmp_path, DATA)
    with log_file(root, 20).open("ab") as log:
        log.write(bytes(3 << 20))
    assert audit(root).findings == []


def test_a_compacted_log_may_have_gaps() -> None:
    for case in ("compact-delete", "compact-tombstones-kept"):
        found = audit(GOLDEN / case / "log-dir")
        assert found.is_sound
    assert audit(GOLDEN / "compact-tombstones-kept/log-dir").findings == []


@pytest.mark.parametrize(
    ("case", "is_sound"),
    [
        ("codecs-java", True),
        ("txn-interleaved", True),
        ("empty-partitions", True),
        ("torn-tail-cut-half", True),
        ("garbage-tail", True),
        ("flip-last-batch-clean", False),
        ("flip-old-segment", False),
        ("flip-active-middle", False),
    ],
)
def test_directories_of_kafka(case: str, is_sound: bool) -> None:
    assert audit(GOLDEN / case / "log-dir").is_sound is is_sound


def test_only_the_topics_that_are_asked_for() -> None:
    root = GOLDEN / "codecs-java/log-dir"
    found = audit(root, "c-zstd")
    assert [each.topic for each in found.partitions] == ["c-zstd"]
    with pytest.raises(SourceError, match="no partition of topic nothing"):
        audit(root, "nothing")
