"""Requests of transactions that come late, twice and in another order.

A proxy holds a request back; the client loses its connection or its patience, asks
again on another connection, and goes on; the held copy arrives later, also after the
next transactions have begun. What must hold, by `read_committed` and by the log:

- Each transaction is whole, once, or not there at all; what was acknowledged as
  committed is there, and nothing of an aborted one; so with the offsets of a group.
- A marker ends the records of one transaction only, under its own epoch (the next
  one in the second version, KIP-890).

Some producers are replaced while they commit, perhaps by one of the other version:
what they ask for then is refused, by no other code than PRODUCER_FENCED (KAFKA-20785),
and ends nothing.

No producer notices anything. In the second version all this holds for every request
at every moment. In the first one all transactions of a producer share an epoch, and a
late EndTxn cannot be told from the end of the transaction that is open then: it ends
it, as in Apache Kafka. So there it arrives before the next transaction begins (and
offsets before their own ends), Produce and AddPartitionsToTxn at any time. What is left
when it comes later: no commit is acknowledged of what it has aborted.

Apache Kafka 4.3.1 passes, but for two things: a late Produce of the first version may
have the next transaction's first batch refused as out of order, and who is replaced is
sometimes told INVALID_TXN_STATE.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import confluent_kafka.admin
import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.transactions import EndTxnRequest
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess, running_broker
from tests.crash.disorder import Run
from tests.crash.transaction_audit import COMMITTED, committed_values, read, settled
from tests.fakes.async_link import AsyncLink
from tests.fakes.transaction_errors import Fatal
from tests.fakes.transactional_client import FIRST, SECOND, TransactionalClient
from tests.patience import PATIENCE_S

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
TRANSACTIONS = 10_000 if IS_LONG else 100  # of either version, and of both
PRODUCERS = 10
TOPIC = "reordered"
PLACES = [TopicPartition(TOPIC, index) for index in range(4)]
PLACE, OTHER_PLACE = PLACES[:2]
OPTIONS = ("-o", "transaction.state.log.num.partitions=3")


def create_topic(address: str) -> None:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
    wanted = confluent_kafka.admin.NewTopic(TOPIC, len(PLACES), 1)
    admin.create_topics([wanted])[TOPIC].result(PATIENCE_S)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[BrokerProcess]:
    with running_broker(tmp_path / "data", *OPTIONS) as broker:
        await asyncio.to_thread(create_topic, broker.address)
        yield broker
        assert "Traceback" not in broker.log()


@pytest.fixture
async def link(broker: BrokerProcess) -> AsyncIterator[AsyncLink]:
    """The way by which late copies come."""
    link = await AsyncLink.open(broker.address, "late")
    yield link
    await link.close()


@pytest.mark.parametrize("protocols", [[FIRST], [SECOND], [FIRST, SECOND]])
async def test_late_requests_touch_no_later_transaction(
    broker: BrokerProcess, protocols: list[int]
) -> None:
    seed = int(os.environ.get("ODRADEK_SEED", random.randrange(1 << 32)))
    run = Run(broker.address, PLACES, protocols, seed)
    try:
        wrong = await run.go(PRODUCERS, TRANSACTIONS)
    except Exception as error:
        raise AssertionError(f"ODRADEK_SEED={seed}: {error!r}") from error
    assert not wrong, f"ODRADEK_SEED={seed}: {wrong[:5]}"
    assert not run.refusals, f"ODRADEK_SEED={seed}: {run.refusals}"
    assert set(run.fences) == {
        f"{protocol}: EndTxnRequest: PRODUCER_FENCED" for protocol in protocols
    }
    committed = sum(each.is_committed for each in run.written)
    assert TRANSACTIONS // 3 < committed < TRANSACTIONS
    assert run.late_count > TRANSACTIONS // 2


@asynccontextmanager
async def started(address: str, protocol: int) -> AsyncIterator[TransactionalClient]:
    client = TransactionalClient(address, "scene", protocol=protocol)
    await client.start()
    yield client
    await client.close()


def copy_of_end(client: TransactionalClient, *, committed: bool) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=client.transactional_id,
        producer_id=client.producer_id,
        producer_epoch=client.epoch,
        committed=committed,
    )


async def visible(address: str) -> list[bytes]:
    assert await settled(address, [PLACE]) is None
    return committed_values(await read(address, PLACE, COMMITTED))


@pytest.mark.parametrize("committed", [True, False])
async def test_second_version_refuses_an_end_of_the_transaction_before(
    broker: BrokerProcess, link: AsyncLink, committed: bool
) -> None:
    async with started(broker.address, SECOND) as client:
        late = copy_of_end(client, committed=committed)
        await client.send({PLACE: [b"before"]})
        await (client.commit() if committed else client.abort())
        await client.send({PLACE: [b"now"]})
        answer = await link.request(late, 5)
        assert answer.error_code == ErrorCode.PRODUCER_FENCED
        await client.send({PLACE: [b"and then"]})
        await client.commit()
    expected = [b"before"] * committed + [b"now", b"and then"]
    assert await visible(broker.address) == expected


async def test_second_version_refuses_records_of_the_transaction_before(
    broker: BrokerProcess, link: AsyncLink
) -> None:
    async with started(broker.address, SECOND) as client:
        batch = client.batch(PLACE, [b"late"])
        late = client.produce_request({PLACE: batch, OTHER_PLACE: batch})
        await client.send({PLACE: [b"before"]})
        await client.abort()
        await client.send({PLACE: [b"now"]})
        answer = await link.request(late, client.produce_version)
        codes = [each.error_code for each in answer.responses[0].partition_responses]
        assert codes == [ErrorCode.INVALID_PRODUCER_EPOCH] * 2
        await client.send({PLACE: [b"and then"]})
        await client.commit()
    assert await visible(broker.address) == [b"now", b"and then"]


async def test_first_version_takes_records_of_the_transaction_before_for_repeated(
    broker: BrokerProcess, link: AsyncLink
) -> None:
    async with started(broker.address, FIRST) as client:
        late = client.produce_request({PLACE: client.batch(PLACE, [b"before"])})
        await client.send({PLACE: [b"before"]})
        await client.commit()
        await client.add_partitions([PLACE])
        for value in (b"now", b"and then"):
            answer = await link.request(late, client.produce_version)
            assert answer.responses[0].partition_responses[0].error_code == 0
            await client.send({PLACE: [value]})
        await client.commit()
    assert await visible(broker.address) == [b"before", b"now", b"and then"]


async def test_first_version_a_late_commit_leaves_an_acknowledged_one_whole(
    broker: BrokerProcess, link: AsyncLink
) -> None:
    async with started(broker.address, FIRST) as client:
        await client.send({PLACE: [b"before"]})
        await client.commit()
        await client.send({PLACE: [b"now"]})
        answer = await link.request(copy_of_end(client, committed=True), 4)
        assert answer.error_code == 0  # it has ended what is open
        await client.commit()
    assert await visible(broker.address) == [b"before", b"now"]


async def test_first_version_a_late_abort_leaves_no_acknowledged_commit(
    broker: BrokerProcess, link: AsyncLink
) -> None:
    async with started(broker.address, FIRST) as client:
        await client.send({PLACE: [b"before"]})
        await client.abort()
        await client.send({PLACE: [b"now"]})
        answer = await link.request(copy_of_end(client, committed=False), 4)
        assert answer.error_code == 0  # it has ended what is open
        with pytest.raises(Fatal, match="INVALID_TXN_STATE"):
            await client.commit()
    assert await visible(broker.address) == []
