from pathlib import Path

import pytest

from odradek.pipeline.errors import BadOption, SourceError
from odradek.pipeline.source.log_view import BrokerView, LogEnd
from odradek.pipeline.source.options import read_options
from odradek.pipeline.source.path_view import (
    DirectoryView,
    SegmentPartition,
    log_view,
    segment_partitions,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import from_text
from odradek.storage.formats.partition_metadata import format_partition_metadata
from tests.broker_process import BrokerProcess, running_broker
from tests.pipeline import feeding
from tests.pipeline.log_directories import TOPIC, make_directory, small_batches, wanted

PLACE = TopicPartition(TOPIC, 0)
TOPIC_ID = from_text("yE-4XVDfSdeFkun9NFVDag")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """The directory of a broker that was stopped cleanly; a topic with an abort."""
    with running_broker(tmp_path / "data") as broker:
        feeding.create(broker.address, "other", 2)
        for partition in range(2):  # what was never written to has no directory
            feeding.send(broker.address, "other", [b"x"], partition)
        feeding.feed_transactions(broker.address, TOPIC)
        broker.terminate()
    return tmp_path / "data"


def test_the_logs_of_a_stopped_broker(stopped: Path) -> None:
    view = DirectoryView(stopped, committed=False)
    topics = view.topics(None)
    assert {name: topics[name].partitions for name in (TOPIC, "other")} == {
        TOPIC: [0],
        "other": [0, 1],
    }
    assert view.starts([PLACE]) == {PLACE: 0}
    # Six transactions of seven records with a marker each, and three records more.
    assert view.ends([PLACE]) == {PLACE: LogEnd(51)}
    assert DirectoryView(stopped, committed=True).ends([PLACE]) == {PLACE: LogEnd(51)}


def test_what_is_not_there_or_cannot_be_told(stopped: Path) -> None:
    view = DirectoryView(stopped, committed=False)
    with pytest.raises(SourceError, match=r"has no topic othre\. Did you mean other\?"):
        view.topics(["othre"])
    with pytest.raises(BadOption, match="by time only with a broker"):
        view.offsets_since({PLACE: 1})


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    make_directory(tmp_path / "data", small_batches(3), is_clean=False)
    with pytest.raises(SourceError, match="not stopped cleanly"):
        DirectoryView(tmp_path / "data", committed=False)
    with pytest.raises(SourceError, match="Option path"):
        DirectoryView(tmp_path / "nothing", committed=False)


def test_a_broker_is_asked_if_one_is_named(
    broker_process: BrokerProcess, tmp_path: Path
) -> None:
    given = {"path": str(broker_process.data_dir)}
    servers = {"kafka.bootstrap.servers": broker_process.address}
    with log_view(read_options({**given, **servers})) as view:
        assert isinstance(view, BrokerView)
    make_directory(tmp_path, small_batches(3))
    with log_view(read_options({"path": str(tmp_path)})) as view:
        assert isinstance(view, DirectoryView)


def test_pieces_for_tasks(tmp_path: Path) -> None:
    make_directory(tmp_path, small_batches(30))
    options = read_options({"path": str(tmp_path)})
    parts = segment_partitions(wanted(0, 60), options, {})
    assert all(isinstance(part, SegmentPartition) for part in parts)
    assert len(parts) == 3


def parts_of(root: Path, topic_ids: dict[str, bytes]) -> int:
    options = read_options({"path": str(root)})
    return len(segment_partitions(wanted(0, 60), options, topic_ids))


def test_the_log_of_another_topic_is_not_read(tmp_path: Path) -> None:
    make_directory(tmp_path, small_batches(30))
    assert parts_of(tmp_path, {TOPIC: TOPIC_ID}) == 3  # brokers before 2.8
    metadata = tmp_path / str(PLACE) / "partition.metadata"
    metadata.write_bytes(format_partition_metadata(TOPIC_ID))
    assert parts_of(tmp_path, {TOPIC: TOPIC_ID}) == 3
    assert parts_of(tmp_path, {}) == 3  # nobody says which topic is meant
    with pytest.raises(SourceError, match="another topic topic than the broker"):
        parts_of(tmp_path, {TOPIC: bytes(15) + b"x"})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "malformed"),
        (b"topic_id: yE-4XVDfSdeFkun9NFVDag", "malformed"),
        (b"version: 1\ntopic_id: yE-4XVDfSdeFkun9NFVDag", "version '1' is not known"),
        (b"\xff\xfe", "malformed"),
    ],
)
def test_a_log_that_may_be_any_topics_is_not_read(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    make_directory(tmp_path, small_batches(30))
    metadata = tmp_path / str(PLACE) / "partition.metadata"
    metadata.write_bytes(data)
    for topic_ids in {}, {TOPIC: TOPIC_ID}:
        with pytest.raises(SourceError, match=reason) as raised:
            parts_of(tmp_path, topic_ids)
        assert str(metadata) in str(raised.value)


def test_metadata_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    make_directory(tmp_path, small_batches(30))
    metadata = tmp_path / str(PLACE) / "partition.metadata"
    metadata.mkdir()
    with pytest.raises(SourceError, match=r"partition\.metadata: Is a directory"):
        parts_of(tmp_path, {TOPIC: TOPIC_ID})
