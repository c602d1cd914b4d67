import struct
from collections.abc import Sequence

import pytest

from odradek.client.cluster import Cluster
from odradek.client.errors import TopicReplaced, Unreachable
from odradek.client.fetcher import Fetched, Fetcher, FetchLimits, end_of
from odradek.protocol.errors import (
    ErrorCode,
    OffsetOutOfRange,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import create_topic, produce
from tests.fakes.scripted import ScriptedCluster, scripted_cluster

PLACE = TopicPartition("t", 0)
LIMITS = FetchLimits(max_wait_ms=10)


def batch(base_offset: int, count: int) -> bytes:
    records = [NewRecord(b"k", b"v%d" % number, 1) for number in range(count)]
    return bytes(build_batch(records, base_offset=base_offset))


def data(
    records: bytes | None = None, error: ErrorCode = ErrorCode.NONE, end: int = 100
) -> PartitionData:
    return PartitionData(
        partition_index=0,
        error_code=error,
        high_watermark=end,
        last_stable_offset=end,
        log_start_offset=0,
        records=records,
    )


def answer_with(script: ScriptedCluster, answers: Sequence[PartitionData]) -> None:
    """One after the other, and then the last one ever after."""
    rest = list(answers)

    def answer(asked: FetchRequest, version: int) -> FetchResponse:
        (topic,) = asked.topics
        found = rest.pop(0) if len(rest) > 1 else rest[0]
        return FetchResponse(
            responses=[
                FetchableTopicResponse(
                    topic=topic.topic, topic_id=topic.topic_id, partitions=[found]
                )
            ]
        )

    script.script(FetchRequest, answer)


def offsets_asked(script: ScriptedCluster) -> list[int]:
    return [
        request.topics[0].partitions[0].fetch_offset
        for broker in script.brokers.values()
        for request in broker.asked
        if isinstance(request, FetchRequest)
    ]


def ends(pieces: Sequence[Fetched]) -> list[int]:
    return [end_of(piece.records) for piece in pieces]


def test_records_of_a_live_broker(cluster: Cluster) -> None:
    create_topic(cluster, "fetched", 2)
    for number in range(4):
        produce(cluster, "fetched", 0, [number, number + 1])
    place = TopicPartition("fetched", 0)
    fetched = Fetcher(cluster).fetch(place, 3)
    assert (fetched.high_watermark, fetched.log_start_offset) == (8, 0)
    assert fetched.next_offset(3) == 8
    nothing = Fetcher(cluster).fetch(place, 8, max_wait_ms=1)
    assert (bytes(nothing.records), nothing.next_offset(8)) == (b"", 8)
    both = Fetcher(cluster).fetch_many({place: 6, TopicPartition("fetched", 1): 0})
    assert {each: fetched.next_offset(0) for each, fetched in both.items()} == {
        place: 8,
        TopicPartition("fetched", 1): 0,
    }


def test_all_between_two_offsets_of_a_live_broker(cluster: Cluster) -> None:
    create_topic(cluster, "between", 1)
    for number in range(20):
        produce(cluster, "between", 0, [number] * 3)
    place = TopicPartition("between", 0)
    small = FetchLimits(max_bytes=200)
    pieces = list(Fetcher(cluster).read(place, 4, 31, small))
    assert len(pieces) > 2
    assert ends(pieces) == sorted(ends(pieces))
    assert 31 <= ends(pieces)[-1] <= 33
    # What comes after a reader that stopped early is not what was on its way to it.
    for _ in Fetcher(cluster).read(place, 0, 60, small):
        break
    assert Fetcher(cluster).fetch(place, 57).next_offset(57) == 60


def test_offsets_that_are_not_there(cluster: Cluster) -> None:
    create_topic(cluster, "short", 1)
    produce(cluster, "short", 0, [1])
    place = TopicPartition("short", 0)
    with pytest.raises(OffsetOutOfRange, match="short-0: the log has no offset 7"):
        Fetcher(cluster).fetch(place, 7)
    with pytest.raises(UnknownTopicOrPartition, match="no partition 3, only 0"):
        Fetcher(cluster).fetch(TopicPartition("short", 3), 0)
    with pytest.raises(UnknownTopicOrPartition, match="There is no topic nowhere"):
        Fetcher(cluster).fetch(TopicPartition("nowhere", 0), 0)


def test_another_topic_of_the_same_name_is_not_read(cluster: Cluster) -> None:
    create_topic(cluster, "again", 1)
    produce(cluster, "again", 0, [1])
    fetcher = Fetcher(cluster, topic_ids={"again": b"\1" * 16})
    with pytest.raises(TopicReplaced, match="again"):
        fetcher.fetch(TopicPartition("again", 0), 0)
    unknown = Fetcher(cluster, topic_ids={"again": bytes(16)})
    assert unknown.fetch(TopicPartition("again", 0), 0).next_offset(0) == 1


def test_topics_that_are_expected_are_found_out_together() -> None:
    """One after the other it would be a request for each, with all before it."""
    names = ["t", "u", "v"]
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {name: [1] for name in names}
        fetcher = Fetcher(cluster, topic_ids=dict.fromkeys(names, bytes(16)))
        for name in names:
            assert name in fetcher._known([name]).topics
        assert script.brokers[1].asked_for(MetadataRequest) == 1


def test_a_leader_that_moves_is_followed() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        script.leaders["t"] = [1]
        answer_with(script, [data(batch(0, 3))])
        fetcher = Fetcher(cluster)
        assert fetcher.fetch(PLACE, 0).next_offset(0) == 3
        moved = data(error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        answer_with(script, [moved, data(batch(3, 3))])
        script.leaders["t"] = [2]
        assert fetcher.fetch(PLACE, 3).next_offset(3) == 6
        assert script.brokers[2].asked_for(FetchRequest) == 1


def test_a_broker_that_is_too_old_for_ids_is_asked_by_name() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders["t"] = [1]
        script.limit(FetchRequest, 11)
        answer_with(script, [data(batch(0, 3))])
        assert Fetcher(cluster).fetch(PLACE, 0).next_offset(0) == 3


def test_what_is_refused_is_raised_at_once() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders["t"] = [1]
        answer_with(script, [data(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)])
        with pytest.raises(TopicAuthorizationFailed, match="t-0"):
            Fetcher(cluster).fetch(PLACE, 0)
        assert len(offsets_asked(script)) == 1


def test_the_next_piece_is_asked_for_before_the_first_is_used() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders["t"] = [1]
        answer_with(script, [data(batch(0, 3)), data(batch(3, 3)), data(batch(6, 3))])
        pieces = Fetcher(cluster).read(PLACE, 0, 9, LIMITS)
        assert next(pieces).next_offset(0) == 3
        assert next(pieces).next_offset(3) == 6
        assert offsets_asked(script)[:2] == [0, 3]
        assert ends(list(pieces)) == [9]
        assert offsets_asked(script) == [0, 3, 6]


def test_a_lost_connection_costs_no_piece() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders["t"] = [1]
        answer_with(script, [data(batch(0, 3)), data(batch(3, 3))])
        lost = iter([False, True, False, False])
        usual = script.brokers[1].answers[FetchRequest]
        script.script(FetchRequest, lambda *a: None if next(lost) else usual(*a))
        assert ends(list(Fetcher(cluster).read(PLACE, 0, 6, LIMITS))) == [3, 6]


def test_a_log_that_ends_too_early_is_an_error_in_the_end() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders["t"] = [1]
        answer_with(script, [data(batch(0, 3)), data(b"", end=3)])
        pieces = Fetcher(cluster).read(PLACE, 0, 9, LIMITS)
        next(pieces)
        with pytest.raises(OffsetOutOfRange, match="from 3 on there are none"):
            next(pieces)


def test_a_broker_that_stays_away_is_named() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders["t"] = [1]
        answer_with(script, [data(batch(0, 3))])
        fetcher = Fetcher(cluster)
        fetcher.fetch(PLACE, 0)
        script.brokers[1].close()
        with pytest.raises(Unreachable, match=str(script.brokers[1].address.port)):
            fetcher.fetch(PLACE, 3)


def test_only_what_is_committed_comes_with_the_aborted_transactions() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders["t"] = [1]
        found = data(batch(0, 3))
        found.aborted_transactions = [AbortedTransaction(producer_id=5, first_offset=1)]
        answer_with(script, [found])
        (aborted,) = Fetcher(cluster, committed=True).fetch(PLACE, 0).aborted
        assert (aborted.producer_id, aborted.first_offset) == (5, 1)
        (request,) = [r for r in script.brokers[1].asked if isinstance(r, FetchRequest)]
        assert request.isolation_level == 1


def test_the_end_of_records_ignores_what_is_cut() -> None:
    whole = batch(5, 2) + batch(9, 4)
    assert end_of(memoryview(whole)) == 13
    for size in (1, 30, 60, 61, 80):
        assert end_of(memoryview(whole[:-size])) == 7
    assert end_of(memoryview(b"")) == -1
    assert end_of(memoryview(struct.pack(">qi", 0, 0) + bytes(60))) == -1


def large_batch(base_offset: int, size: int = 300 << 10) -> bytes:
    value = bytes([base_offset + 1]) * size
    return bytes(build_batch([NewRecord(None, value, 1)], base_offset=base_offset))


def test_an_answer_is_not_written_over_while_it_is_looked_at() -> None:
    batches = [large_batch(offset, (300 + 40 * offset) << 10) for offset in range(6)]
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders["t"] = [1]
        answer_with(script, [data(each) for each in batches])
        pieces = list(Fetcher(cluster).read(PLACE, 0, 6, LIMITS))
        assert [bytes(piece.records) for piece in pieces] == batches


def test_the_memory_of_an_answer_is_used_again() -> None:
    batches = [large_batch(offset) for offset in range(6)]
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders["t"] = [1]
        answer_with(script, [data(each) for each in batches])
        used = []
        for piece, expected in zip(
            Fetcher(cluster).read(PLACE, 0, 6, LIMITS), batches, strict=True
        ):
            assert bytes(piece.records) == expected
            used.append(piece.records.obj)
        assert len({id(each) for each in used}) == 2


def test_an_answer_above_what_is_usual_is_read_whole() -> None:
    batches = [large_batch(0), large_batch(1, 17 << 20), large_batch(2)]
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders["t"] = [1]
        answer_with(script, [data(each) for each in batches])
        for piece, expected in zip(
            Fetcher(cluster).read(PLACE, 0, 3, LIMITS), batches, strict=True
        ):
            assert bytes(piece.records) == expected
