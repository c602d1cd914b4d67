"""Logs that odradek has cleaned, in the hands of Apache Kafka, which cleans them on."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import admin

from odradek.protocol.control_records import ControlType
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.cleaner.choice import (
    find_cleanable,
    first_dirty_offset,
    plan_round,
)
from odradek.storage.cleaner.round import CleaningRound
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.checkpoints import CLEANER_OFFSETS_NAME, read_offsets
from odradek.storage.files.files import OsFiles
from odradek.storage.files.partition_metadata import PARTITION_METADATA_NAME
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_config import LogConfig
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.node import CLUSTER_ID, KafkaNode
from tests.apache_kafka.test_kafka_reads_our_files import (
    COMPLAINTS,
    DUMP_TOOL,
    _take_topic_id,
)
from tests.apache_kafka.written import CODECS, NODE_ID, NOW, Journal, Sender
from tests.patience import PATIENCE_S
from tests.storage.cleaner.cleaning import take_in

SEGMENT_BYTES, DAY_MS = 2000, 86_400_000
KEYS = [b"key-%d" % number for number in range(10)]
EAGER = {"log.cleaner.backoff.ms": "200", "log.initial.task.delay.ms": "100"}
OPTIONS = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": str(SEGMENT_BYTES),
    "min.cleanable.dirty.ratio": "0.01",
    "retention.ms": "-1",
}
Latest = dict[bytes, bytes]


def fill_plain(journal: Journal, turn: int) -> None:
    for number in range(40):
        journal.send(records(number, 2, turn))


def fill_tombstones(journal: Journal, turn: int) -> None:
    fill_plain(journal, turn)
    journal.send([NewRecord(key, None, NOW) for key in KEYS[turn : turn + 3]])
    journal.send([NewRecord(KEYS[9], None, NOW), *records(1, 2, turn)])


def fill_codecs(journal: Journal, turn: int) -> None:
    for number, name in enumerate(8 * list(CODECS)):
        journal.send(records(3 * number, 5, turn), codec=name)


def fill_transactions(journal: Journal, turn: int) -> None:
    """Two producers, one of which aborts; and an idempotent one between them."""
    for number in range(8):
        place = 8 * turn + number
        sent = [
            journal.send(
                records(number + each, 3, turn),
                Sender(2000 + each, 0, 3 * place),
                is_transactional=True,
            )
            for each in range(2)
        ]
        journal.send(records(number, 1, turn), Sender(3000, 0, place))
        kind = ControlType.ABORT if number % 3 else ControlType.COMMIT
        journal.end(Sender(2000, 0), kind, sent[0])
        journal.end(Sender(2001, 0), ControlType.COMMIT, sent[1])
        journal.sync()


FILLS: dict[str, tuple[Callable[[Journal, int], None], int]] = {
    "plain": (fill_plain, DAY_MS),
    "tombstones": (fill_tombstones, DAY_MS),
    "expired": (fill_tombstones, 1),
    "codecs": (fill_codecs, DAY_MS),
    "transactions": (fill_transactions, 1),
}


def now_ms() -> int:
    return int(time.time() * 1000)


def records(start: int, count: int, turn: int) -> list[NewRecord]:
    return [
        NewRecord(
            KEYS[each % len(KEYS)], b"%d of %d" % (each, turn) + bytes(60), timestamp
        )
        for timestamp, each in enumerate(range(start, start + count), NOW)
    ]


def write_cleaned(directory: Path, topic_ids: dict[str, bytes]) -> dict[str, Journal]:
    """Fill the logs and clean them, twice."""
    manager = LogManager([directory], OsFiles(), cluster_id=CLUSTER_ID, node_id=NODE_ID)
    manager.open()
    journals = {}
    for name, topic_id in topic_ids.items():
        fill, retention_ms = FILLS[name]
        config = LogConfig(
            segment_bytes=SEGMENT_BYTES,
            index_interval_bytes=300,
            retention_ms=-1,
            cleanup_policy=frozenset({"compact"}),
            delete_retention_ms=retention_ms,
            file_delete_delay_ms=0,
        )
        log = manager.create(TopicPartition(name, 0), topic_id, config, None, now_ms())
        journal = journals[name] = Journal(log)
        for turn in range(3):
            fill(journal, turn)
            journal.sync()
            clean(manager, log)
            time.sleep(0.002)  # the shortest of the horizons
    job = manager.removal_job(now_ms())
    if job is not None:
        job()
    assert manager.close()
    return journals


def clean(manager: LogManager, log: UnifiedLog) -> None:
    """A round, as the broker runs it."""
    checkpoint = manager.cleaner_checkpoint(log)
    first_dirty = first_dirty_offset(log, checkpoint.get(log.topic_partition))
    now = now_ms()
    plan = plan_round(log, find_cleanable(log, first_dirty, now), now, 1 << 20)
    cleaning = CleaningRound(OsFiles(), plan)
    while (cleaned := cleaning.clean_next()) is not None:
        manager.remove_later(log, take_in(log, cleaned, now), now)
    assert cleaning.next_dirty_offset > first_dirty
    known = manager.directories_of()
    checkpoint.put(log.topic_partition, cleaning.next_dirty_offset, known)


def folded(records: dict[int, NewRecord]) -> Latest:
    """What a table made of these records holds."""
    table: dict[bytes, bytes | None] = {}
    for _, record in sorted(records.items()):
        assert record.key is not None
        table[bytes(record.key)] = None if record.value is None else bytes(record.value)
    return {key: value for key, value in table.items() if value is not None}


@pytest.mark.long
@pytest.mark.parametrize("was_clean", [True, False])
def test_what_we_cleaned_is_read_and_cleaned_on(
    tmp_path: Path, java: JavaClient, was_clean: bool
) -> None:
    """Opened as it was left, or after a recovery that looks at every batch."""
    node = KafkaNode(tmp_path, EAGER)
    node.start()
    try:
        create_topics(node)
        wait_for_topic_ids(node)
        node.stop()  # who is killed may only come back when its session is over
        topic_ids = {
            name: _take_topic_id(node.data_dir / f"{name}-0") for name in FILLS
        }
        journals = write_cleaned(node.data_dir, topic_ids)
        check_dump(java, node.data_dir)
        if not was_clean:
            (node.data_dir / ".kafka_cleanshutdown").unlink()
            (node.data_dir / "recovery-point-offset-checkpoint").unlink()
        start = len(node.log())
        node.start()
        for name, journal in journals.items():
            for committed in (False, True):
                read = read_all(node, name, journal, committed=committed)
                expected = folded(journal.readable(committed=committed))
                if committed or name != "transactions":
                    assert folded(read) == expected, name
                assert len(read) < len(journal.records) / 2, "it was cleaned"
        tombstones = [
            each
            for each in read_all(node, "tombstones", journals["tombstones"]).values()
            if each.value is None
        ]
        assert tombstones
        tables = {
            name: folded(journal.readable(committed=True))
            for name, journal in journals.items()
        }
        for name, journal in journals.items():
            tables[name].update(write_more(node, name))
            wait_until_cleaned(node, name, journal.log.log_end_offset)
        for name in journals:
            assert folded(read_all(node, name, committed=True)) == tables[name], name
        assert not [
            line
            for line in node.log()[start:].splitlines()
            if (" WARN " in line or " ERROR " in line)
            and any(f"{name}-0" in line for name in FILLS)
        ]
    finally:
        node.kill()


def create_topics(node: KafkaNode) -> None:
    client = admin.AdminClient({"bootstrap.servers": node.address})
    topics = [
        admin.NewTopic(
            name, 1, 1, config={**OPTIONS, "delete.retention.ms": str(retention_ms)}
        )
        for name, (_, retention_ms) in FILLS.items()
    ]
    for created in client.create_topics(topics).values():
        created.result(PATIENCE_S)


def wait_for_topic_ids(node: KafkaNode) -> None:
    deadline = time.monotonic() + PATIENCE_S
    directories = [node.data_dir / f"{name}-0" for name in FILLS]
    while not all((each / PARTITION_METADATA_NAME).exists() for each in directories):
        assert time.monotonic() < deadline, node.log()
        time.sleep(0.05)


def check_dump(java: JavaClient, directory: Path) -> None:
    kinds = ("log", "index", "timeindex", "txnindex", "snapshot")
    paths = [
        str(path)
        for name in FILLS
        for kind in kinds
        for path in sorted((directory / f"{name}-0").glob(f"*.{kind}"))
    ]
    printed = java.tool(DUMP_TOOL, "--deep-iteration", "--files", ",".join(paths))
    assert printed.count("Dumping ") == len(paths)
    assert "isvalid: false" not in printed
    lines = printed.splitlines()
    assert not [line for line in lines if any(word in line for word in COMPLAINTS)]
    assert "deleteHorizonMs: OptionalLong[" in printed


def read_all(
    node: KafkaNode,
    topic: str,
    journal: Journal | None = None,
    *,
    committed: bool = False,
) -> dict[int, NewRecord]:
    """All records up to the end; ``journal`` knows them, and where that is."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": node.address,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "check.crcs": True,
        }
    )
    found: dict[int, NewRecord] = {}
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        while True:
            message: Any = consumer.poll(PATIENCE_S)
            assert message is not None
            if message.error() is not None:
                assert (
                    message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
                )
                break
            offset = message.offset()
            assert offset > max(found, default=-1)
            found[offset] = NewRecord(
                message.key(), message.value(), message.timestamp()[1]
            )
    finally:
        consumer.close()
    if journal is not None:
        assert message.offset() == journal.log.log_end_offset
        assert found.items() <= journal.readable(committed=committed).items()
    return found


def write_more(node: KafkaNode, topic: str) -> Latest:
    """So much that what is there is cleaned again; what the keys are now."""
    producer = confluent_kafka.Producer({"bootstrap.servers": node.address})
    written = {}
    for number in range(60):
        key, value = b"more-%d" % (number % 7), b"%d" % number + bytes(200)
        producer.produce(topic, value, key)
        producer.flush(PATIENCE_S)  # a batch for each: segments are small
        written[key] = value
    return written


def wait_until_cleaned(node: KafkaNode, topic: str, offset: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    path = node.data_dir / CLEANER_OFFSETS_NAME
    while read_offsets(OsFiles(), path).get(TopicPartition(topic, 0), 0) < offset:
        assert time.monotonic() < deadline, node.log()
        time.sleep(0.1)
