"""Records of transactions: those of Apache Kafka, read and written alike."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator.transaction.records import TransactionRecord, decode
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.coordinator.transaction.transaction import Transaction
from odradek.protocol.errors import InvalidRecord
from odradek.protocol.record_batch import scan
from odradek.protocol.records import Record, iterate
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.transaction_records import (
    TransactionLogValue,
    TransactionPartitions,
)
from tests.broker.coordinator.transaction.rig import A0, A1, B0, Transactions

GOLDEN = Path(__file__).parents[3] / "golden" / "kafka-4.3.1"
CASES = ("transaction-state", "txn-interleaved", "unclean-txn")


def records(case: str) -> list[Record]:
    found: list[Record] = []
    for path in sorted((GOLDEN / case).glob("log-dir/__transaction_state-*/*.log")):
        data = memoryview(path.read_bytes())
        for position, header in scan(data):
            found += iterate(data[position : position + header.size])
    assert found
    return found


def pairs(case: str) -> list[tuple[bytes, bytes | None]]:
    """Keys and values of a golden log."""
    return [
        (
            bytes(each.key or b""),
            None if each.value is None else bytes(each.value),
        )
        for each in records(case)
    ]


def dumped(case: str) -> list[dict[str, Any]]:
    """What Kafka's own tool says of the same records."""
    expected = json.loads((GOLDEN / case / "expected.json").read_text())
    found = []
    for name, files in expected["on_disk"].items():
        if not name.startswith("__transaction_state"):
            continue
        for file, batches in sorted(files.items()):
            for batch in batches if file.endswith(".log") else ():
                for line in batch.get("records", ()):
                    text = re.search(r"payload: (.*)", line)
                    assert text is not None
                    found.append(json.loads(text[1])["data"])
    return found


@pytest.mark.parametrize("case", CASES)
def test_records_of_kafka_are_written_byte_for_byte(case: str) -> None:
    for key, value in pairs(case):
        record = decode(key, value)
        assert record is not None
        assert record.encode() == (key, value)


@pytest.mark.parametrize("case", CASES)
def test_records_of_kafka_say_what_its_tool_says(case: str) -> None:
    lines = dumped(case)
    found = [decode(key, value) for key, value in pairs(case)]
    assert len(lines) == len(found)
    for line, record in zip(lines, found, strict=True):
        assert record is not None
        transaction = record.transaction
        assert transaction is not None
        assert transaction.producer == (line["producerId"], line["producerEpoch"])
        assert transaction.state == line["transactionStatus"]
        assert transaction.previous_producer_id == line["previousProducerId"]
        assert transaction.timeout_ms == line["transactionTimeoutMs"]
        assert transaction.start_ms == line["transactionStartTimestampMs"]
        assert transaction.client_version == line.get("clientTransactionVersion", 0)


def test_a_log_of_kafka_loads_into_the_same_state() -> None:
    rig = Transactions()
    rig.load(pairs("transaction-state"))
    first, second = rig.get("etl-1"), rig.get("etl-2")
    assert first.state is TransactionState.COMPLETE_ABORT
    assert first.producer == (1, 2)
    assert second.state is TransactionState.ONGOING
    assert second.producer == (2, 1)
    assert second.partitions == (A0,)
    assert not rig.markers.pending


@pytest.mark.parametrize("length", range(1, 27))
def test_a_log_of_kafka_cut_anywhere_is_gone_on_with(length: int) -> None:
    rig = Transactions()
    rig.load(pairs("txn-interleaved")[:length])
    prepared = [
        each for each in rig.state.transactions.values() if each.state.is_prepared
    ]
    written = rig.settle()
    assert [each.producer_id for each in written] == [
        each.producer_id for each in prepared
    ]
    assert not any(each.state.is_prepared for each in rig.state.transactions.values())


