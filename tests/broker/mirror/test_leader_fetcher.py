from pathlib import Path

from odradek.protocol.topic_partition import TopicPartition
from tests.broker.mirror.rig import T0, mirror_rig


async def test_partitions_are_asked_for_in_turn(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic("t", 3)
        await rig.add()
        await rig.until(lambda: len(rig.mirror.copies) == 3)
        (fetcher, _) = rig.mirror._fetchers[1]
        first = [fetcher._due()[0].place.partition for _ in range(3)]
        assert sorted(first) == [0, 1, 2]


async def test_a_partition_that_is_stopped_is_not_asked_for(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic("t", 2)
        await rig.add()
        await rig.until(lambda: len(rig.mirror.copies) == 2)
        rig.mirror.copies[T0].stop_reason = "a reason"
        rig.source.append(b"a")
        other = TopicPartition("t", 1)
        rig.source.append(b"b", place=other)
        await rig.until(lambda: rig.is_copied(other))
        assert rig.mirror.copies[T0].end == 0


async def test_another_leader_is_asked_when_there_is_one(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        rig.source.append(b"a")
        await rig.add()
        await rig.until(rig.is_copied)
        topic = rig.source.topics["t"]
        rig.source.topics["t"] = topic._replace(leaders={0: 2})
        await rig.until(lambda: list(rig.mirror._fetchers) == [2])
        rig.source.append(b"b")
        await rig.until(rig.is_copied)
        rig.source.topics["t"] = topic._replace(leaders={0: -1})
        await rig.until(lambda: not rig.mirror._fetchers)
        assert rig.mirror.copies[T0].trouble == "the source has no leader for it"
