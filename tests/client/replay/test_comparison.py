"""What is a difference between two answers, and what is not."""

from typing import Any

from odradek.client.replay.comparison import Comparison, FieldDifference
from odradek.client.replay.ids import Ids
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.messages.groups import JoinGroupResponse, JoinGroupResponseMember
from odradek.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Response

LATER_MS = 1000


def found(
    one: Response, other: Response, version: int, mask: tuple[str, ...] = ()
) -> list[FieldDifference]:
    return list(Comparison(Ids(), LATER_MS, mask).differences(one, other, version))


def metadata(node_id: int, *topics: MetadataResponseTopic) -> MetadataResponse:
    broker = MetadataResponseBroker(node_id=node_id, host=f"h{node_id}", port=9000)
    return MetadataResponse(
        brokers=[broker],
        cluster_id=f"c{node_id}",
        controller_id=node_id,
        topics=list(topics),
    )


def topic(name: str, leader: int, code: int = 0) -> MetadataResponseTopic:
    partition = MetadataResponsePartition(
        partition_index=0, leader_id=leader, replica_nodes=[leader], isr_nodes=[leader]
    )
    return MetadataResponseTopic(
        error_code=code,
        name=name,
        topic_id=name[0].encode() * 16,
        partitions=[partition],
    )


def fetched(*batches: bytearray) -> FetchResponse:
    data = PartitionData(partition_index=0, high_watermark=2, records=b"".join(batches))
    return FetchResponse(
        responses=[FetchableTopicResponse(topic="t", partitions=[data])]
    )


def batch(value: bytes, at: int, **fields: Any) -> bytearray:
    return build_batch([NewRecord(b"k", value, at, (("h", b"\xff"),))], **fields)


def test_another_broker_is_no_difference() -> None:
    assert not found(metadata(1, topic("t", 1)), metadata(3, topic("t", 3)), 12)
    [difference] = found(metadata(1, topic("t", 1)), metadata(3, topic("t", -1)), 12)
    assert difference.path == ".topics[t].partitions[0].leader_id"


def test_errors_are_called_by_their_names() -> None:
    differences = found(metadata(1, topic("t", 1)), metadata(1, topic("t", 1, 3)), 12)
    assert differences == [
        (".topics[t].error_code", "NONE", "UNKNOWN_TOPIC_OR_PARTITION")
    ]


def test_parts_are_found_by_their_names() -> None:
    one = metadata(1, topic("a", 1), topic("b", 1))
    assert not found(one, metadata(1, topic("b", 1), topic("a", 1)), 12)
    lost = metadata(1, topic("b", 1))
    paths = [each.path for each in found(one, lost, 12)]
    assert paths == [".topics.length", ".topics[a]"]


def test_what_a_version_does_not_have_is_not_compared() -> None:
    one, other = topic("t", 1), topic("t", 1)
    other.partitions[0].leader_epoch = 4
    assert not found(metadata(1, one), metadata(1, other), 6)
    assert found(metadata(1, one), metadata(1, other), 7)


def test_what_is_masked_is_not_compared() -> None:
    one, other = metadata(1, topic("t", 1)), metadata(1, topic("t", 1, 3))
    for mask in ("error_code", "topics.error_code", "topics"):
        assert not found(one, other, 12, (mask,))
    assert found(one, other, 12, ("partitions.error_code", "code"))


def test_members_are_the_same_by_their_ids_of_now() -> None:
    def joined(*members: str) -> JoinGroupResponse:
        return JoinGroupResponse(
            generation_id=1,
            leader=members[0],
            member_id=members[0],
            members=[JoinGroupResponseMember(member_id=each) for each in members],
        )

    assert not found(joined("a", "b"), joined("x", "y"), 5)
    one, other = joined("a", "b"), joined("x", "y")
    other.leader = "y"
    [first, *_] = found(one, other, 5)
    assert first == (".member_id", "a", "x")


def test_records_are_compared_one_by_one() -> None:
    recorded = fetched(batch(b"a", 50), batch(b"b", 60, base_offset=1))
    assert not found(
        recorded,
        fetched(batch(b"a", 1050), batch(b"b", 1060, base_offset=1, compression=1)),
        12,
    )
    path = ".responses[t].partitions[0].records"
    [value] = found(
        recorded, fetched(batch(b"a", 1050), batch(b"c", 1060, base_offset=1)), 12
    )
    assert value.path == f"{path}[1]"
    assert (value.recorded["value"], value.found["value"]) == ("b", "c")
    [time] = found(
        recorded, fetched(batch(b"a", 1050), batch(b"b", 60, base_offset=1)), 12
    )
    assert (time.recorded["timestamp"], time.found["timestamp"]) == (1060, 60)
    [count] = found(recorded, fetched(batch(b"a", 1050)), 12)
    assert count == (f"{path}.length", 2, 1)


def test_times_of_the_broker_are_its_own() -> None:
    one = fetched(batch(b"a", 50, log_append_time_ms=70))
    other = fetched(batch(b"a", 50, log_append_time_ms=99))
    assert not found(one, other, 12)


def test_producers_are_the_same_by_their_ids_of_now() -> None:
    def of(*producers: int) -> FetchResponse:
        return fetched(
            *(
                batch(b"a", 50, producer_id=each, base_offset=place)
                for place, each in enumerate(producers)
            )
        )

    comparison = Comparison(Ids(), 0)
    assert not list(comparison.differences(of(1, 2, 1), of(7, 8, 7), 12))
    [difference] = comparison.differences(of(1, 2, 1), of(7, 8, 8), 12)
    assert difference.path.endswith("records[2]")


def test_records_that_cannot_be_read_are_compared_as_bytes() -> None:
    one, other = fetched(batch(b"a", 50)), fetched(batch(b"a", 50))
    data = bytearray(20)
    one.responses[0].partitions[0].records = bytes(data)
    other.responses[0].partitions[0].records = bytes(data)
    assert not found(one, other, 12)
    data[-1] = 1
    other.responses[0].partitions[0].records = bytes(data)
    [difference] = found(one, other, 12)
    assert difference.recorded["bytes"] != difference.found["bytes"]
