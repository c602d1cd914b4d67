"""Partitions of a copy take part in no transaction of ours: no marker may come in."""

from pathlib import Path
from typing import Any

from odradek.broker.handlers.records.transaction_verification import take_guards
from odradek.broker.handlers.transactions.transactions import (
    handle_add_partitions_to_txn,
)
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from odradek.protocol.record_batch import read_header
from tests.broker.mirror.rig import T0, Rig, mirror_rig
from tests.fakes.replicas import batch_of


async def copied(rig: Rig) -> None:
    rig.source.add_topic()
    rig.source.append(b"a")
    await rig.add()
    await rig.until(rig.is_copied)


async def test_the_coordinator_does_not_add_them(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        await copied(rig)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="x",
            v3_and_below_producer_id=1,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[0])],
        )
        answer: Any = handle_add_partitions_to_txn(rig.broker.context(3), request)
        (topic,) = answer.results_by_topic_v3_and_below
        (partition,) = topic.results_by_partition
        assert partition.partition_error_code == ErrorCode.POLICY_VIOLATION


async def test_a_produce_that_would_add_them_is_refused_before(tmp_path: Path) -> None:
    async with mirror_rig(tmp_path) as rig:
        await copied(rig)
        options = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
        batch = batch_of(b"x", is_transactional=True, **options)
        headers = {T0: read_header(batch)}
        guards, refused = take_guards(rig.broker.context(12), headers)
        assert not guards
        assert refused[T0].error_code == ErrorCode.POLICY_VIOLATION
