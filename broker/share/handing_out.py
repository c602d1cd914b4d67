"""What was read of partitions is handed out to a member.

Records of aborted transactions are not for readers of committed ones: the member that
is given them is said to have rejected them, and never sees them.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.replica.partition.fetch_reader import FetchParams, PartitionFetch
from odradek.broker.runtime.memory.answer_memory import UNCOUNTED_SIZE
from odradek.protocol.errors import ErrorCode, KafkaError, error_class

from .acknowledge import Acknowledged
from .acquire import Taking
from .read_batches import aborted_batches, offsets_of, read_batches, slice_of, without
from .record_states import AcknowledgeType
from .share_fetch import ShareRead

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from odradek.broker.replica.partition.fetch_reader import FetchResult
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.memory.answer_memory import AnswerMemory

    from .read_batches import ReadBatch
    from .served_partition import ServedPartition
    from .share_fetch import FetchState

    Places = Sequence[tuple[ServedPartition, int]]  # and the offset to read from

_REJECT = (int(AcknowledgeType.REJECT),)


class HandingOut:
    """Reads for share fetches, and gives members what was read."""

    def __init__(
        self,
        *,
        clock: Clock,
        replica_manager: ReplicaManager,
        answers: AnswerMemory,
        bugs: Bugs,
        wake_soon: Callable[[ServedPartition], None],
        tell: Callable[[], object],
    ) -> None:
        self._clock = clock
        self._replica_manager = replica_manager
        self._answers = answers
        self._bugs = bugs
        self._wake_soon = wake_soon
        self._tell = tell
        self._cold_reads: set[asyncio.Task[None]] = set()
        self.acquired_count = 0

    def read(self, fetch: FetchState) -> None:
        """Answer ``fetch`` with whatever its member can be given now."""
        for served in fetch.served:
            if served.error is not None:
                fetch.results[served.key] = ShareRead(served.error)
        places = [
            (served, offset)
            for served in fetch.served
            if served.error is None and (offset := served.fetch_offset()) is not None
        ]
        if fetch.is_over or not places:
            fetch.finish()
            return
        terms = fetch.terms
        # Each has its share of the size, so that none keeps the others from theirs.
        size_max = max(1, terms.max_bytes // len(places))
        params = FetchParams(terms.isolation, 0, 0, terms.max_bytes)
        wanted = [
            PartitionFetch(
                each.topic_partition,
                offset,
                min(size_max, each.size_of(terms.records_max)),
            )
            for each, offset in places
        ]
        answer: Any = self._replica_manager.fetch_records(
            params, wanted, partial(self._hand_out, fetch, places)
        )
        if asyncio.iscoroutine(answer):
            self._read_cold(places, fetch, answer)

    async def close(self) -> None:
        """Read nothing any more."""
        for task in self._cold_reads:
            task.cancel()
        await asyncio.gather(*self._cold_reads, return_exceptions=True)

    def _read_cold(
        self, places: Places, fetch: FetchState, reading: Coroutine[Any, Any, None]
    ) -> None:
        """Wait for the disk; nobody else reads these meanwhile."""
        for served, _ in places:
            served.is_being_read = True

        async def read() -> None:
            try:
                await reading
            except Exception as error:
                self._bugs.record("a share fetch", error)
                fetch.fail(error)
            finally:
                for served, _ in places:
                    served.is_being_read = False
                    self._wake_soon(served)

        task = asyncio.get_running_loop().create_task(read(), name="cold share fetch")
        self._cold_reads.add(task)
        task.add_done_callback(self._cold_reads.discard)

    def _hand_out(
        self, fetch: FetchState, places: Places, results: Sequence[FetchResult]
    ) -> None:
        if fetch.is_over:
            fetch.finish()
            return
        left, size = fetch.terms.records_max, 0
        for (served, offset), result in zip(places, results, strict=True):
            got = ShareRead()
            if result.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self._move_start(served)
            elif result.error_code:
                got = ShareRead(error_class(result.error_code)())
            elif result.records and left > 0:
                got = self._give(fetch, served, offset, result, left)
            left -= sum(each.size for each in got.acquired)
            size += len(got.records)
            fetch.results[served.key] = got
        self.acquired_count += fetch.terms.records_max - left
        self._tell()
        if size > UNCOUNTED_SIZE:  # until the next turn of the loop, when it is sent
            self._answers.change(size)
            asyncio.get_running_loop().call_soon(self._answers.change, -size)
        fetch.finish()

    def _move_start(self, served: ServedPartition) -> None:
        """The log begins behind where the group is: the member asks again."""
        try:
            partition = self._replica_manager.partition(served.topic_partition)
        except KafkaError:
            return  # deleted; who asks again is told
        served.state.move_start(partition.view.log_start_offset)

    def _give(
        self,
        fetch: FetchState,
        served: ServedPartition,
        offset: int,
        result: FetchResult,
        left: int,
    ) -> ShareRead:
        terms, records = fetch.terms, result.records
        batches = read_batches(records)
        if batches:
            end = batches[-1]
            served.note_size(end.position + end.size, end.last - batches[0].first + 1)
        taking = Taking(
            terms.member_id,
            left,
            self._clock.monotonic_ms(),
            terms.is_exact,
            terms.batch_size,
        )
        given = served.acquire(taking, offsets_of(batches), offset)
        if given and result.aborted:
            given = self._reject_aborted(served, taking, batches, result, given)
        if not given:
            return ShareRead()
        return ShareRead(None, slice_of(records, batches, given), given)

    def _reject_aborted(
        self,
        served: ServedPartition,
        taking: Taking,
        batches: Sequence[ReadBatch],
        result: FetchResult,
        given: Sequence[Any],
    ) -> list[Any]:
        aborted = aborted_batches(batches, result.aborted or (), result.records)
        kept, taken = without(given, aborted)
        if taken:
            said = [Acknowledged(first, last, _REJECT) for first, last in taken]
            # Not here: who is woken by an append must not append.
            asyncio.get_running_loop().call_soon(
                served.acknowledge, taking.member_id, said
            )
        return kept
