"""A mirror from its first look on."""

from pathlib import Path

import pytest

from odradek.protocol.topic_partition import TopicPartition
from tests.broker.mirror.rig import T0, SourceCluster, mirror_rig
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import marker_of


async def test_a_topic_is_copied_byte_for_byte(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        topic_id = rig.source.add_topic(cleanup_policy="compact")
        rig.source.append(b"a", b"b")
        rig.source.append(b"c", epoch=3, offset=7)  # compaction has left a gap
        rig.source.append(
            b"d", epoch=3, producer_id=5, producer_epoch=0, base_sequence=0
        )
        await rig.add()
        await rig.until(rig.is_copied)
        topic = rig.broker.topics.known("t")
        assert (topic.topic_id, dict(topic.options)) == (
            topic_id,
            {"cleanup.policy": "compact"},
        )
        assert rig.data() == rig.source.log().data
        assert rig.log().latest_epoch == 3
        await rig.until(lambda: rig.broker.topics.partition(T0).leader_epoch == 3)
        rig.source.append(b"later", epoch=3)
        await rig.until(rig.is_copied)
        assert rig.data() == rig.source.log().data


async def test_transactions_come_with_their_markers(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        options = {"producer_id": 5, "producer_epoch": 0, "is_transactional": True}
        rig.source.append(b"a", base_sequence=0, **options)
        rig.source.log().append(marker_of(5, commits=False))
        rig.source.append(b"b", base_sequence=1, **options)
        await rig.add()
        await rig.until(rig.is_copied)
        log = rig.log()
        assert (log.high_watermark, log.last_stable_offset) == (3, 2)
        rig.source.log().append(marker_of(5, commits=True))
        await rig.until(rig.is_copied)
        assert log.last_stable_offset == 4


async def test_after_a_kill_it_goes_on_where_the_log_ends(tmp_path: Path) -> None:
    source, files = SourceCluster(), FakeFiles()
    source.add_topic()
    source.append(b"a")
    async with mirror_rig(tmp_path, source, files, stops_cleanly=False) as rig:
        await rig.add()
        await rig.until(rig.is_copied)
    source.append(b"b")
    async with mirror_rig(tmp_path, source, files) as rig:
        await rig.until(lambda: T0 in rig.mirror.copies and rig.is_copied())
        assert rig.data() == source.log().data
        # The epoch that clients are told has moved on, that of the batches has not.
        assert rig.log().latest_epoch == 0
        assert rig.broker.manager.partition(T0).leadership.is_read_only


async def test_topics_and_partitions_that_are_made_later(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        rig.source.add_topic("u")  # does not match
        await rig.add()
        await rig.until(lambda: rig.mirror.has_looked)
        later = TopicPartition("t-later", 0)
        rig.source.add_topic(later.topic)
        rig.source.append(b"a", place=later)
        added = TopicPartition("t", 1)
        rig.source.widen("t", 2)
        rig.source.append(b"b", place=added)
        await rig.until(lambda: rig.is_copied(later) and rig.is_copied(added))
        assert rig.broker.topics.get("u") is None


async def test_a_source_that_does_not_answer_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        await rig.add()
        await rig.until(lambda: rig.mirror.has_looked)
        rig.source.error = OSError("nobody is there")
        asked = rig.source.asked_count
        await rig.until(lambda: rig.source.asked_count > asked + 20)
        assert rig.mirror.trouble == "nobody is there"
        assert rig.mirror.fetcher_troubles == {1: "nobody is there"}
        said = [x for x in caplog.messages if "nobody is there" in x]
        assert said == ["mirror m: source:9092: nobody is there"]
        rig.source.error = None
        rig.source.append(b"a")
        await rig.until(rig.is_copied)
        await rig.until(lambda: rig.mirror.trouble is None)


async def test_another_cluster_under_its_address_is_not_copied(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        rig.source.add_topic()
        await rig.add()
        await rig.until(lambda: rig.mirror.has_looked)
        rig.source.cluster_id = "other"
        await rig.until(lambda: rig.mirror.trouble)
        assert "it is the cluster other now, and was source" in str(rig.mirror.trouble)
        rig.source.append(b"a")
        asked = rig.source.asked_count
        await rig.until(lambda: rig.source.asked_count > asked + 5)
        assert rig.broker.manager.partition(T0).view.log_end_offset == 0
        rig.source.cluster_id = "source"
        await rig.until(rig.is_copied)
