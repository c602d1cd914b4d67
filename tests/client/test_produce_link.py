import pytest

from odradek.client.batch_builder import NOBODY, BatchBuilder, BatchFormat, SealedBatch
from odradek.client.produce_link import ProduceLink, ProduceTerms, Refused, Written
from odradek.protocol.errors import ErrorCode, NetworkException, NotLeaderOrFollower
from odradek.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.scripted import scripted_cluster


def sealed(topic: str, partition: int) -> SealedBatch:
    builder = BatchBuilder(TopicPartition(topic, partition), 1000, 0)
    builder.try_add(NewRecord(None, b"v", 0))
    return builder.seal(BatchFormat(), NOBODY, 0)


BATCHES = [sealed("a", 0), sealed("b", 3), sealed("a", 1)]
TERMS = ProduceTerms(-1, 1000, None)


def answer(request: ProduceRequest, version: int) -> ProduceResponse:
    """Refuses b, and says nothing of partition 1."""
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                partition_responses=[
                    PartitionProduceResponse(
                        index=each.index,
                        error_code=6 if topic.name == "b" else ErrorCode.NONE,
                        base_offset=40,
                    )
                    for each in topic.partition_data
                    if each.index != 1
                ],
            )
            for topic in request.topic_data
        ]
    )


def test_each_batch_has_its_own_outcome() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.script(ProduceRequest, answer)
        link = ProduceLink(cluster.open_connection(1), TERMS)
        assert link.send(BATCHES) == []
        assert link.send(BATCHES[:1]) == []
        assert link.in_flight == 2
        first, second, third = link.receive()
        assert first == Written(BATCHES[0], 40, -1)
        assert isinstance(second, Refused)
        assert isinstance(second.error, NotLeaderOrFollower)
        assert isinstance(third, Refused)
        assert isinstance(third.error, NetworkException)
        assert link.receive() == [Written(BATCHES[0], 40, -1)]
        assert link.in_flight == 0
        link.close()


def test_who_wants_no_answer_is_done_at_once() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.script(ProduceRequest, lambda request, version: None)
        link = ProduceLink(cluster.open_connection(1), TERMS._replace(acks=0))
        assert link.send(BATCHES) == [Written(batch) for batch in BATCHES]
        assert link.in_flight == 0
        link.close()


def test_what_has_no_answer_when_the_link_is_given_up() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.script(ProduceRequest, lambda request, version: None)
        link = ProduceLink(cluster.open_connection(1), TERMS)
        link.send(BATCHES[:2])
        with pytest.raises(ConnectionError):
            link.receive()
        lost = link.give_up("it ended")
        assert [each.batch for each in lost] == BATCHES[:2]
        assert {str(each.error) for each in lost} == {"it ended"}
        assert link.in_flight == 0


def test_the_version_says_whether_a_write_takes_part() -> None:
    versions = []

    def note(request: ProduceRequest, version: int) -> ProduceResponse:
        versions.append((version, request.transactional_id))
        return answer(request, version)

    with scripted_cluster() as script, script.client() as cluster:
        script.script(ProduceRequest, note)
        for terms in TERMS, TERMS._replace(version_max=11, transactional_id="x"):
            link = ProduceLink(cluster.open_connection(1), terms)
            link.send(BATCHES[:1])
            link.receive()
            link.close()
    assert versions == [(12, None), (11, "x")]
