"""Offsets that no longer mean what was committed stop a job."""

from pathlib import Path

import pytest

from odradek.client.cluster import Cluster
from odradek.client.records_deletion import delete_records
from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.jobs.continuity import Continuity
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.tables.commit import NO_EPOCH, Commit
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import to_text
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected
from tests.pipeline.conftest import BROKER_OPTIONS
from tests.pipeline.feeding import create, delete, send


def commit_of(
    cluster: Cluster, planned: list[OffsetRange], last: Commit | None = None
) -> Commit:
    batch = 0 if last is None else last.batch + 1
    return Commit("j", batch, Continuity(cluster).confirm(last, planned))


def test_ranges_carry_id_and_epoch_and_all_partitions(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    create(broker_process.address, topic, 3)
    for partition in (0, 1):
        send(broker_process.address, topic, [b"x"] * 5, partition)
    planned = [OffsetRange(topic, n, 0, end) for n, end in enumerate((5, 2, 0))]
    first = commit_of(cluster, planned)
    topic_id = to_text(cluster.metadata([topic]).topics[topic].topic_id)
    assert {each.topic_id for each in first.ranges} == {topic_id}
    assert [each.leader_epoch >= 0 for each in first.ranges] == [True, True, False]
    assert first.ranges[2].leader_epoch == NO_EPOCH

    second = commit_of(cluster, [OffsetRange(topic, 1, 2, 5)], first)
    assert [(each.start, each.end) for each in second.ranges] == [
        (5, 5),
        (2, 5),
        (0, 0),
    ]
    assert second.ranges[0].leader_epoch == first.ranges[0].leader_epoch
    Continuity(cluster).check(second)


def test_topic_that_was_created_again(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    address = broker_process.address
    create(address, topic)
    send(address, topic, [b"x"] * 5)
    planned = [OffsetRange(topic, 0, 0, 5)]
    first = commit_of(cluster, planned)
    delete(address, topic)
    create(address, topic)
    send(address, topic, [b"y"] * 9)
    with pytest.raises(JobStopped, match="deleted and created again"):
        Continuity(cluster).check(first)
    with pytest.raises(JobStopped, match="deleted and created again"):
        commit_of(cluster, [OffsetRange(topic, 0, 5, 9)], first)
    delete(address, topic)
    with pytest.raises(JobStopped, match=topic):
        Continuity(cluster).check(first)


def test_retention_gap(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    create(broker_process.address, topic)
    send(broker_process.address, topic, [b"x"] * 9)
    first = commit_of(cluster, [OffsetRange(topic, 0, 0, 4)])
    delete_records(cluster, {TopicPartition(topic, 0): 4})
    Continuity(cluster).check(first)
    delete_records(cluster, {TopicPartition(topic, 0): 6})
    with pytest.raises(JobStopped, match="retention removed 2 offsets"):
        Continuity(cluster).check(first)
    with pytest.raises(JobStopped, match="retention removed 2 offsets"):
        commit_of(cluster, [OffsetRange(topic, 0, 4, 9)], first)


def test_offsets_given_out_twice(tmp_path: Path) -> None:
    """A broker without durability loses its tail in a crash, and goes on from there."""
    place = TopicPartition("t", 0)
    options = (*BROKER_OPTIONS, "--durability", "none")
    with running_broker(tmp_path / "data", *options) as broker:
        create(broker.address, "t")
        send(broker.address, "t", [b"before"] * 5)
        with connected(broker.port) as cluster:
            whole = commit_of(cluster, [OffsetRange(*place, 0, 5)])
            half = commit_of(cluster, [OffsetRange(*place, 0, 3)])
        broker.kill()
        (log,) = tmp_path.glob("data/t-0/*.log")
        content = log.read_bytes()
        log.write_bytes(content[: len(content) // 2])  # the tail was not on the disk
        broker.start()
        send(broker.address, "t", [b"after"] * 20)
        with connected(broker.port) as cluster:
            with pytest.raises(JobStopped, match="lost records that the table has"):
                Continuity(cluster).check(whole)
            with pytest.raises(JobStopped, match="lost records that the table has"):
                commit_of(cluster, [OffsetRange(*place, 5, 20)], whole)
        assert half.ranges[0].end == 3


def test_epochs_of_a_log_with_several(tmp_path: Path) -> None:
    with running_broker(tmp_path / "data", *BROKER_OPTIONS) as broker:
        create(broker.address, "t")
        ends = []
        for _ in range(4):
            send(broker.address, "t", [b"x"] * 5)
            broker.kill()
            broker.start()
        send(broker.address, "t", [b"x"] * 5)
        with connected(broker.port) as cluster:
            for end in range(1, 26):
                found = commit_of(cluster, [OffsetRange("t", 0, 0, end)]).ranges[0]
                ends.append(found.leader_epoch)
            assert len(set(ends)) == 5
            assert ends == sorted(ends)
            assert all(len(set(ends[n : n + 5])) == 1 for n in range(0, 25, 5))
            # The same, going on from commit to commit.
            last = None
            for start in range(0, 25, 3):
                planned = [OffsetRange("t", 0, start, min(start + 3, 25))]
                last = commit_of(cluster, planned, last)
                assert last.ranges[0].leader_epoch == ends[last.ranges[0].end - 1]
