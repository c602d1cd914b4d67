"""Where a job is, noted beside its table."""

from pathlib import Path

from odradek.pipeline.tables.commit import Commit, CommittedRange
from odradek.pipeline.tables.commit_note import CommitNote

COMMIT = Commit("a.b", 4, (CommittedRange("t", 0, 5, 9, "id", 1),), 4, staged="x")


def test_note_is_read_back(tmp_path: Path) -> None:
    note = CommitNote(tmp_path, "a.b")
    assert note.read("table", None) is None
    for durably in (True, False):
        note.write(COMMIT, "table", durably=durably)
        assert note.read("table", None) == COMMIT
    (file,) = (tmp_path / "_odradek").iterdir()
    assert file.suffix == ".json"


def test_note_of_another_batch_table_or_job(tmp_path: Path) -> None:
    note = CommitNote(tmp_path, "a.b")
    note.write(COMMIT, "table")
    assert note.read("another", None) is None
    assert note.read("another", 4) == COMMIT  # the batch has the same number only once
    assert note.read("table", 5) is None
    assert CommitNote(tmp_path, "a-b").read("table", None) is None


def test_note_that_cannot_be_read(tmp_path: Path) -> None:
    note = CommitNote(tmp_path, "a.b")
    note.write(COMMIT, "table")
    (file,) = (tmp_path / "_odradek").iterdir()
    whole = file.read_text()
    for text in (
        "",
        whole[:60],
        "[]",
        "{}",
        whole.replace('"version":1', '"version":9'),
    ):
        file.write_text(text)
        assert note.read("table", None) is None
