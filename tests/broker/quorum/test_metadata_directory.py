from pathlib import Path

import pytest

from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.replay import Replay
from odradek.broker.quorum.metadata_directory import (
    find_metadata_directory,
    read_metadata_log,
)
from odradek.protocol.metadata_records import TopicRecord
from odradek.storage.files.files import OsFiles
from tests.adopted import METADATA_GOLDEN
from tests.fakes.controller import batch_of, snapshot_of

SNAPSHOT = METADATA_GOLDEN / "snapshot" / "log-dir" / "__cluster_metadata-0"


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16, b"-"))


def test_the_metadata_log_is_found_in_its_directory_and_by_its_own_name() -> None:
    assert find_metadata_directory(SNAPSHOT) == SNAPSHOT
    assert find_metadata_directory(SNAPSHOT.parent) == SNAPSHOT
    assert find_metadata_directory(SNAPSHOT.parent.parent) is None


def test_the_log_goes_on_where_the_newest_whole_snapshot_ends(tmp_path: Path) -> None:
    write = [snapshot_of([topic("a")]), snapshot_of([topic("b")], has_footer=False)]
    (tmp_path / f"{2:020d}-{1:010d}.checkpoint").write_bytes(write[0])
    (tmp_path / f"{3:020d}-{1:010d}.checkpoint").write_bytes(write[1])
    log = batch_of([topic("no")], 0, 1) + batch_of([topic("no")], 1, 1)
    log += batch_of([topic("c")], 2, 1)
    (tmp_path / f"{0:020d}.log").write_bytes(log)
    notes: list[str] = []
    image = read_metadata_log(OsFiles(), tmp_path, notes, Replay).publish()
    assert sorted(image.topic_ids) == ["a", "c"]
    assert image.offset == 2
    (note,) = notes
    assert note.endswith(".checkpoint is not a whole snapshot; an older one is used")


def test_a_file_is_named_with_what_is_wrong_in_it(tmp_path: Path) -> None:
    with pytest.raises(MetadataLogError, match="neither a snapshot nor a log"):
        read_metadata_log(OsFiles(), tmp_path, [], Replay)
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(batch_of([topic("a")], 0, 1) + batch_of([topic("b")], 2, 1))
    with pytest.raises(MetadataLogError, match=f"{path.name}: .* offset 1 is missing"):
        read_metadata_log(OsFiles(), tmp_path, [], Replay)
