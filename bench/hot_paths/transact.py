"""Whole transactions without sockets: AddPartitionsToTxn, Produce, EndTxn, the markers.

What a producer of the first version of the protocol asks, one batch each.
"""

import asyncio
from collections.abc import Iterator

from dispatch_requests import Sender, start
from logs import temporary_root
from measuring import Case, main
from partitions import Loop
from produce_in_transaction import NumberedSender, batch_of
from samples import TOPIC
from serving import Serving

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.init_producer import Initialisation
from odradek.broker.metadata.topic_names import TRANSACTION_STATE
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
)
from odradek.protocol.schema import Request

ID = "bench-id"
ADD_VERSION, END_VERSION = 3, 4
# Markers and the record that says that all are written have turns of their own.
TURNS = 4


class TransactionalSender(NumberedSender):
    """Sends whole transactions, each when the one before it has ended."""

    def __init__(self, serving: Serving, producer: ProducerIdentity) -> None:
        super().__init__(
            serving,
            batch_of(producer.producer_id, is_transactional=True),
            transactional_id=ID,
        )
        self._sequence = -1
        topic = AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])
        add = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=ID,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=[topic],
        )
        end = EndTxnRequest(
            transactional_id=ID,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=True,
        )
        self._add, self._end_of = (
            Sender(serving, _bytes(add, ADD_VERSION)),
            Sender(serving, _bytes(end, END_VERSION)),
        )

    async def run(self, count: int) -> None:
        for _ in range(count):
            await self._add.run(1)
            await super().run(1)
            await self._end_of.run(1)
            for _ in range(TURNS):
                await asyncio.sleep(0)


def _bytes(request: Request, version: int) -> bytes:
    return encode_request(request, version, 7, "bench-client")


async def begin(serving: Serving) -> ProducerIdentity:
    """The producer behind the transactional id."""
    await serving.topics.create_topic(TRANSACTION_STATE, 50)
    found: list[ProducerIdentity] = []
    wanted = Initialisation(ID, 60_000)
    answer = serving.services.transactions.init_producer(wanted, found.append, _refuse)
    while asyncio.iscoroutine(answer):
        answer = await answer
    return found[0]


def _refuse(error: Exception) -> None:
    raise error


def cases() -> Iterator[Case]:
    loop = Loop()
    with temporary_root() as root:
        serving = loop.run(start(root / "data"))
        producer = loop.run(begin(serving))
        sender = TransactionalSender(serving, producer)
        yield Case("whole transaction, first version", loop.case(sender.run))
        loop.run(serving.close())
    loop.close()


if __name__ == "__main__":
    main(cases)
