"""What odradek wrote, in the hands of Apache Kafka: its dump tool, and its broker."""

import shutil
import time
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import admin

from odradek.protocol.records import NewRecord
from odradek.protocol.uuids import random_uuid
from odradek.storage.files.files import OsFiles
from odradek.storage.files.partition_metadata import read_partition_metadata
from odradek.storage.files.preallocation import STEP_MAX
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.node import KafkaNode
from tests.apache_kafka.written import KINDS, Journal, write_logs
from tests.patience import PATIENCE_S

DUMP_TOOL = "org.apache.kafka.tools.DumpLogSegments"

COMPLAINTS = ("mismatch", "Found", "corrupt", "Corrupt", "xception", "invalid bytes")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("odradek")
    write_logs(directory, {name: random_uuid() for name in KINDS})
    return directory


LEFT = ("clean", "killed", "killed with zeros")


def test_the_dump_tool_has_no_complaint(written: Path, java: JavaClient) -> None:
    kinds = ("*.log", "*.index", "*.timeindex", "*.txnindex", "*.snapshot")
    paths = [path for kind in kinds for path in sorted(written.glob(f"*/{kind}"))]
    assert {path.suffix for path in paths} == {kind[1:] for kind in kinds}
    files = ",".join(map(str, paths))
    printed = java.tool(DUMP_TOOL, "--deep-iteration", "--files", files)
    assert printed.count("Dumping ") == len(paths)
    assert "isvalid: false" not in printed
    lines = printed.splitlines()
    assert not [line for line in lines if any(word in line for word in COMPLAINTS)]


@pytest.mark.long
@pytest.mark.parametrize("left", LEFT)
def test_apache_kafka_serves_them(tmp_path: Path, left: str) -> None:
    """Opened as they were left, or after a recovery that looks at every batch.

    With ``preallocate`` there are zeros behind a log whose broker was killed.
    """
    node = KafkaNode(tmp_path)
    node.start()
    try:
        _create_topics(node)
        node.stop()
        topic_ids = {
            name: _take_topic_id(node.data_dir / f"{name}-0") for name in KINDS
        }
        journals = write_logs(node.data_dir, topic_ids)
        if left != "clean":
            (node.data_dir / ".kafka_cleanshutdown").unlink()
            (node.data_dir / "recovery-point-offset-checkpoint").unlink()
        if left == "killed with zeros":
            for name in KINDS:
                *_, active = sorted((node.data_dir / f"{name}-0").glob("*.log"))
                active.write_bytes(active.read_bytes() + bytes(STEP_MAX))
        start = len(node.log())
        node.start()
        for name, journal in journals.items():
            for committed in (False, True):
                _check(node, name, journal, committed=committed)
            _check_append(node, name, journal.log.log_end_offset)
        if left != "killed with zeros":  # it tells of each that it has cut them
            _check_log(node.log()[start:])
    finally:
        node.kill()


def _create_topics(node: KafkaNode) -> None:
    client = admin.AdminClient({"bootstrap.servers": node.address})
    topics = [
        admin.NewTopic(name, 1, 1, config={"retention.ms": "-1"}) for name in KINDS
    ]
    for created in client.create_topics(topics).values():
        created.result(PATIENCE_S)


def _take_topic_id(directory: Path) -> bytes:
    """The topic id in the directory of a partition, which goes."""
    topic_id = read_partition_metadata(OsFiles(), directory)
    assert topic_id is not None
    shutil.rmtree(directory)
    return topic_id


def _check(node: KafkaNode, topic: str, journal: Journal, *, committed: bool) -> None:
    expected = journal.readable(committed=committed)
    assert expected
    consumer = _consumer(node, committed=committed)
    try:
        assert _log_start(consumer, topic) == journal.log.log_start_offset, topic
        consumer.assign(
            [confluent_kafka.TopicPartition(topic, 0, confluent_kafka.OFFSET_BEGINNING)]
        )
        read = {}
        for message in consumer.consume(len(expected), PATIENCE_S):
            assert message.error() is None, (topic, message.error())
            read[message.offset()] = _record(message)
    finally:
        consumer.close()
    assert read == expected, topic


def _log_start(consumer: confluent_kafka.Consumer, topic: str) -> int:
    """Asked until the broker leads, which takes Apache Kafka a while after a kill."""
    partition = confluent_kafka.TopicPartition(topic, 0)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return consumer.get_watermark_offsets(partition, timeout=PATIENCE_S)[0]
        except confluent_kafka.KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _consumer(node: KafkaNode, *, committed: bool) -> confluent_kafka.Consumer:
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": node.address,
            "group.id": "reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "check.crcs": True,
        }
    )


def _record(message: Any) -> NewRecord:
    headers = tuple((name, value) for name, value in message.headers() or ())
    return NewRecord(message.key(), message.value(), message.timestamp()[1], headers)


def _check_append(node: KafkaNode, topic: str, log_end_offset: int) -> None:
    """The next record goes where we say that the log ends."""
    offsets = []
    producer = confluent_kafka.Producer({"bootstrap.servers": node.address})
    producer.produce(
        topic, b"one more", on_delivery=lambda _, message: offsets.append(message)
    )
    assert producer.flush(PATIENCE_S) == 0
    assert [message.offset() for message in offsets] == [log_end_offset], topic


def _check_log(text: str) -> None:
    """Nothing that Apache Kafka finds strange about our files."""
    strange = [
        line
        for line in text.splitlines()
        if (" WARN " in line or " ERROR " in line)
        and any(f"{name}-0" in line for name in KINDS)
    ]
    assert not strange
