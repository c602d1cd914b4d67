"""What becomes of batches when brokers fail, move and forget: scripted brokers."""

import pytest

from odradek.client.cluster import Cluster
from odradek.client.producer import DeliveryFailed, Producer, ProducerSettings
from odradek.protocol.errors import (
    ErrorCode,
    NetworkException,
    OutOfOrderSequenceNumber,
)
from odradek.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.protocol.messages.transactions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, iterate
from tests.fakes.scripted import ScriptedCluster, scripted_cluster

SETTINGS = ProducerSettings(batch_size=100, linger_ms=60_000, delivery_timeout_ms=3000)


class FakeLogs:
    """What brokers keep of produced batches, as a leader checks them."""

    def __init__(self, script: ScriptedCluster) -> None:
        self.script = script
        self.values: dict[int, list[bytes]] = {}
        self.sequences: dict[int, list[int]] = {}  # of the batches that are kept
        self.answers: list[ErrorCode | None] = []  # first; None: hang up, but keep
        self.next_producer_id = 10
        script.script(InitProducerIdRequest, self._init)
        for node_id, broker in script.brokers.items():
            broker.answers[ProduceRequest] = lambda request, version, node_id=node_id: (
                self._produce(node_id, request)
            )

    def _init(self, request: object, version: int) -> InitProducerIdResponse:
        self.next_producer_id += 1
        return InitProducerIdResponse(producer_id=self.next_producer_id)

    def _produce(self, node_id: int, request: ProduceRequest) -> ProduceResponse | None:
        hang_up = False
        topics = []
        for topic in request.topic_data:
            answered = []
            for data in topic.partition_data:
                code = self.answers.pop(0) if self.answers else ErrorCode.NONE
                hang_up = hang_up or code is None
                if self.script.leaders["t"][data.index] != node_id:
                    code = ErrorCode.NOT_LEADER_OR_FOLLOWER
                elif not code:
                    assert data.records is not None
                    code = self._append(data.index, bytes(data.records))
                answered.append(
                    PartitionProduceResponse(index=data.index, error_code=code)
                )
            topics.append(
                TopicProduceResponse(name=topic.name, partition_responses=answered)
            )
        return None if hang_up else ProduceResponse(responses=topics)

    def _append(self, partition: int, batch: bytes) -> ErrorCode:
        header = read_header(batch)
        known = self.sequences.setdefault(partition, [])
        values = self.values.setdefault(partition, [])
        if header.base_sequence in known:
            return ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        if header.base_sequence != len(values):
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        known.append(header.base_sequence)
        values += [record.value or b"" for record in iterate(batch)]
        return ErrorCode.NONE


def values(count: int) -> list[bytes]:
    return [b"%03d" % number * 10 for number in range(count)]


def send_all(cluster: Cluster, count: int, partition: int = 0) -> None:
    with Producer(cluster, SETTINGS) as producer:
        for value in values(count):
            producer.send("t", NewRecord(None, value, 0), partition)


RETRIABLE = ErrorCode.NOT_ENOUGH_REPLICAS


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [RETRIABLE],
        [ErrorCode.NONE, RETRIABLE, ErrorCode.NONE],
        [RETRIABLE] * 8,
        [None],
        [ErrorCode.NONE, None, None, RETRIABLE],
    ],
)
def test_each_batch_once_and_in_order(answers: list[ErrorCode | None]) -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {"t": [1]}
        logs = FakeLogs(script)
        logs.answers = list(answers)
        send_all(cluster, 12)
        assert logs.values[0] == values(12)


def test_a_leader_that_has_moved_is_found() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        script.leaders = {"t": [1]}
        logs = FakeLogs(script)
        with Producer(cluster, SETTINGS) as producer:
            for number, value in enumerate(values(12)):
                if number == 6:
                    script.leaders = {"t": [2]}
                producer.send("t", NewRecord(None, value, 0))
        assert logs.values[0] == values(12)


def test_a_partition_without_a_leader_is_waited_for() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {"t": [-1]}
        logs = FakeLogs(script)
        producer = Producer(cluster, SETTINGS)
        producer.send("t", NewRecord(None, b"v", 0))
        sleep = script.time.sleep

        def elected(seconds: float) -> None:
            script.leaders = {"t": [1]}
            sleep(seconds)

        cluster.retry._sleep = elected
        producer.flush()
        producer.close()
        assert logs.values[0] == [b"v"]


def test_a_broker_that_stays_away_is_given_up_in_time() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        script.leaders = {"t": [2]}
        FakeLogs(script)
        producer = Producer(cluster, SETTINGS)
        producer.send("t", NewRecord(None, b"v", 0))
        script.brokers[2].close()
        with pytest.raises(DeliveryFailed, match=r"t-0: .*refused.*1 record not") as e:
            producer.flush()
        assert isinstance(e.value.error, NetworkException)
        assert 1 < sum(script.time.pauses) <= 3


def test_a_cluster_that_is_away_altogether_is_an_error_of_the_delivery() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {"t": [1]}
        FakeLogs(script)
        producer = Producer(cluster, SETTINGS)
        producer.send("t", NewRecord(None, b"v", 0))
        producer.flush()
        script.brokers[1].close()
        producer.send("t", NewRecord(None, b"w", 0))
        with pytest.raises(DeliveryFailed, match=r"t-0: .*refused"):
            producer.flush()
        assert sum(script.time.pauses) > 1


def test_a_gap_in_the_sequences_is_final_and_the_next_has_another_id() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {"t": [1]}
        logs = FakeLogs(script)
        with Producer(cluster, SETTINGS) as producer:
            producer.send("t", NewRecord(None, b"1", 0))
            producer.flush()
            logs.values[0].clear()  # the broker has lost what it had
            producer.send("t", NewRecord(None, b"2", 0))
            with pytest.raises(DeliveryFailed) as failed:
                producer.flush()
            assert isinstance(failed.value.error, OutOfOrderSequenceNumber)
            logs.sequences.clear()
            producer.send("t", NewRecord(None, b"3", 0))
            producer.flush()
            assert logs.values[0] == [b"3"]
            assert logs.next_producer_id == 12


def test_what_is_behind_a_failure_waits_for_it() -> None:
    """Batches in flight behind a refused one are refused too, then all sent again."""
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {"t": [1, 1]}
        logs = FakeLogs(script)
        logs.answers = [ErrorCode.NONE, RETRIABLE]
        with Producer(cluster, SETTINGS) as producer:
            for value in values(20):
                producer.send("t", NewRecord(None, value, 0), 0)
                producer.send("t", NewRecord(None, value, 0), 1)
        assert logs.values == {0: values(20), 1: values(20)}


def test_a_delivery_that_failed_says_how_many_are_lost() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {"t": [1]}
        logs = FakeLogs(script)
        logs.answers = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        producer = Producer(cluster, SETTINGS)
        for value in values(6):
            producer.send("t", NewRecord(None, value, 0))
        with pytest.raises(DeliveryFailed, match=r"\(6 records not written\)"):
            producer.flush()
        producer.close()
