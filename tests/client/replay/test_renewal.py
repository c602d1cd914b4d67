"""Recorded requests, as they are sent now."""

import struct

from odradek.client.replay.ids import Ids
from odradek.client.replay.renewal import Renewal, read_request
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.groups import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.record_batch import check_crc, read_header
from odradek.protocol.records import NewRecord, build_batch, iterate
from odradek.protocol.schema import Request

LATER_MS = 1000


def renewed(frame: bytes, ids: Ids) -> Request:
    """As it is sent, read again."""
    made = Renewal(ids, LATER_MS).renewed(frame, *read_request(frame))
    assert struct.unpack_from(">i", made) == (len(made) - 4,)
    request = read_request(made[4:])[1]
    assert request is not None
    return request


def recorded(request: Request, version: int) -> bytes:
    return encode_request(request, version, 7, "client")[4:]


def produce(batch: bytes, topic_id: bytes = b"t" * 16) -> bytes:
    data = [PartitionProduceData(index=0, records=batch)]
    topics = [TopicProduceData(topic_id=topic_id, partition_data=data)]
    return recorded(ProduceRequest(acks=-1, timeout_ms=5, topic_data=topics), 13)


def batch_in(request: Request) -> memoryview:
    assert isinstance(request, ProduceRequest)
    return memoryview(request.topic_data[0].partition_data[0].records or b"")


def test_ids_are_ours_in_every_part_of_a_request() -> None:
    ids = Ids()
    ids.is_pair("member_id", "theirs", "ours, which is longer")
    request = SyncGroupRequest(
        group_id="theirs",  # no id
        generation_id=1,
        member_id="theirs",
        assignments=[SyncGroupRequestAssignment(member_id="theirs", assignment=b"a")],
    )
    made = renewed(recorded(request, 5), ids)
    assert isinstance(made, SyncGroupRequest)
    assert made.group_id == "theirs"
    assert made.member_id == "ours, which is longer"
    assert made.assignments[0].member_id == "ours, which is longer"


def test_records_are_of_today_and_of_our_producer() -> None:
    ids = Ids()
    ids.is_pair("producer_id", 4, 9)
    ids.is_pair("topic_id", b"t" * 16, b"o" * 16)
    records = [NewRecord(b"k", b"v" * 99, at, ()) for at in (50, 60)]
    for compression in (0, 1):
        batch = build_batch(records, producer_id=4, compression=compression)
        made = renewed(produce(bytes(batch)), ids)
        assert isinstance(made, ProduceRequest)
        assert made.topic_data[0].topic_id == b"o" * 16
        found = batch_in(made)
        header = read_header(found)
        assert header.producer_id == 9
        assert check_crc(found, header)
        assert [each.timestamp for each in iterate(found)] == [1050, 1060]


def test_a_damaged_batch_stays_as_damaged() -> None:
    batch = build_batch([NewRecord(None, b"value", 50, ())])
    batch[-1] ^= 1
    assert bytes(batch_in(renewed(produce(bytes(batch)), Ids()))) == batch


def test_times_that_are_asked_for_are_later_too() -> None:
    partitions = [
        ListOffsetsPartition(partition_index=number, timestamp=timestamp)
        for number, timestamp in enumerate((-1, -2, 50))
    ]
    topics = [ListOffsetsTopic(name="t", partitions=partitions)]
    made = renewed(recorded(ListOffsetsRequest(topics=topics), 7), Ids())
    assert isinstance(made, ListOffsetsRequest)
    found = [each.timestamp for each in made.topics[0].partitions]
    assert found == [-1, -2, 1050]


def test_what_needs_no_change_or_cannot_be_read_is_sent_as_it_was() -> None:
    request = recorded(SyncGroupRequest(group_id="g", member_id="m"), 5)
    for frame in (
        request,
        request + b"more than Kafka has there",
        request[:12],
        b"\x00",
        struct.pack(">hhi", 999, 0, 7) + b"of no API",
        struct.pack(">hhi", 14, 99, 7) + b"of no version",
    ):
        made = Renewal(Ids(), LATER_MS).renewed(frame, *read_request(frame))
        assert made == struct.pack(">i", len(frame)) + frame
