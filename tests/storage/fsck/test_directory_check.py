from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.storage.fsck.directory_check import DirectoryCheck, compare_identities
from odradek.storage.fsck.known import TopicFacts
from odradek.storage.fsck.report import Severity
from tests.fakes.files import FakeFiles
from tests.storage.fsck.golden import (
    GOLDEN,
    ROOT,
    cases,
    codes,
    loaded,
    messages,
    reports,
)

# Damage and notes by case; of every other directory there is nothing to say.
DAMAGE = {
    "epoch-checkpoint-missing-clean": {"epochs"},
    "flip-active-middle": {"batch"},
    "flip-last-batch-clean": {
        "torn-tail",
        "epochs",
        "recovery-point",
        "high-watermark",
    },
    "flip-last-batch-epoch": {"epochs"},
    "flip-old-segment": {"batch"},
    "index-missing-clean": {"index"},
    "segment-missing-clean": {"orphan", "gap"},
    "torn-tail-cut-half-clean": {
        "torn-tail",
        "epochs",
        "recovery-point",
        "high-watermark",
    },
}
NOTES = {
    "flip-last-batch": {"torn-tail"},
    "flip-last-batch-clean": {"snapshot"},
    "flip-last-batch-offset-below-base": {"torn-tail"},
    "garbage-tail": {"torn-tail"},
    "snapshot-garbled": {"snapshot"},
    "torn-tail-cut-1": {"torn-tail"},
    "torn-tail-cut-11": {"torn-tail"},
    "torn-tail-cut-60": {"torn-tail"},
    "torn-tail-cut-half": {"torn-tail"},
    "torn-tail-cut-half-clean": {"snapshot"},
    "torn-tail-cut-last-byte": {"torn-tail"},
    "zero-tail": {"zero-tail"},
}
SMALL = "txn-interleaved"  # every kind of file, transactions over several segments
OFFSETS = "replication-offset-checkpoint"


@pytest.mark.parametrize("case", cases())
def test_directories_of_kafka_are_sound_but_for_what_was_done_to_them(
    case: str,
) -> None:
    found = reports(loaded(case))
    assert codes(found, Severity.DAMAGE) == DAMAGE.get(case, set()), messages(found)
    assert codes(found, Severity.NOTE) == NOTES.get(case, set()), messages(found)


@pytest.mark.parametrize("case", sorted(DAMAGE.keys() | NOTES.keys()))
def test_the_cases_are_there(case: str) -> None:
    assert case in cases()


def test_sums_are_those_of_the_files() -> None:
    found = reports(loaded("plain-size-roll"))
    [partition, directory] = found
    logs = list((GOLDEN / "plain-size-roll" / "log-dir" / "plain-0").glob("*.log"))
    assert partition.segments == len(logs)
    assert partition.size == sum(log.stat().st_size for log in logs)
    assert (partition.records, partition.log_end_offset) == (200, 200)
    assert (directory.kind, directory.path) == ("directory", ROOT)


def names(files: FakeFiles) -> list[Path]:
    return [path for path in files.paths() if path.name != ".lock"]


@settings(max_examples=150)
@given(data=st.data())
def test_no_byte_of_any_file_makes_it_fail(data: st.DataObject) -> None:
    files = loaded(SMALL)
    paths = names(files)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(paths))
        if not files.exists(path):
            continue
        size = files.size(path)
        match data.draw(st.sampled_from(["flip", "cut", "extend", "put", "remove"])):
            case "flip" if size:
                position = data.draw(st.integers(0, size - 1))
                files.flip(path, position, data.draw(st.integers(0, 7)))
            case "cut" if size:
                files.cut(path, by=data.draw(st.integers(1, size)))
            case "extend":
                files.extend(path, data.draw(st.binary(max_size=100)))
            case "put":
                files.put(path, data.draw(st.binary(max_size=200)))
            case _:
                files.unlink(path)
    before = {path: files.content(path) for path in files.paths()}
    reports(files)
    assert {path: files.content(path) for path in files.paths()} == before


@settings(max_examples=150)
@given(data=st.data())
def test_a_flipped_bit_of_a_log_is_found(data: st.DataObject) -> None:
    files = loaded(SMALL)
    logs = [path for path in names(files) if path.suffix == ".log" and files.size(path)]
    path = data.draw(st.sampled_from(logs))
    position = data.draw(st.integers(0, files.size(path) - 1))
    files.flip(path, position, data.draw(st.integers(0, 7)))
    assert codes(reports(files)), (path, position)


