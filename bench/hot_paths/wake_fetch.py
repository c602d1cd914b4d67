"""A consumer that waits: its fetch parked in the purgatory, woken by an append."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from logs import temporary_root
from measuring import Case, main
from partitions import Host, Loop, append
from samples import KIB, small_batch

from odradek.broker.replica.partition.fetch_reader import FetchParams, PartitionFetch
from odradek.broker.replica.partition.partition import Partition
from odradek.storage.values.log_read import FetchIsolation

if TYPE_CHECKING:
    from asyncio import Future

PARAMS = FetchParams(FetchIsolation.HIGH_WATERMARK, 500, 1, 50 * KIB * KIB)


def cases() -> Iterator[Case]:
    loop = Loop()
    with temporary_root() as root:
        host = Host(root, "none")
        partition = host.new_partition()
        batch = small_batch()

        async def append_only(count: int) -> None:
            for _ in range(count):
                append(partition, batch)

        async def wake(count: int, watchers: int = 1) -> None:
            for _ in range(count):
                answers = [park(host, partition) for _ in range(watchers)]
                append(partition, batch)
                assert all(answer.done() for answer in answers)

        async def wake_ten(count: int) -> None:
            await wake(count, 10)

        yield Case("append, nobody waits", loop.case(append_only))
        yield Case("park a fetch, append, answer it", loop.case(wake))
        yield Case("park ten fetches, append, answer", loop.case(wake_ten))
        host.close()
    loop.close()


def park(host: Host, partition: Partition) -> "Future[Any]":
    wanted = PartitionFetch(
        partition.topic_partition, partition.view.log_end_offset, KIB
    )
    return host.executor.fetch(PARAMS, [wanted], lambda results: results)


if __name__ == "__main__":
    main(cases)
