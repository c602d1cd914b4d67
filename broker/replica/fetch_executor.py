"""Runs fetches: read now, wait for more in the purgatory, go to the disk threads."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from protocol.errors import KafkaError
from storage.files import ColdRead

from ..parked import Parked
from .delayed_fetch import DelayedFetch, WaitingFetches
from .fetch_reader import FetchReader, read_partition

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from protocol.topic_partition import TopicPartition

    from ..disk_threads import DiskThreads
    from .fetch_reader import FetchParams, FetchResult, PartitionFetch
    from .partition import Partition

    Finish = Callable[[list[FetchResult]], Any]


class FetchExecutor:
    """Answers fetches: at once, later (parked), or from the disk (a coroutine)."""

    def __init__(
        self,
        find: Callable[[TopicPartition], Partition],
        fetches: WaitingFetches,
        disk_threads: DiskThreads,
    ) -> None:
        self._find = find
        self._fetches = fetches
        self._disk_threads = disk_threads
        self._cold_fetches: set[asyncio.Task[None]] = set()

    def fetch(
        self, params: FetchParams, wanted: Sequence[PartitionFetch], finish: Finish
    ) -> Any:
        """The answer that ``finish`` makes of the results, or what it comes out of."""
        reader = FetchReader(params, wanted, self._find)
        try:
            reader.read()
        except ColdRead as cold:
            return self._read_cold(reader, cold, finish)
        return self._answer_or_wait(reader, finish)

    def fetch_one(
        self,
        params: FetchParams,
        wanted: PartitionFetch,
        finish: Callable[[FetchResult], Any],
    ) -> Any:
        """`fetch` of one partition; ``finish`` gets its result."""
        try:
            result = read_partition(
                self._find, params, wanted, params.max_bytes, min_one=True
            )
        except ColdRead:
            return self.fetch(params, (wanted,), lambda results: finish(results[0]))
        if len(result.records) >= params.min_bytes or params.max_wait_ms <= 0:
            self._count(wanted, result)
            return finish(result)
        reader = FetchReader(params, (wanted,), self._find)
        reader.take(result)
        return self._answer_or_wait(reader, lambda results: finish(results[0]))

    def _answer(self, reader: FetchReader, finish: Finish) -> Any:
        for wanted, result in zip(reader.wanted, reader.results, strict=True):
            self._count(wanted, result)
        return finish(reader.results)

    def _count(self, wanted: PartitionFetch, result: FetchResult) -> None:
        """Note, for those who watch the broker, what a client gets of a partition."""
        if result.records:
            try:
                log = self._find(wanted.topic_partition).log
            except KafkaError:
                return  # deleted, while others were read
            if log is not None:
                log.fetched_bytes += len(result.records)

    def _answer_or_wait(self, reader: FetchReader, finish: Finish) -> Any:
        if reader.must_answer:
            return self._answer(reader, finish)
        parked = Parked()
        answer = partial(self._again, finish)
        delayed = DelayedFetch(reader, self._find, parked, answer, self._fetches)
        max_wait_ms = reader.params.max_wait_ms
        if reader.size:
            self._fetches.try_complete_else_watch(delayed, delayed.keys, max_wait_ms)
        else:  # there is nothing to count yet
            self._fetches.watch(delayed, delayed.keys, max_wait_ms)
        return parked

    async def _read_cold(
        self, reader: FetchReader, cold: ColdRead, finish: Finish
    ) -> Any:
        await self._read_to_the_end(reader, cold)
        answer = self._answer_or_wait(reader, finish)
        return await answer if isinstance(answer, Parked) else answer

    def _again(self, finish: Finish, fetch: DelayedFetch) -> None:
        """Answer a fetch that has waited, with whatever is there now."""
        reader = self._fetches.read_for(fetch)
        if reader is None:
            reader = FetchReader(fetch.params, fetch.wanted, self._find)
            try:
                reader.read()
            except ColdRead as cold:
                self._start(self._answer_cold(reader, cold, finish, fetch.parked))
                return
            self._fetches.note_read(reader)
        if not fetch.parked.done():
            fetch.parked.set_result(self._answer(reader, finish))

    async def _answer_cold(
        self,
        reader: FetchReader,
        cold: ColdRead,
        finish: Finish,
        parked: Parked,
    ) -> None:
        try:
            await self._read_to_the_end(reader, cold)
            answer = self._answer(reader, finish)
        except Exception as error:
            if not parked.done():
                parked.set_exception(error)
            return
        if not parked.done():
            parked.set_result(answer)

    async def _read_to_the_end(self, reader: FetchReader, cold: ColdRead) -> None:
        while True:
            await self._disk_threads.run(cold.warm)
            try:
                return reader.read(may_block=True)
            except ColdRead as next_cold:
                cold = next_cold

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine, name="cold fetch")
        self._cold_fetches.add(task)
        task.add_done_callback(self._cold_fetches.discard)