def test_partitions_are_grouped_by_topic_in_their_order() -> None:
    transaction = Transaction(
        "x", 5, 1, 1000, 17, TransactionState.ONGOING, (A1, B0, A0), 16
    )
    key, value = TransactionRecord.of(transaction).encode()
    assert key == b"\x00\x00\x00\x01x"
    assert value is not None
    found = TransactionLogValue.decode(memoryview(value)[2:], 1)
    assert found.transaction_partitions is not None
    topics = [(each.topic, each.partition_ids) for each in found.transaction_partitions]
    assert topics == [("a", [1, 0]), ("b", [0])]


def test_partitions_of_an_empty_state_are_null() -> None:
    _, value = TransactionRecord.of(Transaction("x", 5, 1, 1000, 17)).encode()
    assert value is not None
    found = TransactionLogValue.decode(memoryview(value)[2:], 1)
    assert found.transaction_partitions is None


def test_version_0_of_old_brokers_is_read() -> None:
    value = TransactionLogValue(
        producer_id=5,
        producer_epoch=1,
        transaction_timeout_ms=1000,
        transaction_status=0,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=17,
        transaction_start_timestamp_ms=-1,
    )
    record = decode(b"\x00\x00\x00\x01x", b"\x00\x00" + value.encode(0))
    assert record == TransactionRecord("x", Transaction("x", 5, 1, 1000, 17))


def test_a_tombstone() -> None:
    record = TransactionRecord("x", None)
    assert record.encode() == (b"\x00\x00\x00\x01x", None)
    assert decode(*record.encode()) == record


def test_another_kind_of_record_is_passed_over() -> None:
    assert decode(b"\x00\x01\x00\x01x", b"\x00\x00") is None


def test_a_record_cut_short_is_refused() -> None:
    key, value = TransactionRecord.of(Transaction("x", 5, 1, 1000, 17)).encode()
    assert value is not None
    for size in range(len(value)):
        with pytest.raises(InvalidRecord):
            decode(key, value[:size])
    for size in range(len(key)):
        with pytest.raises(InvalidRecord):
            decode(key[:size], value)


def test_unknown_versions_and_states_are_refused() -> None:
    key, value = TransactionRecord.of(Transaction("x", 5, 1, 1000, 17)).encode()
    assert value is not None
    with pytest.raises(InvalidRecord):
        decode(key, b"\x00\x02" + value[2:])
    bad_state = bytearray(value)
    bad_state[16] = 9
    with pytest.raises(InvalidRecord):
        decode(key, bad_state)


@given(
    st.builds(
        Transaction,
        st.just("id"),
        st.integers(0, 2**63 - 1),
        st.integers(0, 2**15 - 1),
        st.integers(0, 2**31 - 1),
        st.integers(0, 2**62),
        st.sampled_from(TransactionState),
        st.lists(
            st.builds(TopicPartition, st.sampled_from(["t", "u"]), st.integers(0, 20)),
            max_size=12,
            unique=True,
        ).map(tuple),
        st.integers(-1, 2**62),
        st.integers(-1, 9),
        st.integers(-1, 9),
        st.integers(-1, 9),
        st.integers(0, 2),
    )
)
def test_a_value_is_as_the_message_says(transaction: Transaction) -> None:
    key, value = TransactionRecord.of(transaction).encode()
    topics: dict[str, list[int]] = {}
    for topic, partition in transaction.partitions:
        topics.setdefault(topic, []).append(partition)
    is_empty = transaction.state is TransactionState.EMPTY
    wanted = TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer_epoch,
        next_producer_epoch=transaction.next_producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None
        if is_empty
        else [
            TransactionPartitions(topic=name, partition_ids=ids)
            for name, ids in topics.items()
        ],
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
        client_transaction_version=transaction.client_version,
    )
    assert value == b"\0\1" + wanted.encode(1)
    found = decode(key, value)
    assert found is not None
    if not is_empty:
        by_topic = sorted(
            transaction.partitions, key=lambda each: list(topics).index(each.topic)
        )
        assert found.transaction == transaction._replace(partitions=tuple(by_topic))
