from pathlib import Path

import pytest

from odradek.broker.control.waiting import record_conditions
from odradek.broker.control.waiting.record_conditions import HasRecords
from odradek.broker.handlers.topics.topic_deletion import delete_topics
from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.control.asked import append
from tests.fakes.replicas import batch_of, marker_of, replicas


async def test_records_are_counted_over_the_partitions_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins: list[int] = []
    count = record_conditions.count_records

    def counted(view: object, begin: int, end: int) -> int:
        begins.append(begin)
        return count(view, begin, end)  # type: ignore[arg-type]

    monkeypatch.setattr(record_conditions, "count_records", counted)
    async with replicas(tmp_path, durability="none") as broker:
        condition = HasRecords(broker.services, "t", 4, None)
        assert condition.missing() == "there is no topic t"
        assert condition.places() == []
        place = await broker.create_topic("t", 2)
        assert condition.missing() == "t has 0 of 4 records"
        assert condition.places() == [place, TopicPartition("t", 1)]
        append(broker, place, batch_of(b"a", b"b"))
        assert condition.missing() == "t has 2 of 4 records"
        append(broker, TopicPartition("t", 1), batch_of(b"c"))
        append(broker, place, batch_of(b"d"))
        assert condition.missing() == ""
        assert begins == [0, 2, 0]


async def test_one_partition_is_meant(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        place = await broker.create_topic("t", 2)
        append(broker, place, batch_of(b"a"))
        assert HasRecords(broker.services, "t", 1, 0).missing() == ""
        assert HasRecords(broker.services, "t", 1, 1).missing() == (
            "t-1 has 0 of 1 records"
        )
        assert HasRecords(broker.services, "t", 1, 2).missing() == (
            "t has no partition 2"
        )
        assert "did you mean t1" not in HasRecords(broker.services, "t", 9, 0).missing()


async def test_open_records_do_not_count_and_are_told(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        place = await broker.create_topic()
        open_batch = batch_of(
            b"x",
            producer_id=5,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
        append(broker, place, open_batch)
        condition = HasRecords(broker.services, "t", 1, None)
        assert condition.missing() == (
            "t has 0 of 1 records, and 1 behind an open transaction"
        )
        broker.manager.append_records(
            {place: marker_of(5, commits=True)},
            acks=1,
            timeout_ms=0,
            terms=OF_A_COORDINATOR,
        )
        assert condition.missing() == ""


async def test_a_topic_that_is_made_anew_is_counted_anew(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        place = await broker.create_topic()
        append(broker, place, batch_of(b"a"))
        condition = HasRecords(broker.services, "t", 2, None)
        assert condition.missing() == "t has 1 of 2 records"
        await delete_topics(broker.services, [broker.topics.known("t").topic_id])
        await broker.create_topic()
        append(broker, place, batch_of(b"a"))
        assert condition.missing() == "t has 1 of 2 records"
