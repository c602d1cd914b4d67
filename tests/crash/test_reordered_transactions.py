"""Requests of transactions that come late, twice and in another order.

A proxy holds a request back; the client loses its connection or its patience, asks
again on another connection, and goes on; the held copy arrives later, also after the
next transactions have begun. What must hold, by `read_committed` and by the log:

- Each transaction is whole, once, or not there at all; what was acknowledged as
  committed is there, and nothing of an aborted one.
- A marker ends the records of one transaction only, under its own epoch (the next
  one in the second version, KIP-890).
- A producer meets no error on the way: a late copy changes nothing for it.

In the second version this holds for every request at every moment. In the first one
all transactions of a producer share an epoch, and a late EndTxn cannot be told from
the end of the transaction that is open then; Apache Kafka ends that one. So there a
late EndTxn arrives before the next transaction begins, and Produce and
AddPartitionsToTxn at any time; the last tests say what is left after that.
"""

import asyncio
import os
import random
from pathlib import Path

import confluent_kafka.admin
import pytest

from protocol.topic_partition import TopicPartition
from tests.broker_process import running_broker
from tests.crash.disorder import Run
from tests.fakes.transactional_client import FIRST, SECOND

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
TRANSACTIONS = 10_000 if IS_LONG else 250  # of each version
PRODUCERS = 10
TOPIC = "reordered"
PLACES = [TopicPartition(TOPIC, index) for index in range(4)]
OPTIONS = ("-o", "transaction.state.log.num.partitions=3")


def create_topic(address: str) -> None:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
    wanted = confluent_kafka.admin.NewTopic(TOPIC, len(PLACES), 1)
    admin.create_topics([wanted])[TOPIC].result(30)


@pytest.mark.timeout(60 + TRANSACTIONS // 10)
@pytest.mark.parametrize("protocol", [FIRST, SECOND])
async def test_late_requests_touch_no_later_transaction(
    tmp_path: Path, protocol: int
) -> None:
    seed = int(os.environ.get("ODRADEK_SEED", random.randrange(1 << 32)))
    with running_broker(tmp_path / "data", *OPTIONS) as broker:
        await asyncio.to_thread(create_topic, broker.address)
        run = Run(broker.address, PLACES, protocol, seed)
        try:
            wrong = await run.go(PRODUCERS, TRANSACTIONS)
        except Exception as error:
            raise AssertionError(f"ODRADEK_SEED={seed}: {error!r}") from error
        assert not wrong, f"ODRADEK_SEED={seed}: {wrong[:5]}"
        assert "Traceback" not in broker.log()
    committed = sum(each.is_committed for each in run.written)
    assert TRANSACTIONS // 2 < committed < TRANSACTIONS
    assert run.counts["late END_TXN: 0"] + run.counts["late END_TXN: 90"] > 10
