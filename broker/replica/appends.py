"""Appends to partitions: what each became, and which answers have to wait.

The change is made before anything here returns; what waits is only the answer, in the
purgatory, for the high watermark or for a sync: with others as an `AwaitedAppend`, or,
with several batches, as a `DelayedProduce`.

All of it is in the path of every small produce, where a call costs 0.3 µs: hence the
questions that are nearly always answered No stand before the calls, not inside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from odradek.broker.durability.committer import COMMIT
from odradek.broker.runtime.memory.limits import LimitedLog
from odradek.broker.runtime.parked import Parked
from odradek.protocol.compression import DecompressedTooLarge
from odradek.protocol.errors import ErrorCode, InvalidTopic, KafkaError
from odradek.storage.files.files import DiskFull, StorageFailure
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.validation.validator import NotOneBatch, RatioTooHigh

from .partition.partition import ACKS_ALL, Partition
from .partition.refusals import Refusals
from .partition.view import Until
from .waiting.awaited_appends import AwaitedFrame, AwaitingAppends
from .waiting.delayed_produce import AppendResult, DelayedProduce, PendingAppend
from .waiting.patience import append_timeout_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.parked import T
    from odradek.protocol.schema import Response
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.files.files import Buffer
    from odradek.storage.producers.append_info import AppendInfo
    from odradek.storage.producers.marker import BuiltMarker
    from odradek.storage.producers.verification_state import VerificationGuard

    from .logs.checkpointer import Checkpointer
    from .logs.free_space import FreeSpace
    from .waiting.purgatory import Purgatory

    # The whole frame of the answer, a response, or what waits to be one of these.
    OneAnswer = bytes | Response | Parked[bytes | Response]

AppendResults = dict["TopicPartition", AppendResult]

_ACKS = (0, 1, ACKS_ALL)
_REPLICATED = Until.REPLICATED
_CLIENT, _COORDINATOR = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR
# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__
# Kafka tells the log start only where the batch itself was at fault (and was one).
_WITHOUT_LOG_START = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class OneAppend(Protocol):
    """What a request says of its one batch, and what makes the answer to it.

    ``acks`` are 1 or all; ``is_admin``: the broker's own topics may be written.
    """

    key: TopicPartition
    acks: int
    timeout_ms: int
    is_admin: bool

    def respond(self, result: AppendResult) -> Response | bytes:
        """The response, when something went wrong."""

    def frame(
        self, correlation_id: int, base_offset: int, time_ms: int, log_start: int
    ) -> bytes:
        """The whole answer, when nothing went wrong."""


class AppendTerms(NamedTuple):
    """On what terms batches are written, apart from how durable they must be.

    Where a batch begins a transaction of its partition, it needs the guard that
    `Partition.start_verification` gave before the transaction's coordinator was asked.
    ``transaction_version`` is that of end markers.
    """

    origin: AppendOrigin = AppendOrigin.CLIENT
    internal_topics_allowed: bool = False
    guards: Mapping[TopicPartition, VerificationGuard] | None = None
    transaction_version: int = 0


OF_A_CLIENT = AppendTerms()
OF_A_COORDINATOR = AppendTerms(AppendOrigin.COORDINATOR)


class Appends:
    """Writes batches into ``partitions``, which makes those that are not there yet."""

    def __init__(
        self,
        partitions: Mapping[TopicPartition, Partition],
        waiting: Purgatory[TopicPartition],
        config: BrokerConfig,
        clock: Clock,
        free_space: FreeSpace,
        checkpointer: Checkpointer,
    ) -> None:
        self.free_space = free_space
        self.limits = LimitedLog(clock)
        self.refusals = Refusals()
        self.no_room_count = 0  # appends that were refused for want of room
        self._partitions = partitions
        self._waiting = waiting
        self.awaiting = AwaitingAppends(waiting, clock)
        self._config = config
        self._clock = clock
        self._checkpointer = checkpointer
        self._is_durable_first = config.durability == COMMIT
        self._sampled_ms = 0

    def append(
        self,
        entries: Mapping[TopicPartition, Buffer],
        acks: int,
        timeout_ms: int,
        finish: Callable[[AppendResults], T],
        terms: AppendTerms = OF_A_CLIENT,
    ) -> T | Parked[T]:
        """What `ReplicaManager.append_records` says."""
        if acks not in _ACKS:
            refused = AppendResult(ErrorCode.INVALID_REQUIRED_ACKS)
            return finish(dict.fromkeys(entries, refused))
        now_ms = self._now_ms()
        results: AppendResults = {}
        pending: dict[TopicPartition, PendingAppend] = {}
        origin, internal_topics_allowed, guards, transaction_version = terms
        is_client = origin is AppendOrigin.CLIENT
        for key, batch in entries.items():
            found = None
            guard = guards.get(key) if guards else None
            try:
                found = self._partitions[key]
                if is_client and (found.is_internal or self.free_space.low_directories):
                    self._check_client(found, internal_topics_allowed)
                info = found.append(
                    batch, acks, origin, now_ms, guard, transaction_version
                )
            except KafkaError as error:
                results[key] = self.refused(key, found, error, batch)
                continue
            results[key], waits = self._note(found, info, acks, now_ms)
            if waits is not None:
                pending[key] = waits
        if pending:
            return self._answer_later(results, pending, timeout_ms, finish)
        return finish(results)

    def append_one(
        self,
        ask: OneAppend,
        batch: memoryview,
        correlation_id: int,
        guard: VerificationGuard | None = None,
    ) -> OneAnswer | None:
        """`append` of one batch of a client, with its guard if it begins a transaction.

        The whole frame of the answer, a response, a `Parked` one; None: not led here.
        """
        now_ms = self._clock.now_ms()
        if now_ms != self._sampled_ms:
            self._sample(now_ms)
        found = None
        try:
            found = self._partitions[ask.key]
            if found.is_internal or self.free_space.low_directories:
                self._check_client(found, ask.is_admin)
            placed = found.append_usual(batch, now_ms, guard)
            if placed is None:
                if not found.leadership.replicas.is_leader:
                    return None
                return self._append_one_unusual(
                    ask, found, batch, now_ms, correlation_id, guard
                )
        except KafkaError as error:
            return ask.respond(self.refused(ask.key, found, error, batch))
        found.append_count += 1
        base_offset, next_offset, log_start = placed
        self._checkpointer.note_append(len(batch))
        must_sync = found.has_flush_options and found.must_sync_now(now_ms)
        until = _REPLICATED if self._is_durable_first and ask.acks == ACKS_ALL else None
        if must_sync or found.replication is not None:
            until = _until(found, next_offset, ask.acks, must_sync)
        frame = ask.frame(correlation_id, base_offset, -1, log_start)
        if until is None:
            return frame
        fields = (0, base_offset, -1, log_start, next_offset, None, None)
        answer = AwaitedFrame(frame, _new(AppendResult, fields), ask.respond)
        self.awaiting.add(found, answer, until, ask.timeout_ms, now_ms)
        return answer

    def _append_one_unusual(
        self,
        ask: OneAppend,
        found: Partition,
        batch: memoryview,
        now_ms: int,
        correlation_id: int,
        guard: VerificationGuard | None,
    ) -> OneAnswer:
        info = found.append(batch, ask.acks, _CLIENT, now_ms, guard)
        result, waits = self._note(found, info, ask.acks, now_ms)
        if waits is not None:
            frame = ask.frame(correlation_id, *result[1:4])
            answer = AwaitedFrame(frame, result, ask.respond)
            if info.is_duplicate:
                self.awaiting.add_alone(found, answer, waits[2], ask.timeout_ms)
            else:
                self.awaiting.add(found, answer, waits[2], ask.timeout_ms, now_ms)
            return answer
        if result.error_code:
            return ask.respond(result)
        return ask.frame(correlation_id, *result[1:4])

    def append_as_coordinator(
        self,
        found: Partition,
        batch: Buffer | tuple[Buffer, ...],
        now_ms: int,
        guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> tuple[AppendResult, PendingAppend | None]:
        """Append a batch of a coordinator, or several: all of them or none.

        What became of it and, where it is not durable yet but has to be, what whoever
        answers must wait for, with ``awaiting``.
        """
        if now_ms != self._sampled_ms:
            self._sample(now_ms)
        try:
            info = found.append(
                batch, ACKS_ALL, _COORDINATOR, now_ms, guard, transaction_version
            )
        except KafkaError as error:
            return self.refused(found.topic_partition, found, error, batch), None
        return self._note(found, info, ACKS_ALL, now_ms)

    def append_usual_of_coordinator(
        self,
        found: Partition,
        batch: memoryview,
        now_ms: int,
        marker: BuiltMarker | None = None,
    ) -> tuple[AppendResult, PendingAppend | None] | None:
        """`append_as_coordinator` of one batch that has nothing special about it.

        ``marker``: of a transaction's end. None, and nothing was done, where it has.
        """
        if now_ms != self._sampled_ms:
            self._sample(now_ms)
        placed = found.append_usual(batch, now_ms, None, marker)
        if placed is None:
            return None
        found.append_count += 1
        base_offset, next_offset, log_start = placed
        self._checkpointer.note_append(len(batch))
        fields = (0, base_offset, -1, log_start, next_offset, None, None)
        result = _new(AppendResult, fields)
        must_sync = found.has_flush_options and found.must_sync_now(now_ms)
        until = _REPLICATED if self._is_durable_first else None
        if must_sync or found.replication is not None:
            until = _until(found, next_offset, ACKS_ALL, must_sync)
        waits = None if until is None else (found, next_offset, until)
        return result, waits and _new(PendingAppend, waits)

    def _now_ms(self) -> int:
        now_ms = self._clock.now_ms()
        if now_ms != self._sampled_ms:
            self._sample(now_ms)
        return now_ms

    def _sample(self, now_ms: int) -> None:
        self._sampled_ms = now_ms
        self.free_space.sample_if_due(now_ms)

    def _note(
        self, found: Partition, info: AppendInfo, acks: int, now_ms: int
    ) -> tuple[AppendResult, PendingAppend | None]:
        """What became of an append, and what its answer waits for, if it has to."""
        found.append_count += 1
        base_offset, last_offset, _, time_ms, log_start, size = info[:6]
        self._checkpointer.note_append(size)
        next_offset = last_offset + 1
        error_code: int | None = 0
        waits = None
        must_sync = found.has_flush_options and found.must_sync_now(now_ms)
        # Unless it is bound to what is durable, the high watermark has risen.
        until = _REPLICATED if self._is_durable_first and acks == ACKS_ALL else None
        if must_sync or found.replication is not None:
            until = _until(found, next_offset, acks, must_sync)
        if until is not None:
            error_code = None
            if info.is_duplicate:  # else it cannot be acknowledged yet
                error_code = found.view.acknowledgement(next_offset, until)
            if error_code is None:
                waits = _new(PendingAppend, (found, next_offset, until))
        fields = (error_code or 0, base_offset, time_ms, log_start, next_offset)
        return _new(AppendResult, (*fields, None, None)), waits

    def refused(
        self,
        key: TopicPartition,
        found: Partition | None,
        error: KafkaError,
        batch: Buffer | tuple[Buffer, ...],
    ) -> AppendResult:
        """What became of a batch that was not written; it is counted."""
        size = sum(map(len, batch)) if isinstance(batch, tuple) else len(batch)
        if found is not None:
            self.refusals.note(found, size, error)
        if isinstance(error, DecompressedTooLarge):
            limit = "ratio.max" if isinstance(error, RatioTooHigh) else "max.bytes"
            line = f"a batch for {key} refused: {error}"
            self.limits.warn(line, f"request.decompressed.{limit}")
        elif isinstance(error, DiskFull):
            self.no_room_count += 1
        return refusal(found, error)

    def _check_client(self, found: Partition, internal_topics_allowed: bool) -> None:
        if found.is_internal and not internal_topics_allowed:
            raise InvalidTopic("the broker's own topics take no records from clients")
        self.check_room(found)

    def check_room(self, found: Partition) -> None:
        """See that there is room for more in the partition's log directory.

        Raises:
            DiskFull: it is kept free for the broker itself.
        """
        committer = found.committer
        directory = committer.directory if committer else self._config.log_dirs[0]
        if directory in self.free_space.low_directories:
            raise DiskFull("less than log.min.free.bytes are left in the log directory")

    def _answer_later(
        self,
        results: AppendResults,
        pending: dict[TopicPartition, PendingAppend],
        timeout_ms: int,
        finish: Callable[[AppendResults], T],
    ) -> Parked[T]:
        parked: Parked[T] = Parked()
        delayed = DelayedProduce(results, pending, parked, finish)
        # Where one of them has other replicas the client's patience is for all.
        timeout_ms = min(
            append_timeout_ms(each.partition, timeout_ms) for each in pending.values()
        )
        self._waiting.watch(delayed, pending, timeout_ms)
        return parked


def _until(
    found: Partition, next_offset: int, acks: int, must_sync: bool
) -> Until | None:
    """What an answer waits for that others count for, or a sync; None: for nothing."""
    if acks != ACKS_ALL or found.replication is None:
        return Until.SYNCED if must_sync and acks else None
    until = Until.BOTH if must_sync else _REPLICATED
    is_alone = found.view.acknowledgement(next_offset, until) == ErrorCode.NONE
    return None if is_alone else until


def refusal(found: Partition | None, error: KafkaError) -> AppendResult:
    """What became of a batch for ``found`` that failed with ``error``."""
    if isinstance(error, StorageFailure) and found is not None and found.committer:
        found.committer.fail(error)  # the device is broken, for all its partitions
    log_start_offset = -1
    is_before_log, text = isinstance(error, NotOneBatch), str(error)
    if not (found is None or is_before_log or error.code in _WITHOUT_LOG_START):
        log_start_offset = found.view.log_start_offset
    return AppendResult(
        error.code,
        log_start_offset=log_start_offset,
        record_errors=getattr(error, "record_errors", None),
        # What it says beyond the code; clients have the code's own text.
        message=None if text == type(error).default_message() else text,
    )
