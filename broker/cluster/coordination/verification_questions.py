"""AddPartitionsToTxn as brokers ask it: do partitions take part in a transaction?

For producers of the second protocol they are added, if they do not (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.protocol.errors import (
    ClusterAuthorizationFailed,
    ErrorCode,
    error_class,
)
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.topic_partition import TopicPartition

from .named_partitions import TOGETHER_MAX, by_topic, codes_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from odradek.broker.coordinator.transaction.add_partitions import Addition

    from .named_partitions import Codes


class VerificationQuestions:
    """A `Kind`; the key of a question is the transactional id."""

    response_class: Final = AddPartitionsToTxnResponse
    together_max: Final = TOGETHER_MAX
    # All clients try again where this is said of a coordinator, and need not look
    # for another one.
    unanswered: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def group_of(self, _: Addition) -> Hashable:
        """They all go together."""
        return None

    def request(self, contents: list[Addition]) -> AddPartitionsToTxnRequest:
        """All transactions in one request."""
        return AddPartitionsToTxnRequest(
            transactions=[
                AddPartitionsToTxnTransaction(
                    transactional_id=each.transactional_id,
                    producer_id=each.producer.producer_id,
                    producer_epoch=each.producer.producer_epoch,
                    verify_only=not each.adds,
                    topics=[
                        AddPartitionsToTxnTopic(name=name, partitions=numbers)
                        for name, numbers in by_topic(each.partitions).items()
                    ],
                )
                for each in contents
            ]
        )

    def answers(self, response: AddPartitionsToTxnResponse) -> dict[Hashable, Codes]:
        """The error codes, by the transactional id.

        Raises:
            KafkaError: it takes no such question, of us or of anybody.
        """
        if response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise ClusterAuthorizationFailed(
                "the user of this broker needs CLUSTER_ACTION on the cluster there"
            )
        if response.error_code:
            raise error_class(response.error_code)
        return {
            each.transactional_id: {
                TopicPartition(
                    topic.name, partition.partition_index
                ): partition.partition_error_code
                for topic in each.topic_results
                for partition in topic.results_by_partition
            }
            for each in response.results_by_transaction
        }

    def told(self, content: Addition, found: Codes | None) -> Codes:
        """The error code for each of its partitions."""
        return codes_of(content.partitions, found, self.unanswered)
