import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.image import EMPTY, MetadataImage
from odradek.broker.quorum.image.replay import STEPS, Replay
from odradek.broker.quorum.metadata_directory import read_metadata_log
from odradek.broker.quorum.snapshot_download import (
    SnapshotDownload,
    SnapshotName,
    replay_snapshot,
)
from odradek.protocol.membership_records import NoOpRecord
from odradek.protocol.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    TopicRecord,
)
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Message
from odradek.protocol.uuids import to_text
from odradek.storage.files.files import OsFiles
from tests.adopted import METADATA_GOLDEN
from tests.broker.quorum.image.random_history import History
from tests.broker.quorum.image.records_of import records_of
from tests.fakes.controller import batch_of, snapshot_of

BEGIN, END = BeginTransactionRecord(), EndTransactionRecord()
ABORT = AbortTransactionRecord()


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16, b"-"))


def apply(replay: Replay, *messages: Message) -> None:
    offset = replay.image.offset + 1
    for batch in [batch_of(messages, offset, 1)]:
        replay.apply(read_header(batch), batch)


def applied(*batches: list[Message]) -> MetadataImage:
    replay, offset = Replay(), 0
    for messages in batches:
        batch = batch_of(messages, offset, 1)
        replay.apply(read_header(batch), batch)
        offset += len(messages)
    return replay.publish()


def test_an_image_does_not_change_when_the_next_one_is_made() -> None:
    replay = Replay()
    apply(replay, topic("a"))
    before = replay.publish()
    apply(replay, topic("b"))
    assert replay.image is before
    after = replay.publish()
    assert (list(before.topic_ids), list(after.topic_ids)) == (["a"], ["a", "b"])
    assert before.topics[before.topic_ids["a"]] is after.topics[before.topic_ids["a"]]
    assert after.brokers is before.brokers
    assert replay.publish() is after


def test_a_transaction_is_seen_whole_or_not_at_all() -> None:
    open_one = applied([topic("a"), BEGIN, topic("b")], [topic("c")])
    assert (list(open_one.topic_ids), open_one.offset) == (["a"], 0)
    ended = applied([topic("a"), BEGIN, topic("b")], [topic("c"), END, NoOpRecord()])
    assert (list(ended.topic_ids), ended.offset) == (["a", "b", "c"], 5)
    aborted = applied([BEGIN, topic("b")], [ABORT, topic("c")])
    assert (list(aborted.topic_ids), aborted.offset) == (["c"], 3)


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([BEGIN, BEGIN], "offset 1: BEGIN_TRANSACTION record: .* inside another"),
        ([END], "offset 0: END_TRANSACTION record: .* did not begin"),
        ([ABORT], "offset 0: ABORT_TRANSACTION record: .* did not begin"),
    ],
)
def test_transactions_do_not_nest(messages: list[Message], complaint: str) -> None:
    with pytest.raises(MetadataLogError, match=complaint):
        applied(messages)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (bytes([1, 40, 0]), "offset 3: a metadata record of type 40; a newer Apache"),
        (bytes([1, 2, 7]), "offset 3: a TopicRecord of version 7, known up to 0"),
        (bytes([1, 0, 5]), "offset 3: a RegisterBrokerRecord of version 5"),
        (bytes([1, 2, 0, 1]), "offset 3: "),
        (bytes([1, 20, 0, 0, 0]), "offset 3: .*1 bytes too many"),
        (bytes([2, 2, 0, 1]), "offset 3: a metadata record of frame 2"),
    ],
)
def test_what_cannot_be_read_is_named(value: bytes, complaint: str) -> None:
    batch = bytes(build_batch([NewRecord(None, value, 1)], base_offset=3))
    with pytest.raises(MetadataLogError, match=complaint):
        Replay().apply(read_header(batch), batch)


def test_a_snapshot_with_half_a_transaction_is_refused() -> None:
    replay = Replay()
    replay.begin_snapshot(5, 1)
    apply(replay, BEGIN)
    with pytest.raises(MetadataLogError, match="inside a transaction"):
        replay.end_snapshot()
    assert replay.publish() is EMPTY


def from_snapshot(image: MetadataImage) -> Replay:
    replay, name = Replay(), SnapshotName(image.offset + 1, image.epoch)
    download = SnapshotDownload(name)
    data = snapshot_of(records_of(image))
    download.take(0, data, len(data))
    replay_snapshot(replay, name, download.batches())
    return replay


def test_a_log_is_a_snapshot_and_what_follows_it() -> None:
    seen: set[type[Message]] = set()
    for seed in range(10):
        history = History(Random(seed))
        whole, offset = Replay(), 0
        shortened: Replay | None = None
        while offset < 240:
            messages = list(history.records(history.draw.randint(1, 12)))
            seen.update(map(type, messages))
            batch = batch_of(messages, offset, 1)
            offset += len(messages)
            for replay in (whole, shortened):
                if replay is not None:
                    replay.apply(read_header(batch), batch)
            if history.draw.random() < 0.2:
                expected = whole.publish()
                if shortened is not None:
                    assert same(shortened.publish()) == same(expected), seed
                shortened = from_snapshot(expected)
    assert seen >= {*STEPS} - {each for each in STEPS if "Zk" in each.__name__}


def same(image: MetadataImage) -> MetadataImage:
    """Without what a snapshot does not tell: when the features changed."""
    return image._replace(features_offset=0)


# What Apache Kafka's own classes make of its logs


@pytest.mark.parametrize("name", ["topics", "snapshot"])
def test_apache_kafkas_logs_lead_to_its_image(name: str) -> None:
    folder = METADATA_GOLDEN / name
    expected = json.loads((folder / "expected.json").read_text())
    log_dir = "log-dir-1" if name == "topics" else "log-dir"
    directory = folder / log_dir / "__cluster_metadata-0"
    image = read_metadata_log(OsFiles(), directory, [], Replay).publish()
    assert shown(image) == {
        key: expected["image"][key] for key in ("next_producer_id", "topics", "configs")
    }
    assert image.features["metadata.version"] == 30
    features = {k: v for k, v in image.features.items() if k != "metadata.version"}
    text = ", ".join(f"{key}={features[key]}" for key in sorted(features))
    assert expected["image"]["features"].startswith("{" + text + "}")
    for path, state in expected["snapshots"].items():
        assert shown(of_file(directory / Path(path).name)) == {
            key: state[key] for key in ("next_producer_id", "topics", "configs")
        }


def of_file(path: Path) -> MetadataImage:
    name = SnapshotName(int(path.name[:20]), int(path.name[21:31]))
    download, data, replay = SnapshotDownload(name), path.read_bytes(), Replay()
    download.take(0, data, len(data))
    replay_snapshot(replay, name, download.batches())
    return replay.publish()


def shown(image: MetadataImage) -> dict[str, Any]:
    topics: dict[str, Any] = {}
    for each, number, partition in image.partitions():
        of_topic = topics.setdefault(
            each.name, {"topic_id": to_text(each.topic_id), "partitions": {}}
        )
        of_topic["partitions"][str(number)] = {
            "leader": partition.leader,
            "leader_epoch": partition.leader_epoch,
            "partition_epoch": partition.partition_epoch,
            "directories": [to_text(each) for each in partition.directories],
        }
    configs = [
        [resource.kind, resource.name or "<default>", name, value]
        for resource, options in image.options.items()
        for name, value in options.items()
    ]
    return {
        "next_producer_id": image.next_producer_id,
        "topics": topics,
        "configs": sorted(configs),
    }
