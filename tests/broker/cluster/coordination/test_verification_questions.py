import pytest

from odradek.broker.cluster.coordination.verification_questions import (
    VerificationQuestions,
)
from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.add_partitions import (
    IMPLICIT_ADD,
    Addition,
)
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from odradek.protocol.topic_partition import TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


@pytest.mark.parametrize(("client_version", "verifies"), [(0, True), (2, False)])
def test_older_producers_are_verified_and_newer_ones_added(
    client_version: int, verifies: bool
) -> None:
    assert IMPLICIT_ADD == 2
    addition = Addition("t", ProducerIdentity(7, 3), (A0, A1), client_version)
    request = VerificationQuestions().request([addition])
    data = memoryview(request.encode(5))
    sent, _ = decoder(AddPartitionsToTxnRequest, 5)(data, 0)
    (asked,) = sent.transactions
    assert (asked.transactional_id, asked.verify_only) == ("t", verifies)
    assert (asked.producer_id, asked.producer_epoch) == (7, 3)
    assert [(each.name, each.partitions) for each in asked.topics] == [("a", [0, 1])]


def test_answers_are_told_apart_by_the_transactional_id() -> None:
    answered = AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id=name,
                topic_results=[
                    AddPartitionsToTxnTopicResult(
                        name="a",
                        results_by_partition=[
                            AddPartitionsToTxnPartitionResult(
                                partition_index=0, partition_error_code=code
                            )
                        ],
                    )
                ],
            )
            for name, code in (("t", 0), ("u", 51))
        ]
    )
    found = VerificationQuestions().answers(answered)
    assert found == {"t": {A0: 0}, "u": {A0: 51}}


@pytest.mark.parametrize(("code", "words"), [(31, "CLUSTER_ACTION"), (35, "version")])
def test_who_takes_no_question_has_answered_none(code: int, words: str) -> None:
    with pytest.raises(KafkaError, match=words) as refused:
        VerificationQuestions().answers(AddPartitionsToTxnResponse(error_code=code))
    assert refused.value.code == code
