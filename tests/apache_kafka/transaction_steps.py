"""Random steps of transactional producers, and all that a broker answers to them.

The steps are drawn with a seed, and from what was answered before: two brokers that
answer the same get the same steps. Producers make mistakes: epochs and sequences that
are too high or too low, records before their partition was added, the id of another.

After every end all markers are awaited, so that no answer depends on the moment.
"""

import random
import time
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from odradek.protocol.messages.txn_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from odradek.protocol.messages.txn_offsets import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Request, Response
from tests.apache_kafka.topic_view import TopicView
from tests.patience import PATIENCE_S

PAUSE_S = 0.01
PARTITIONS = (0, 1)
# Of the two producers. Who changes from 4 to 5 and repeats an end in the epoch before
# is refused here, and takes the last end for a bump in Apache Kafka.
END_VERSIONS = {"a": 4, "b": 5}
WEIGHTS = {
    "init": 1,
    "produce": 10,
    "end": 3,
    "add": 3,
    "offsets": 2,
    "plain": 1,
    "look": 2,
}

_Response = TypeVar("_Response", bound=Response)


class Steps:
    """Two producers, one topic, one group; its name is made of the seed."""

    weights: Mapping[str, int] = WEIGHTS

    def __init__(self, address: str, seed: int) -> None:
        host, port = address.split(":")
        self._connection = Connection(host, int(port))
        self._random = random.Random(seed)
        self._topic = self._group = f"{type(self).__name__}-{seed}"
        self._ids = [f"{self._topic}-a", f"{self._topic}-b"]
        self._producers: dict[str, tuple[int, int]] = {}
        self._sequences: dict[tuple[int, int, int], int] = {}
        self._open: set[tuple[str, int]] = set()  # where producers have written
        self._offset = 0

    def take(self, count: int) -> Iterator[tuple[Any, ...]]:
        """What was asked and answered, step by step."""
        self._prepare()
        kinds, weights = list(self.weights), list(self.weights.values())
        for number in range(count):
            kind = self._random.choices(kinds, weights)[0]
            transactional_id = self._random.choice(self._ids)
            if transactional_id not in self._producers:
                kind = "init"
            step = getattr(self, f"_{kind}")
            yield number, kind, transactional_id, *step(transactional_id)
        self._connection.close()

    def _prepare(self) -> None:
        topic = CreatableTopic(
            name=self._topic, num_partitions=len(PARTITIONS), replication_factor=1
        )
        asked = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
        self._ask(asked, CreateTopicsResponse, 5)
        for key_type, key in enumerate((self._group, self._ids[0])):
            self._until(
                FindCoordinatorRequest(key=key, key_type=key_type),
                FindCoordinatorResponse,
                3,
                lambda answer: [answer.error_code],
            )
        # Apache Kafka has them in its metadata a moment after they were made.
        for index in PARTITIONS:
            asked_to_write = self._record_request(None, [(index, _batch())])
            self._until(asked_to_write, ProduceResponse, 9, _produce_codes)

    # Steps: what is asked, and what is answered

    def _init(self, transactional_id: str) -> tuple[Any, ...]:
        answer = self._until(
            InitProducerIdRequest(
                transactional_id=transactional_id,
                transaction_timeout_ms=60_000,
                producer_id=-1,
                producer_epoch=-1,
            ),
            InitProducerIdResponse,
            5,
            lambda answer: [answer.error_code],
        )
        self._producers[transactional_id] = answer.producer_id, answer.producer_epoch
        self._settle(transactional_id)
        return answer.error_code, answer.producer_epoch

    def _produce(self, transactional_id: str) -> tuple[Any, ...]:
        draw = self._random
        producer_id, epoch = self._identity(transactional_id)
        version, acks = draw.choice((9, 11, 12, 12)), draw.choice((-1, -1, 1))
        claimed = draw.choices((transactional_id, self._ids[0], "nobody"), (15, 1, 1))
        batches, sequences = [], []
        for index in draw.sample(PARTITIONS, draw.choice((1, 1, 2))):
            due = self._sequences.get((producer_id, epoch, index), 0)
            # A late copy outside of a transaction keeps Apache Kafka from the next one.
            is_open = (transactional_id, index) in self._open
            (slip,) = draw.choices((0, -1, 1, -due), (12, is_open, 1, is_open))
            sequence = max(due + slip, 0)
            # In a later epoch it would keep Apache Kafka from ever writing the marker.
            is_late = epoch > self._producers[transactional_id][1]
            is_transactional = draw.random() > 0.05 or is_late
            batch = _batch(producer_id, epoch, sequence, is_transactional)
            batches.append((index, batch))
            sequences.append(sequence)
        asked = self._record_request(claimed[0], batches, acks)
        answer = self._ask(asked, ProduceResponse, version)
        stored = {
            each.index: (ErrorCode(each.error_code).name, each.base_offset)
            for each in answer.responses[0].partition_responses
        }
        for (index, _), sequence in zip(batches, sequences, strict=True):
            if stored[index][0] == "NONE":
                key = producer_id, epoch, index
                self._sequences[key] = max(sequence + 1, self._sequences.get(key, 0))
                self._open.add((transactional_id, index))
        return version, acks, claimed, epoch, sequences, sorted(stored.items())

    def _plain(self, transactional_id: str) -> tuple[Any, ...]:
        asked = self._record_request(
            None, [(self._random.choice(PARTITIONS), _batch())]
        )
        answer = self._ask(asked, ProduceResponse, 9)
        (stored,) = answer.responses[0].partition_responses
        return stored.index, stored.error_code, stored.base_offset

    def _add(self, transactional_id: str) -> tuple[Any, ...]:
        producer_id, epoch = self._identity(transactional_id)
        partitions = self._random.sample(PARTITIONS, self._random.choice((1, 2)))
        asked = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=self._topic, partitions=partitions)
            ],
        )
        answer = self._ask(asked, AddPartitionsToTxnResponse, 3)
        (topic,) = answer.results_by_topic_v3_and_below
        results = topic.results_by_partition
        codes = {each.partition_index: each.partition_error_code for each in results}
        return epoch, sorted(codes.items())

    def _offsets(self, transactional_id: str) -> tuple[Any, ...]:
        producer_id, epoch = self._identity(transactional_id)
        version, added = self._random.choice((3, 4, 5, 5)), None
        who: dict[str, Any] = {
            "transactional_id": transactional_id,
            "group_id": self._group,
            "producer_id": producer_id,
            "producer_epoch": epoch,
        }
        if version < 5 and self._random.random() < 0.8:
            asked = AddOffsetsToTxnRequest(**who)
            added = self._ask(asked, AddOffsetsToTxnResponse, 3).error_code
        self._offset += 1
        place = TxnOffsetCommitRequestPartition(
            partition_index=self._random.choice(PARTITIONS),
            committed_offset=self._offset,
        )
        topic = TxnOffsetCommitRequestTopic(name=self._topic, partitions=[place])
        committing = TxnOffsetCommitRequest(topics=[topic], **who)
        answer = self._ask(committing, TxnOffsetCommitResponse, version)
        return version, epoch, added, answer.topics[0].partitions[0].error_code

    def _end(self, transactional_id: str) -> tuple[Any, ...]:
        producer_id, epoch = self._identity(transactional_id)
        version = END_VERSIONS[transactional_id[-1]]
        commits = self._random.random() < 0.6
        asked = EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=commits,
        )
        answer = self._ask(asked, EndTxnResponse, version)
        if version == 5 and answer.error_code == 0:
            self._producers[transactional_id] = (
                answer.producer_id,
                answer.producer_epoch,
            )
        self._settle(transactional_id)
        bumped = answer.producer_epoch if version == 5 else None
        return version, commits, epoch, answer.error_code, bumped

    def _look(self, transactional_id: str) -> tuple[Any, ...]:
        """All that readers see, and what is known of the transactions."""
        seen: list[Any] = []
        names = {known[0]: name for name, known in self._producers.items()}
        view = TopicView(self._connection, self._topic, names)
        for index in PARTITIONS:
            # With acks=all, behind which everything is replicated.
            self._ask(
                self._record_request(None, [(index, _batch())]), ProduceResponse, 9
            )
            for isolation_level in (0, 1):
                seen.append(view.read(index, isolation_level))
                seen.append(view.latest(index, isolation_level))
        seen += [
            view.committed_offsets(self._group, PARTITIONS, is_stable)
            for is_stable in (False, True)
        ]
        seen += [
            (each.transaction_state, each.producer_epoch) for each in self._described()
        ]
        return tuple(seen)

    # Asking

    def _identity(self, transactional_id: str) -> tuple[int, int]:
        producer_id, epoch = self._producers[transactional_id]
        (slip,) = self._random.choices((0, -1, 1), (12, 1, 1))
        return producer_id, max(epoch + slip, 0)

    def _record_request(
        self,
        transactional_id: str | None,
        batches: list[tuple[int, bytes]],
        acks: int = -1,
    ) -> ProduceRequest:
        data = [
            PartitionProduceData(index=index, records=batch) for index, batch in batches
        ]
        topic = TopicProduceData(name=self._topic, partition_data=data)
        return ProduceRequest(
            transactional_id=transactional_id,
            acks=acks,
            timeout_ms=10_000,
            topic_data=[topic],
        )

    def _described(self) -> list[Any]:
        asked = DescribeTransactionsRequest(transactional_ids=self._ids)
        return self._ask(asked, DescribeTransactionsResponse, 0).transaction_states

    def _settle(self, ended: str) -> None:
        self._open = {each for each in self._open if each[0] != ended}
        deadline = time.monotonic() + PATIENCE_S
        while any(
            each.transaction_state.startswith("Prepare") for each in self._described()
        ):
            assert time.monotonic() < deadline, "a transaction does not end"
            time.sleep(PAUSE_S)

    def _ask(
        self, request: Request, response_class: type[_Response], version: int
    ) -> _Response:
        return self._connection.request(request, response_class, version)

    def _until(
        self,
        request: Request,
        response_class: type[_Response],
        version: int,
        codes: Any,
    ) -> _Response:
        """The answer without an error, which comes in a moment."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._ask(request, response_class, version)
            if not any(codes(answer)):
                return answer
            assert time.monotonic() < deadline, answer
            time.sleep(PAUSE_S)


def _batch(
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
) -> bytes:
    record = NewRecord(key=b"k", value=b"v", timestamp=time.time_ns() // 1_000_000)
    return bytes(
        build_batch(
            [record],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            is_transactional=is_transactional,
        )
    )


def _produce_codes(answer: ProduceResponse) -> list[int]:
    (topic,) = answer.responses
    return [each.error_code for each in topic.partition_responses]