def test_what_was_durable_and_is_gone_is_damage_after_a_kill_too() -> None:
    files = loaded("torn-tail-cut-half")
    files.put(ROOT / "recovery-point-offset-checkpoint", b"0\n1\ntt 0 136\n")
    found = reports(files)
    assert codes(found, Severity.DAMAGE) == {"recovery-point", "torn-tail"}
    assert any("up to offset 136, and ends at 135" in text for text in messages(found))


def test_a_checkpoint_that_cannot_be_read_is_damage() -> None:
    files = loaded("plain-size-roll")
    files.put(ROOT / OFFSETS, b"0\n1\nplain 0\n")
    found = reports(files)
    assert codes(found, Severity.DAMAGE) == {"checkpoint"}
    assert any("line 3" in text for text in messages(found))


def test_a_newer_version_is_named() -> None:
    files = loaded("plain-size-roll")
    files.put(ROOT / "meta.properties", b"version=7\ncluster.id=a\nnode.id=1\n")
    assert any("version 7 is not known" in text for text in messages(reports(files)))


def test_strangers_and_leftovers_are_noted() -> None:
    files = loaded("plain-size-roll")
    files.put(ROOT / "notes.txt", b"mine")
    files.put(ROOT / f"{OFFSETS}.tmp", b"")
    for kind in ("delete", "stray"):
        files.mkdir(ROOT / f"gone-0.{'0' * 32}-{kind}")
    found = reports(files)
    assert not codes(found, Severity.DAMAGE)
    assert codes(found, leftovers=True) == {"stranger", "leftover"}
    assert len(messages(found)) == 4


def test_a_partition_of_a_checkpoint_without_a_directory_is_noted() -> None:
    files = loaded("plain-size-roll")
    files.rmtree(ROOT / "plain-0")
    assert codes(reports(files)) == {"missing"}


def test_a_written_partition_without_a_directory_is_damage() -> None:
    files = loaded("plain-size-roll")
    check = DirectoryCheck(files, ROOT, reads_records=False)
    check.prepare()
    [topic_partition] = check._offsets["recovery-point-offset-checkpoint"]
    other = topic_partition._replace(partition=1)
    found = list(check.run([topic_partition, other]))
    assert codes(found, Severity.DAMAGE) == {"missing"}


def hole(is_compacted: bool | None) -> set[tuple[str, Severity]]:
    files = loaded("plain-size-roll")
    bases = [int(path.stem) for path in files.paths() if path.suffix == ".log"]
    for path in files.paths():
        if path.name.startswith(f"{sorted(bases)[1]:020d}"):
            files.unlink(path)
    check = DirectoryCheck(files, ROOT, reads_records=False)
    check.topics = {"plain": TopicFacts(None, is_compacted)}
    check.prepare()
    return {
        (finding.code, finding.severity)
        for report in check.run()
        for finding in report.findings
    }


def test_a_missing_segment_is_a_hole_unless_compaction_explains_it() -> None:
    assert hole(is_compacted=False) == {("hole", Severity.DAMAGE)}
    assert hole(is_compacted=None) == {("gap", Severity.DAMAGE)}
    assert hole(is_compacted=True) == set()


def test_the_catalogue_knows_topics_and_their_ids() -> None:
    check = DirectoryCheck(loaded("plain-size-roll"), ROOT, reads_records=False)
    check.topics = {}
    check.prepare()
    assert codes(list(check.run())) == {"stranger"}
    check = DirectoryCheck(loaded("plain-size-roll"), ROOT, reads_records=False)
    check.topics = {"plain": TopicFacts(bytes(range(16)), None)}
    check.prepare()
    assert codes(list(check.run()), Severity.DAMAGE) == {"identity"}


def test_directories_of_one_broker_agree() -> None:
    files = loaded("plain-size-roll")
    properties = files.content("meta.properties")
    for name, data in {
        "same": properties,
        "other": b"version=1\ncluster.id=x\nnode.id=2\n",
        "none": b"",
    }.items():
        files.mkdir(Path("/more") / name)
        if data:
            files.put(Path("/more") / name / "meta.properties", data)
    paths = [ROOT, *(Path("/more") / name for name in ("same", "other", "none"))]
    checks = [DirectoryCheck(files, path, reads_records=False) for path in paths]
    for check in checks:
        check.prepare()
    compare_identities(checks)
    found = [[finding.message for finding in check.report.findings] for check in checks]
    assert found[0] == []
    assert found[1] == [f"has the directory id of {ROOT}"]
    assert "node 2 of cluster x, but /data to node 1" in found[2][0]
    assert found[3] == ["is missing"]


def test_a_directory_that_cannot_be_listed_is_reported() -> None:
    assert codes(reports(FakeFiles()), Severity.DAMAGE) == {"unreadable"}
