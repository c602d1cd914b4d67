"""A share partition in memory: its changes are written, and its locks end.

What changes is written first: the records keep their state until it is durable. The end
of a lock is written without anybody waiting; if that fails the lock is over all the
same, and only a restart would not know how often the record was tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from odradek.broker.coordinator.share.state import StateUpdate
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    ErrorCode,
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRecordState,
    InvalidRequest,
    KafkaError,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)

from .share_partition import SharePartition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.coordinator.share.state import ShareKey, StoredState
    from odradek.broker.runtime.clock import Clock, TimerHandle
    from odradek.protocol.topic_partition import TopicPartition

    from .acknowledge import Acknowledged
    from .acquire import Acquired, Batch, Limits, Taking
    from .share_partition import Update

    Outcome = KafkaError | None

# After these what is in memory is not what was written: it is read again.
_OUTDATED = (
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRequest,
    UnknownTopicOrPartition,
)


_SIZE_MIN, _SIZE_MAX = 64 << 10, (1 << 31) - 1


class StateStore(Protocol):
    """Where the states are written."""

    def read(
        self, key: ShareKey, leader_epoch: int
    ) -> StoredState | KafkaError | Parked[StoredState | KafkaError]:
        """All that was written; or why it cannot be read."""

    def write(
        self, key: ShareKey, update: StateUpdate
    ) -> Outcome | Parked[KafkaError | None]:
        """None once it is durable; or why it never will be."""


class ServingHost(Protocol):
    """What a share partition asks of who has all of them."""

    clock: Clock
    states: StateStore

    def note_expired(self, count: int) -> None:
        """So many records were not acknowledged in time."""

    def limits_of(self, group_id: str) -> Limits:
        """The options of a group, as they are now."""

    def wake_soon(self, served: ServedPartition) -> None:
        """Look again at the fetches that wait for it, in a later turn of the loop."""

    def drop(self, served: ServedPartition) -> None:
        """It is of no use any more; whoever wants it has it loaded again."""


class ServedPartition:
    """One share partition, from its loading to its end."""

    def __init__(
        self, key: ShareKey, topic_partition: TopicPartition, host: ServingHost
    ) -> None:
        self.key = key
        self.topic_partition = topic_partition
        self.error: KafkaError | None = None  # why it could not be loaded
        self.is_being_read = False  # by a fetch that waits for the disk
        self._host = host
        self._state: SharePartition | None = None  # while it is loaded
        self._state_epoch = self._leader_epoch = -1
        self._timer: TimerHandle | None = None
        self._due_ms = 0
        self._record_size = 0.0
        self._is_closed = False

    # Its life

    @property
    def state(self) -> SharePartition:
        """Who has what; it must be loaded."""
        assert self._state is not None, f"{self.key} is not loaded"
        return self._state

    @property
    def is_loaded(self) -> bool:
        """Whether it is known what was written of it."""
        return self._state is not None

    @property
    def is_over(self) -> bool:
        """Whether nothing will be given of it any more."""
        return self._is_closed or self.error is not None

    @property
    def is_idle(self) -> bool:
        """Whether it is loaded, and nobody has, or waits for, anything of it."""
        return self._state is not None and self._state.is_idle

    def use(self, stored: StoredState, start: int) -> None:
        """Go on from what was written."""
        state = SharePartition(start, self._host.limits_of(self.key.group_id))
        state.load(stored.batches)
        self._state = state
        self._state_epoch = stored.state_epoch
        self._leader_epoch = stored.leader_epoch
        self._host.wake_soon(self)

    def fail(self, error: KafkaError) -> None:
        """It could not be loaded."""
        self.error = error
        self._host.wake_soon(self)
        self._host.drop(self)

    def close(self) -> None:
        """Nobody uses it any more: no lock of it ends."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Reading

    def fetch_offset(self) -> int | None:
        """From where somebody could be given something; None: not at the moment."""
        if self._state is None or self.is_being_read or self._is_closed:
            return None
        offset = self._state.next_fetch_offset
        return offset if self._state.can_give(offset) else None

    def note_size(self, size: int, record_count: int) -> None:
        """So many bytes were read, with so many records."""
        self._record_size = size / record_count

    def size_of(self, record_count: int) -> int:
        """How many bytes of the log so many records take, by what was read last.

        What is read beyond what a member is given is read again.
        """
        if not self._record_size:
            return _SIZE_MAX
        return max(_SIZE_MIN, int(record_count * self._record_size * 1.25))

    def acquire(
        self, taking: Taking, batches: Sequence[Batch], fetch_offset: int
    ) -> list[Acquired]:
        """Give a member what is free of these batches; see `SharePartition.acquire`."""
        if self._is_closed:
            return []
        state = self._with_limits()
        given = state.acquire(taking, batches, fetch_offset)
        if given:
            self._expire_at(taking.now_ms + state.limits.lock_ms)
        return given

    def _with_limits(self) -> SharePartition:
        state = self.state
        state.limits = self._host.limits_of(self.key.group_id)
        return state

    # Changes

    def acknowledge(
        self, member_id: str, said: Sequence[Acknowledged]
    ) -> Outcome | Parked[KafkaError | None]:
        """None once it is durable that a member has said this; or why it is not taken.

        What was not loaded nobody has.
        """
        if self._state is None or self._is_closed:
            return InvalidRecordState()
        now_ms = self._host.clock.monotonic_ms()
        try:
            update = self._with_limits().acknowledge(member_id, said, now_ms)
        except KafkaError as error:
            return error.as_value()
        return self._write(update)

    def release(self, member_id: str) -> None:
        """A member has gone: what it had is free."""
        if self._state is not None and not self._is_closed:
            self._write(self._with_limits().release(member_id))

    def _write(self, update: Update | None) -> Outcome | Parked[KafkaError | None]:
        if update is None:
            return None
        answer = self._host.states.write(
            self.key,
            StateUpdate(
                self._state_epoch,
                self._leader_epoch,
                update.start,
                update.batches,
                update.complete_count,
            ),
        )
        if not isinstance(answer, Parked):
            return self._settle(update, answer)
        written: Parked[KafkaError | None] = Parked()

        def settle(answered: Parked[KafkaError | None]) -> None:
            if answered.error is None:
                outcome = answered.result()
            else:  # a bug, recorded where it happened
                outcome = KafkaError(str(answered.error))
            written.set_result(self._settle(update, outcome))

        answer.listen(settle)
        return written

    def _settle(self, update: Update, outcome: Outcome) -> Outcome:
        """It was written, or not. What the client is told."""
        state = self.state
        if outcome is None:
            state.confirm(update)
        else:
            state.give_up(update, self._host.clock.monotonic_ms())
            if isinstance(outcome, _OUTDATED):
                self._host.drop(self)
            next_ms = state.next_expiry_ms()
            if next_ms is not None:
                self._expire_at(next_ms)
        self._host.wake_soon(self)
        return _as_told(outcome)

    # Locks

    def _expire_at(self, due_ms: int) -> None:
        """Look at the locks at ``due_ms``, or earlier."""
        if self._is_closed or (self._timer is not None and self._due_ms <= due_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due_ms = due_ms
        delay_ms = max(0, due_ms - self._host.clock.monotonic_ms())
        self._timer = self._host.clock.call_later(delay_ms, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._is_closed:
            return
        state = self._with_limits()
        update = state.expire(self._host.clock.monotonic_ms())
        if update is not None:
            expired = [last - first + 1 for first, last, _, _ in update.batches]
            self._host.note_expired(sum(expired))
        self._write(update)
        next_ms = state.next_expiry_ms()
        if next_ms is not None:
            self._expire_at(next_ms)


def _as_told(outcome: Outcome) -> Outcome:
    """The error of a client whose words could not be written."""
    if outcome is None:
        return None
    if outcome.code in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH):
        return NotLeaderOrFollower()
    return outcome
