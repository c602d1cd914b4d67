"""Runs fetches: read now, wait for more in the purgatory, go to the disk threads."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from odradek.broker.runtime.memory.answer_memory import UNCOUNTED_SIZE
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.files.files import ColdRead

from .partition.fetch_reader import FetchReader, read_partition
from .reading_turn import ReadingTurn
from .waiting.delayed_fetch import DelayedFetch, Waiter, WaitingFetches

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.broker.runtime.memory.answer_memory import AnswerMemory
    from odradek.broker.runtime.parked import T
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.files.files import ColdBytes

    from .partition.fetch_reader import FetchParams, FetchResult, PartitionFetch
    from .partition.partition import Partition
    from .waiting.delayed_fetch import Finish
    from .waiting.follower_reads import DelayedFollowerFetch


# What a client does wrong in ordinary life, and puts right: no failure of a fetch.
_EXPECTED = (
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
)


class FetchExecutor:
    """Answers fetches: at once, later (parked), or from the disk (a coroutine)."""

    def __init__(
        self,
        find: Callable[[TopicPartition], Partition],
        fetches: WaitingFetches,
        disk_threads: DiskThreads,
        answers: AnswerMemory,
    ) -> None:
        self._answers = answers
        self._find = find
        self._fetches = fetches
        self._disk_threads = disk_threads
        self._cold_fetches: set[asyncio.Task[None]] = set()
        self._turn = ReadingTurn()

    def fetch(
        self, params: FetchParams, wanted: Sequence[PartitionFetch], finish: Finish[T]
    ) -> T | Parked[T] | Coroutine[Any, Any, T]:
        """The answer that ``finish`` makes of the results, or what it comes out of."""
        if self._turn.is_over:
            return self._read_in(self._turn.own(), params, wanted, finish)
        reader = FetchReader(params, wanted, self._find, self._answers.share)
        try:
            reader.read()
        except ColdRead as cold:
            return self._read_cold(reader, cold.bytes, finish)
        if reader.size > UNCOUNTED_SIZE:
            self._turn.note(reader.size)
        return self._answer_or_wait(reader, finish)

    def fetch_one(
        self,
        params: FetchParams,
        wanted: PartitionFetch,
        finish: Finish[T],
        finish_late: Finish[T] | None = None,
    ) -> T | Parked[T] | Coroutine[Any, Any, T]:
        """`fetch` of one partition; ``finish_late``: what has had to wait, by this."""
        if self._turn.is_over:
            return self.fetch(params, (wanted,), finish_late or finish)
        share, max_bytes = self._answers.share, params.max_bytes
        if share < max_bytes:
            max_bytes = share
        try:
            result = read_partition(self._find, params, wanted, max_bytes, min_one=True)
        except ColdRead:
            return self.fetch(params, (wanted,), finish_late or finish)
        size = len(result.records)
        if size > UNCOUNTED_SIZE:
            self._turn.note(size)
        if size >= params.min_bytes or params.max_wait_ms <= 0:
            self._count(wanted, result)
            return finish((result,))
        reader = FetchReader(params, (wanted,), self._find, max_bytes)
        reader.take(result)
        return self._answer_or_wait(reader, finish_late or finish)

    async def _read_in(
        self,
        turn: asyncio.Future[None],
        params: FetchParams,
        wanted: Sequence[PartitionFetch],
        finish: Finish[T],
    ) -> T:
        """`fetch` in a turn of its own."""
        await turn
        reader = FetchReader(params, wanted, self._find, self._answers.share)
        try:
            reader.read()
        except ColdRead as cold:
            return await self._read_cold(reader, cold.bytes, finish)
        answer = self._answer_or_wait(reader, finish)
        return await answer if isinstance(answer, Parked) else answer

    def _answer(self, reader: FetchReader, finish: Finish[T]) -> T:
        for wanted, result in zip(reader.wanted, reader.results, strict=True):
            self._count(wanted, result)
        return finish(reader.results)

    def _count(
        self, wanted: PartitionFetch, result: FetchResult, clients: int = 1
    ) -> None:
        """Note, for those who watch the broker, what clients get of a partition."""
        try:
            found = self._find(wanted.topic_partition)
        except KafkaError:
            return  # it is not there, or was deleted while others were read
        found.fetch_count += clients
        if result.records:
            log = found.view.log
            if log is not None:
                log.fetched_bytes += len(result.records) * clients
        elif result.error_code and result.error_code not in _EXPECTED:
            found.failed_fetch_count += clients

    def _answer_or_wait(self, reader: FetchReader, finish: Finish[T]) -> T | Parked[T]:
        if reader.params.note is not None:
            reader.params.note(reader.wanted, reader.results)
        again = reader.params.again
        gathers = again is not None and reader.may_wait and again.gathers(reader.size)
        if reader.must_answer and not gathers:
            return self._answer(reader, finish)
        fetches = self._fetches
        parked: Parked[T] = Parked()
        waiter = Waiter(parked, finish)
        if again is not None:
            from .waiting.follower_reads import DelayedFollowerFetch

            follower = DelayedFollowerFetch(reader.params, again, waiter, self._again)
            again.reads.keep_all(reader.wanted)
            fetches.keep(follower, reader.params.max_wait_ms)
            return parked
        if fetches.join(reader, waiter):
            return parked
        delayed = DelayedFetch(reader, self._find, waiter, self._again, fetches)
        max_wait_ms = reader.params.max_wait_ms
        if not reader.size:  # there is nothing to count yet
            fetches.watch(delayed, delayed.keys, max_wait_ms)
        elif fetches.try_complete_else_watch(delayed, delayed.keys, max_wait_ms):
            return parked
        fetches.let_join(delayed)
        return parked

    async def _read_cold(
        self, reader: FetchReader, cold: ColdBytes, finish: Finish[T]
    ) -> T:
        await self._read_to_the_end(reader, cold)
        answer = self._answer_or_wait(reader, finish)
        return await answer if isinstance(answer, Parked) else answer

    def _again(self, fetch: DelayedFetch | DelayedFollowerFetch) -> None:
        """Answer a fetch that has waited, with whatever is there now."""
        wanted = fetch.wanted
        reader = self._fetches.read_for(fetch.params, wanted)
        if reader is None:
            share = self._answers.share
            reader = FetchReader(fetch.params, wanted, self._find, share)
            try:
                reader.read()
            except ColdRead as cold:
                self.start(self._answer_cold(reader, cold.bytes, fetch))
                return
            self._fetches.note_read(reader)
            self._count_until_sent(reader.size)
        self._answer_all(reader, fetch.waiters)

    def _count_until_sent(self, size: int) -> None:
        """Count what was read until the next turn of the loop, when it is sent.

        The time of very many fetches may be over in one turn.
        """
        if size > UNCOUNTED_SIZE:
            change = self._answers.change
            change(size)
            asyncio.get_running_loop().call_soon(change, -size)

    def _answer_all(self, reader: FetchReader, waiters: Sequence[Waiter]) -> None:
        """Answer all who wait for what was read; those who ask alike, with one answer.

        A bug of one of them is not the others' business.
        """
        for wanted, result in zip(reader.wanted, reader.results, strict=True):
            self._count(wanted, result, len(waiters))
        finished: Finish[Any] | None = None
        answer: Any = None
        for parked, finish in waiters:
            if parked.done():
                continue
            try:
                if finish != finished:
                    answer, finished = finish(reader.results), finish
            except Exception as error:
                parked.set_exception(error)
            else:
                parked.set_result(answer)

    async def _answer_cold(
        self,
        reader: FetchReader,
        cold: ColdBytes,
        fetch: DelayedFetch | DelayedFollowerFetch,
    ) -> None:
        try:
            await self._read_to_the_end(reader, cold)
        except Exception as error:
            fetch.on_error(error)
        else:
            self._answer_all(reader, fetch.waiters)

    async def _read_to_the_end(self, reader: FetchReader, cold: ColdBytes) -> None:
        """Read what has to be waited for; what was read before counts meanwhile."""
        answers, counted = self._answers, 0
        missing: ColdBytes | None = cold
        try:
            while missing is not None:
                answers.change(reader.size - counted)
                counted = reader.size
                await self._disk_threads.run(missing.warm)
                missing = reader.read_warmed(answers.share)
        finally:
            answers.change(-counted)

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Let it go on, though nobody waits for it."""
        task = asyncio.get_running_loop().create_task(coroutine, name="cold fetch")
        self._cold_fetches.add(task)
        task.add_done_callback(self._cold_fetches.discard)
