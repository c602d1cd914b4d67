from dataclasses import replace
from typing import Any

import pytest

from odradek.client.cluster import Cluster
from odradek.client.fetcher import Fetched
from odradek.pipeline.errors import DataLoss, SourceError, TopicRecreated
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.records.damage import CorruptData, OnCorrupt
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.records.records_arrow import RecordsToArrow
from odradek.pipeline.records.small_answers import SmallAnswers
from odradek.pipeline.source import wire_reader
from odradek.pipeline.source.options import SourceOptions, read_options
from odradek.pipeline.source.wire_reader import read_wire
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.broker_process import BrokerProcess
from tests.client.test_fetcher import answer_with, batch, data
from tests.fakes.scripted import ScriptedCluster, scripted_cluster
from tests.pipeline import feeding

COLUMNS = RecordColumns(("offset", "value"))
NO_ID = bytes(16)


def options(address: str, **given: Any) -> SourceOptions:
    servers = {"kafka.bootstrap.servers": address, "subscribe": "t"}
    return replace(read_options({**servers, **given}), timeout_ms=2000)


def decoder(fetched: Fetched) -> RecordsToArrow:
    return RecordsToArrow(fetched.place, COLUMNS)


def offsets(wanted: OffsetRange, options: SourceOptions, topic_id: bytes) -> list[int]:
    return [
        offset
        for rows in read_wire([wanted], {wanted.topic: topic_id}, options, decoder)
        for offset in rows.column("offset").to_pylist()
    ]


def address_of(script: ScriptedCluster) -> str:
    return str(script.brokers[1].address)


