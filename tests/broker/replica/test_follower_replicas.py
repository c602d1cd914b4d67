"""What following does to a partition; see also the tests of the cluster's fetchers."""

from pathlib import Path

import pytest

from odradek.broker.replica.decisions import Decisions
from odradek.broker.replica.follower_replicas import FollowerReplicas
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.protocol.errors import NotLeaderOrFollower
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import StorageFailure
from tests.broker.mirror.rig import SourceLog
from tests.fakes.cluster import FakeCluster
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, replicas

T0 = TopicPartition("t", 0)
US, ANOTHER = 1, 2
FOLLOWS = LeaderAndIsr(ANOTHER, 3, (ANOTHER, US), (ANOTHER,), 1)
LEADS = LeaderAndIsr(US, 4, (ANOTHER, US), (US,), 2)


def following(broker: Replicas) -> FollowerReplicas:
    broker.manager.cluster = FakeCluster()
    return FollowerReplicas(broker.manager, broker.logs, broker.topics, broker.clock)


async def test_who_leads_takes_nothing_of_others(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        replica, there = following(broker), SourceLog()
        decisions = Decisions(US, broker.manager, {T0: FOLLOWS}.get)
        await broker.create_topic()
        partition = broker.manager.partition(T0)
        there.append(batch_of(b"a"), epoch=3)
        replica.append(partition, there.data)
        decisions.decide(T0, LEADS)
        there.append(batch_of(b"b"), epoch=3)
        with pytest.raises(NotLeaderOrFollower):
            replica.append(partition, there.batches[-1])
        with pytest.raises(NotLeaderOrFollower):
            await replica.cut(partition, lambda log, now_ms: log.begin(now_ms))
        assert partition.view.log_end_offset == 1


async def test_what_is_synced_may_be_told(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        replica, there = following(broker), SourceLog()
        Decisions(US, broker.manager, {T0: FOLLOWS}.get)
        await broker.create_topic()
        partition = broker.manager.partition(T0)
        assert replica.may_be_told(partition)
        there.append(batch_of(b"a"), epoch=3)
        replica.append(partition, there.data)
        assert not replica.may_be_told(partition)
        await replica.sync([partition])
        assert replica.may_be_told(partition)


async def test_the_high_watermark_is_at_most_what_is_durable(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        replica, there = following(broker), SourceLog()
        Decisions(US, broker.manager, {T0: FOLLOWS}.get)
        await broker.create_topic()
        partition = broker.manager.partition(T0)
        there.append(batch_of(b"a"), epoch=3)
        replica.append(partition, there.data)
        replica.follow_high_watermark(partition, 1)
        assert partition.view.high_watermark == 0
        await replica.sync([partition])
        assert partition.view.high_watermark == 1
        partition.leadership.check_replica()  # it may be read here


async def test_what_was_led_is_not_committed_by_being_synced(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        replica = following(broker)
        leads = LEADS._replace(leader_epoch=2, partition_epoch=0)
        decisions = Decisions(US, broker.manager, {T0: leads}.get)
        await broker.create_topic(min_insync_replicas="2")
        partition = broker.manager.partition(T0)
        broker.manager.append_records({T0: batch_of(b"a")}, acks=1, timeout_ms=0)
        decisions.decide(T0, FOLLOWS)
        await replica.sync([partition])
        assert replica.may_be_told(partition)
        assert partition.view.log_end_offset == 1
        assert partition.view.high_watermark == 0


async def test_what_flush_messages_bounds_is_synced_before_it_is_told(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        replica, there = following(broker), SourceLog()
        Decisions(US, broker.manager, {T0: FOLLOWS}.get)
        await broker.create_topic(flush_messages="2")
        partition = broker.manager.partition(T0)
        unsynced = []
        for value in (b"a", b"b", b"c"):
            there.append(batch_of(value), epoch=3)
            replica.append(partition, there.batches[-1])
            await replica.sync([partition])
            assert partition.log is not None
            unsynced.append(partition.log.unflushed_count)
        assert unsynced == [1, 0, 1]


async def test_what_mostly_comes_does_what_the_long_way_does(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        replica, there = following(broker), SourceLog()
        Decisions(US, broker.manager, {T0: FOLLOWS}.get)
        await broker.create_topic()
        partition = broker.manager.partition(T0)
        there.append(batch_of(b"a"), epoch=3)
        there.append(batch_of(b"b"), epoch=3)
        first, second = (memoryview(each) for each in there.batches)
        assert not replica.take_usual(partition, first, 0, 0), "there is no log"
        replica.append(partition, first)
        assert replica.take_usual(partition, second, 1, 0)
        view = partition.view
        assert (view.log_end_offset, view.high_watermark) == (2, 1)
        assert (partition.append_count, partition.is_dirty) == (2, True)
        assert replica.take_usual(partition, None, 2, 0)
        assert view.high_watermark == 2
        assert not replica.take_usual(partition, None, 2, 1), "its log start is later"
        assert not replica.take_usual(partition, second, 2, 0), "it is there already"


async def test_by_the_short_way_nothing_is_seen_before_it_is_durable(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        replica, there = following(broker), SourceLog()
        Decisions(US, broker.manager, {T0: FOLLOWS}.get)
        await broker.create_topic()
        partition = broker.manager.partition(T0)
        for value in (b"a", b"b"):
            there.append(batch_of(value), epoch=3)
        first, second = (memoryview(each) for each in there.batches)
        replica.append(partition, first)
        await replica.sync([partition])
        assert replica.take_usual(partition, second, 2, 0)
        assert partition.view.high_watermark == 1
        assert not replica.may_be_told(partition)
        await replica.sync([partition])
        assert partition.view.high_watermark == 2


async def test_who_leads_or_has_no_room_takes_nothing_by_the_short_way(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        replica, there = following(broker), SourceLog()
        decisions = Decisions(US, broker.manager, {T0: FOLLOWS}.get)
        await broker.create_topic()
        partition = broker.manager.partition(T0)
        for value in (b"a", b"b"):
            there.append(batch_of(value), epoch=3)
        first, second = (memoryview(each) for each in there.batches)
        replica.append(partition, first)
        free_space = broker.manager.appends.free_space
        free_space.low_directories = frozenset([LOG_DIR])
        assert not replica.take_usual(partition, second, 0, 0)
        free_space.low_directories = frozenset()
        decisions.decide(T0, LEADS)
        assert not replica.take_usual(partition, second, 0, 0)
        assert partition.view.log_end_offset == 1


async def test_a_disk_that_fails_by_the_short_way_is_used_no_more(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        replica, there = following(broker), SourceLog()
        Decisions(US, broker.manager, {T0: FOLLOWS}.get)
        await broker.create_topic()
        partition = broker.manager.partition(T0)
        for value in (b"a", b"b"):
            there.append(batch_of(value), epoch=3)
        first, second = (memoryview(each) for each in there.batches)
        replica.append(partition, first)
        files.fail("append")
        with pytest.raises(StorageFailure):
            replica.take_usual(partition, second, 0, 0)
        assert broker.committer.for_directory(LOG_DIR).failure is not None
