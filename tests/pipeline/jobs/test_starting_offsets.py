"""Where a new job begins, as its file says."""

from typing import Any

import pytest

from odradek.client.cluster import Cluster
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.job_source import Source
from odradek.pipeline.jobs.starting_offsets import (
    moment_ms,
    starting_offsets,
    subscribed,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess
from tests.pipeline.feeding import TIME_MS, create, send


def starts(cluster: Cluster, topic: str, wanted: Any) -> list[int]:
    source = Source(topics=(topic,), starting_offsets=wanted)
    found = starting_offsets(cluster, source)
    return [found[TopicPartition(topic, n)] for n in range(2)]


def test_places(broker_process: BrokerProcess, cluster: Cluster, topic: str) -> None:
    create(broker_process.address, topic, 2)
    send(broker_process.address, topic, [b"x"] * 5)
    assert starts(cluster, topic, "earliest") == [0, 0]
    assert starts(cluster, topic, "latest") == [5, 0]
    assert starts(cluster, topic, {topic: {"0": 3, "1": 0}}) == [3, 0]
    # One second between records; behind the last there is only the end.
    assert moment_ms("x", "2026-09-21T14:13:20Z") == TIME_MS
    assert starts(cluster, topic, "2026-09-21T14:13:22") == [2, 0]
    assert starts(cluster, topic, "2026-09-21T16:13:24.001+02:00") == [5, 0]
    with pytest.raises(JobError, match=f"says nothing of {topic}-1"):
        starts(cluster, topic, {topic: {"0": 3}})
    with pytest.raises(JobError, match="neither earliest nor latest"):
        starts(cluster, topic, "earlyest")


def test_topics_by_name_and_by_pattern(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    for name in ("one", "two"):
        create(broker_process.address, f"{topic}.{name}", 2)
    found = subscribed(cluster, Source(topic_pattern=f"{topic}.*"))
    assert found == {f"{topic}.one": [0, 1], f"{topic}.two": [0, 1]}
    with pytest.raises(JobError, match=r"127.0.0.1:9092"):
        subscribed(cluster, Source(topics=(f"{topic}.three",)))
