"""What a task does with its rows; the transaction around it: see `test_loader`."""

import pickle

import pyarrow as pa
import pytest

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.producer import ProducerSettings
from odradek.client.topics import NewTopic, create_topic
from odradek.client.transaction_steps import (
    end_transaction,
    init_producer_id,
    transaction_name,
)
from odradek.pipeline.load.attempt_registry import AttemptRefused, AttemptRegistry
from odradek.pipeline.load.batch_sender import BatchSender
from tests.broker_process import BrokerProcess
from tests.client.live import settle
from tests.client.test_producer import records_in


class FakeContext:
    """What Spark tells a task of itself."""

    attempt = 7

    @classmethod
    def get(cls) -> "FakeContext":
        return cls()

    def partitionId(self) -> int:
        return 0

    def taskAttemptId(self) -> int:
        return self.attempt


def batch(partition: int, *values: bytes) -> pa.RecordBatch:
    count = len(values)
    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    return pa.record_batch(
        {
            "key": pa.array([b"k"] * count, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "headers": pa.array([[{"key": "h", "value": b"1"}]] * count, headers),
            "time_ms": pa.array([5] * count, pa.int64()),
            "partition": pa.array([partition] * count, pa.int32()),
        }
    )


def test_the_first_attempt_sends_and_any_other_is_refused(
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pyspark.TaskContext", FakeContext)
    create_topic(cluster, NewTopic(topic, 2))
    name = transaction_name(cluster, f"job-{topic}")
    identity = init_producer_id(cluster, name)
    with AttemptRegistry() as registry:
        address = Address("127.0.0.1", broker_process.port)
        made = BatchSender(
            (address,), topic, name, identity, registry.begin(), ProducerSettings(), 10
        )
        sender = pickle.loads(pickle.dumps(made))
        assert list(sender(iter([batch(0)]))) == []  # no rows: nobody is asked
        assert registry.registered == {}
        (counts,) = sender(iter([batch(1, b"a", b"b"), batch(0, b"c"), batch(1, b"d")]))
        assert counts.to_pydict() == {"partition": [1, 0], "records": [3, 1]}
        assert registry.registered == {0: 7}
        monkeypatch.setattr(FakeContext, "attempt", 8)
        with pytest.raises(AttemptRefused):
            list(sender(iter([batch(1, b"again")])))
    assert list(records_in(cluster, topic, 1)) == []
    end_transaction(cluster, name, identity, commit=True)
    settle(cluster, topic)
    found = list(records_in(cluster, topic, 1))
    assert [each.value for each in found] == [b"a", b"b", b"d"]
    assert found[0][1:] == (5, b"k", b"a", (("h", b"1"),))
