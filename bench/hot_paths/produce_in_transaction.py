"""Whole Produce requests of producers whose batches are numbered: what that costs.

Without a producer id; idempotent; in an open transaction, which the partition knows
and needs to ask nobody about. Numbering a batch, with its checksum, is the same in
all three.
"""

from collections.abc import Iterator
from struct import Struct

from dispatch_requests import Sender, produce_bytes, start
from logs import now_ms, temporary_root
from measuring import Case, main
from partitions import Loop
from samples import TOPIC
from serving import Serving

from odradek.broker.replica.partition.partition import Partition
from odradek.protocol.checksum import crc32c
from odradek.protocol.record_batch import CHECKED_POSITION
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.producers.append_info import AppendOrigin

T0 = TopicPartition(TOPIC, 0)
_CRC = Struct(">I")
_SEQUENCE = Struct(">i")
_CRC_POSITION, _SEQUENCE_POSITION = 17, 53


class NumberedSender(Sender):
    """Sends the same record in batches of rising sequences."""

    def __init__(
        self, serving: Serving, batch: bytearray, transactional_id: str = "bench"
    ) -> None:
        request = produce_bytes(batch, 1, transactional_id)
        super().__init__(serving, bytearray(request))
        self._start = self._request.index(batch)
        self._end = self._start + len(batch)
        self._sequence = 0

    async def run(self, count: int) -> None:
        for _ in range(count):
            self._number()
            self._send()

    def _number(self) -> None:
        self._sequence += 1
        request, start = memoryview(self._request), self._start
        _SEQUENCE.pack_into(request, start + _SEQUENCE_POSITION, self._sequence)
        crc = crc32c(request[start + CHECKED_POSITION : self._end])
        _CRC.pack_into(request, start + _CRC_POSITION, crc)


def batch_of(producer_id: int, *, is_transactional: bool) -> bytearray:
    return build_batch(
        [NewRecord(None, bytes(100), now_ms())],
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0,
        is_transactional=is_transactional,
    )


def begin(partition: Partition, batch: bytearray, producer_id: int) -> None:
    """Write the first batch of a producer, as its coordinator would have allowed."""
    guard = partition.start_verification(producer_id, 0, 0, now_ms())
    first = memoryview(bytearray(batch))
    partition.append(first, 1, AppendOrigin.CLIENT, now_ms(), guard)


def cases() -> Iterator[Case]:
    loop = Loop()
    with temporary_root() as root:
        serving = loop.run(start(root / "data"))
        for label, producer_id, is_transactional in (
            ("no producer id", -1, False),
            ("idempotent", 7, False),
            ("in a transaction", 8, True),
        ):
            batch = batch_of(producer_id, is_transactional=is_transactional)
            begin(serving.replica_manager.partition(T0), batch, producer_id)
            sender = NumberedSender(serving, batch)
            yield Case(f"whole Produce, 100 B, {label}", loop.case(sender.run))
        loop.run(serving.close())
    loop.close()


if __name__ == "__main__":
    main(cases)
