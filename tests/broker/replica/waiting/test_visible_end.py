from pathlib import Path

from odradek.broker.replica.waiting.visible_end import HiddenEnd, Seen, hidden_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.cluster import FakeCluster, led_by
from tests.fakes.replicas import Replicas, batch_of, replicas

A, B, NOWHERE = (TopicPartition(name, 0) for name in ("a", "b", "nowhere"))
EVERY = A, B, NOWHERE


def append(broker: Replicas, *keys: TopicPartition) -> None:
    for key in keys:
        entries = {key: batch_of(b"v")}
        broker.manager.append_records(entries, acks=1, timeout_ms=0)


async def test_what_is_not_durable_is_hidden(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        ends = broker.manager.visible_ends
        for each in (A, B):
            await broker.create_topic(each.topic)
        assert ends.hidden(EVERY) == {}, "there is nothing in them"
        append(broker, A)
        partition = broker.manager.partition(A)
        assert ends.hidden(EVERY) == {A: HiddenEnd(partition, 1)}
        await broker.commit()
        assert ends.hidden(EVERY) == {}


async def test_all_of_them_are_waited_for_together(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        ends = broker.manager.visible_ends
        for each in (A, B):
            await broker.create_topic(each.topic)
        append(broker, A, B, B)
        parked = ends.wait(ends.hidden(EVERY))
        assert (ends.waiting.delayed_count, parked.done()) == (1, False)
        append(broker, A)  # which nobody asked about
        broker.sync()
        assert not parked.done(), "the catalogue does not know of them"
        await broker.commit()
        assert parked.result() == {A: Seen(0), B: Seen(0)}
        assert ends.waiting.delayed_count == 0


async def test_each_is_told_what_became_of_it(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        ends = broker.manager.visible_ends
        for each in (A, B):
            await broker.create_topic(each.topic)
        append(broker, A, B)
        parked = ends.wait(ends.hidden(EVERY))
        await broker.manager.stop([A])
        assert not parked.done()
        await broker.manager.close()
        assert parked.result() == {
            A: Seen(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            B: Seen(ErrorCode.REQUEST_TIMED_OUT),
        }


async def test_nobody_waits_for_what_need_not_come(tmp_path: Path) -> None:
    async with replicas(tmp_path, stops_cleanly=False) as broker:
        await broker.create_topic("a")
        append(broker, A)
        await broker.commit()
        append(broker, A)
        partition = broker.manager.partition(A)
        assert hidden_end(partition) == 2
        broker.manager.cluster = FakeCluster()
        partition.make_leader(led_by(1, 1, 2))
        assert hidden_end(partition) is None, "another broker is to follow first"
        partition.make_follower(led_by(2, 1, 2, leader_epoch=1))
        assert hidden_end(partition) is None
        partition.make_leader(led_by(1, 1, replicas=(1,), leader_epoch=2))
        assert partition.view.is_high_watermark_lagging
        assert hidden_end(partition) is None, "that has an answer of its own"
        partition.leadership.epoch_start_offset = 0
        assert hidden_end(partition) == 2
        broker.files.fail("sync")
        broker.sync()
        assert hidden_end(partition) is None, "the log has failed"
