from odradek.protocol.transaction_records import (
    TransactionLogKey,
    TransactionLogValue,
    TransactionPartitions,
)


def test_there_and_back_in_both_versions() -> None:
    value = TransactionLogValue(
        producer_id=5,
        producer_epoch=2,
        transaction_status=1,
        transaction_partitions=[TransactionPartitions(topic="a", partition_ids=[1, 0])],
    )
    for version in (0, 1):
        assert TransactionLogValue.decode(value.encode(version), version) == value
    key = TransactionLogKey(transactional_id="etl-1")
    assert key.encode(0) == b"\0\5etl-1"


def test_only_version_1_has_the_ids_beside_the_present_one() -> None:
    value = TransactionLogValue(previous_producer_id=4, next_producer_epoch=7)
    assert TransactionLogValue.decode(value.encode(1), 1) == value
    assert TransactionLogValue.decode(value.encode(0), 0) == TransactionLogValue()


def test_no_partitions_or_none_yet() -> None:
    for partitions in ([], None):
        value = TransactionLogValue(transaction_partitions=partitions)
        assert TransactionLogValue.decode(value.encode(1), 1) == value
