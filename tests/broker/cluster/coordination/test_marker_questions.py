from odradek.broker.cluster.coordination.marker_questions import (
    AskedMarker,
    MarkerQuestions,
)
from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.marker_writer import Marker
from odradek.protocol.compiler import decoder
from odradek.protocol.messages.txn_admin import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.protocol.topic_partition import TopicPartition

A0, A1, B0 = (TopicPartition(*each) for each in (("a", 0), ("a", 1), ("b", 0)))


def test_a_marker_is_asked_for_as_coordinators_do() -> None:
    asked = [
        AskedMarker(Marker(ProducerIdentity(7, 3), True, 5, 2), (A0, B0, A1)),
        AskedMarker(Marker(ProducerIdentity(8, 0), False, 5, 0), (A0,)),
    ]
    request = MarkerQuestions().request(asked)
    data = memoryview(request.encode(2))
    sent, _ = decoder(WriteTxnMarkersRequest, 2)(data, 0)
    first, second = sent.markers
    assert (first.producer_id, first.producer_epoch) == (7, 3)
    assert (first.transaction_result, first.coordinator_epoch) == (True, 5)
    assert first.transaction_version == 2
    assert [(each.name, each.partition_indexes) for each in first.topics] == [
        ("a", [0, 1]),
        ("b", [0]),
    ]
    assert (second.producer_id, second.transaction_result) == (8, False)


def result(
    producer_id: int, name: str, *codes: tuple[int, int]
) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=name,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=index, error_code=code
                    )
                    for index, code in codes
                ],
            )
        ],
    )


def test_answers_are_those_of_a_producer_also_where_it_is_named_twice() -> None:
    answered = WriteTxnMarkersResponse(
        markers=[
            result(7, "a", (0, 0), (1, 6)),
            result(8, "a", (0, 47)),
            result(7, "b", (0, 3)),
        ]
    )
    found = MarkerQuestions().answers(answered)
    assert found == {7: {A0: 0, A1: 6, B0: 3}, 8: {A0: 47}}
