"""`odradek pipeline load` into Apache Kafka: killed, and started again."""

import os
import signal
import time
from collections import Counter
from pathlib import Path

from client.group_offsets import committed_offsets
from client.topics import NewTopic, create_topic
from protocol.topic_partition import TopicPartition
from tests.client.live import connected, settle
from tests.client.test_producer import records_in
from tests.pyspark_odradek.test_load_kills import (
    FILES,
    PARTITIONS,
    ROWS,
    RUN_TIMEOUT_S,
    loading,
    table,
    wait_for_steps,
)

from .node import running_kafka

__all__ = ["table"]  # a fixture


def test_each_row_is_there_once(table: Path, tmp_path: Path) -> None:
    with running_kafka(tmp_path) as kafka, connected(kafka.port) as cluster:
        create_topic(cluster, NewTopic("loaded", PARTITIONS))
        log = tmp_path / "load.log"
        log.touch()
        with loading(table, "loaded", kafka.address, log) as killed:
            wait_for_steps(killed, log, 1)
            time.sleep(0.2)
            os.kill(killed.pid, signal.SIGKILL)
            killed.wait(30)
            with loading(table, "loaded", kafka.address, log) as last:
                assert last.wait(RUN_TIMEOUT_S) == 0, log.read_text()
        settle(cluster, "loaded")
        found: Counter[bytes | None] = Counter()
        for number in range(PARTITIONS):
            values = (record.value for record in records_in(cluster, "loaded", number))
            found.update(values)
        assert set(found.values()) == {1}
        assert set(found) == {b"%d" % number for number in range(FILES * ROWS)}
        committed = committed_offsets(cluster, "load-job-loaded")
        assert committed[TopicPartition("loaded", 0)].offset == FILES - 1