def test_exactly_the_offsets_that_are_wanted(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    feeding.create(broker_process.address, topic)
    feeding.send(broker_process.address, topic, [b"%d" % n for n in range(500)])
    topic_id = cluster.metadata([topic]).topics[topic].topic_id
    small = options(broker_process.address, **{"kafka.fetch.max.bytes": "300"})
    wanted = OffsetRange(topic, 0, 3, 411)
    assert offsets(wanted, small, topic_id) == list(range(3, 411))
    large = options(broker_process.address)
    assert offsets(wanted, large, topic_id) == list(range(3, 411))


@pytest.mark.parametrize("max_bytes", ["200", "3000", "2000000"])
def test_many_small_stretches_are_asked_for_together(
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
    max_bytes: str,
) -> None:
    """Answers have all of some, a part of others, and nothing of the rest."""
    monkeypatch.setattr(wire_reader, "_ASKED_TOGETHER", 5)
    count = 12
    feeding.create(broker_process.address, topic, count)
    wanted, expected = [], []
    for number in range(count):
        values = [b"%d-%d" % (number, n) for n in range(3 * number)]
        feeding.send(broker_process.address, topic, values, number)
        if values:
            wanted.append(OffsetRange(topic, number, 1, len(values)))
            expected += values[1:]
    wanted.append(OffsetRange(topic, 1, 0, 1))  # another one of a partition
    expected.append(b"1-0")
    topic_id = cluster.metadata([topic]).topics[topic].topic_id
    small = options(broker_process.address, **{"kafka.fetch.max.bytes": max_bytes})
    for together in (None, SmallAnswers(COLUMNS)):
        found = [
            value
            for rows in read_wire(wanted, {topic: topic_id}, small, decoder, together)
            for value in rows.column("value").to_pylist()
        ]
        assert found == expected


def test_one_of_many_that_is_gone(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    feeding.create(broker_process.address, topic, 2)
    feeding.send(broker_process.address, topic, [b"a", b"b"])
    topic_id = cluster.metadata([topic]).topics[topic].topic_id
    wanted = [OffsetRange(topic, 0, 0, 2), OffsetRange(topic, 1, 7, 9)]
    read = options(broker_process.address)
    rows = read_wire(wanted, {topic: topic_id}, read, decoder)
    assert next(rows).column("value").to_pylist() == [b"a", b"b"]
    with pytest.raises((DataLoss, SourceError), match=f"{topic}-1"):
        list(rows)


def test_a_topic_created_again_is_not_read(
    broker_process: BrokerProcess, topic: str
) -> None:
    feeding.create(broker_process.address, topic)
    wanted, other = OffsetRange(topic, 0, 0, 1), b"\7" * 16
    with pytest.raises(TopicRecreated, match=r"created again.*checkpointLocation"):
        offsets(wanted, options(broker_process.address), other)


def begins_at(script: ScriptedCluster, start: int) -> None:
    """Earlier offsets are gone."""
    found = ListOffsetsPartitionResponse(partition_index=0, offset=start)
    topic = ListOffsetsTopicResponse(name="t", partitions=[found])
    script.script(ListOffsetsRequest, lambda *_: ListOffsetsResponse(topics=[topic]))
    answers = [data(error=ErrorCode.OFFSET_OUT_OF_RANGE), data(batch(start, 5))]
    answer_with(script, answers)


def test_offsets_that_are_gone_are_a_loss() -> None:
    with scripted_cluster() as script:
        script.leaders["t"] = [1]
        begins_at(script, 20)
        wanted = OffsetRange("t", 0, 3, 25)
        with pytest.raises(
            DataLoss, match=r"t-0 \[3, 25\).*no offset 3.*failOnDataLoss"
        ):
            offsets(wanted, options(address_of(script)), NO_ID)


@pytest.mark.parametrize(("end", "left"), [(25, [20, 21, 22, 23, 24]), (10, [])])
def test_what_is_left_of_them_is_read_if_that_will_do(
    end: int, left: list[int]
) -> None:
    with scripted_cluster() as script:
        script.leaders["t"] = [1]
        begins_at(script, 20)
        lenient = options(address_of(script), failOnDataLoss="false")
        assert offsets(OffsetRange("t", 0, 3, end), lenient, NO_ID) == left


def test_a_broker_that_dies_in_between_is_named() -> None:
    with scripted_cluster() as script:
        script.leaders["t"] = [1]
        answer_with(script, [data(batch(0, 5)), data(batch(5, 2))])
        wanted = OffsetRange("t", 0, 0, 10)
        rows = read_wire(
            [wanted], {wanted.topic: NO_ID}, options(address_of(script)), decoder
        )
        next(rows)
        script.script(FetchRequest, lambda *_: None)
        script.brokers[1].close()
        with pytest.raises(SourceError, match=f"{address_of(script)}.*Is it running"):
            list(rows)


def skipping(fetched: Fetched) -> RecordsToArrow:
    return RecordsToArrow(fetched.place, COLUMNS, on_corrupt=OnCorrupt.SKIP)


def test_what_is_behind_damage_is_read_all_the_same() -> None:
    """Also behind a length that makes the rest of the answer look cut."""
    log = [bytearray(batch(start, 3)) for start in range(0, 18, 3)]
    log[2][8] ^= 0x40

    def answer(asked: FetchRequest, _: int) -> FetchResponse:
        (topic,) = asked.topics
        offset = topic.partitions[0].fetch_offset
        found = data(b"".join(log[offset // 3 : offset // 3 + 4]), end=18)
        return FetchResponse(
            responses=[FetchableTopicResponse(topic="t", partitions=[found])]
        )

    with scripted_cluster() as script:
        script.leaders["t"] = [1]
        script.limit(FetchRequest, 12)
        script.script(FetchRequest, answer)
        wanted = OffsetRange("t", 0, 1, 17)
        rows = read_wire(
            [wanted], {wanted.topic: NO_ID}, options(address_of(script)), skipping
        )
        found = [n for each in rows for n in each.column("offset").to_pylist()]
        assert found == [n for n in range(1, 17) if n not in (6, 7, 8)]
        with pytest.raises(CorruptData, match="t-0"):
            offsets(wanted, options(address_of(script)), NO_ID)


def test_several_stretches_by_one_connection(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    address = broker_process.address
    names = [f"{topic}-{number}" for number in range(3)]
    wanted = []
    for number, name in enumerate(names):
        feeding.create(address, name)
        feeding.send(address, name, [b"%d" % number] * (number + 2))
        wanted.append(OffsetRange(name, 0, 1, number + 2))
    ids = {
        name: found.topic_id for name, found in cluster.metadata(names).topics.items()
    }
    columns = RecordColumns(("topic", "offset"))

    def rows(ids: dict[str, bytes]) -> list[tuple[str, int]]:
        found = []
        for each in read_wire(
            wanted, ids, options(address), lambda f: RecordsToArrow(f.place, columns)
        ):
            found += [(row["topic"], row["offset"]) for row in each.to_pylist()]
        return found

    expected = [(each.topic, n) for each in wanted for n in range(each.start, each.end)]
    assert rows(ids) == expected
    with pytest.raises(TopicRecreated, match=names[2]):
        rows({**ids, names[2]: b"x" * 16})
