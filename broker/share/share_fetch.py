"""A share fetch: it waits until a member can be given something, or its time is over.

Who waits looks again when records come into a partition that it reads, and when a share
partition was loaded, or has something back that members had.

Invariants: what is read of a share partition is handed out before anybody else reads
it. Nobody is given anything once its session is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.replica.waiting.purgatory import OPERATION, DelayedOperation
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import KafkaError
from odradek.storage.files.files import ColdRead

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from odradek.broker.coordinator.share.state import ShareKey
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.storage.files.files import Buffer
    from odradek.storage.values.log_read import FetchIsolation

    from .acquire import Acquired
    from .served_partition import ServedPartition


@dataclass(frozen=True, slots=True)
class FetchTerms:
    """What a member asks for. Sizes are those of the records."""

    member_id: str
    isolation: FetchIsolation
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    records_max: int
    batch_size: int
    is_exact: bool = False


class ShareRead(NamedTuple):
    """What a member gets of one share partition, or why it gets nothing."""

    error: KafkaError | None = None
    records: Buffer = b""
    acquired: Sequence[Acquired] = ()


class FetchState:
    """One share fetch: of which partitions, and what it has got of each.

    ``is_over``: nobody wants it any more, and nothing is given to it. Once it is
    answered it holds no records: it may stay in lists of the purgatory for long.
    """

    __slots__ = (
        "_is_answered",
        "answer",
        "is_over",
        "results",
        "served",
        "terms",
        "when_answered",
    )

    def __init__(self, terms: FetchTerms, served: Sequence[ServedPartition]) -> None:
        self.terms = terms
        self.served = served
        self.answer: Parked[dict[ShareKey, ShareRead]] = Parked()
        self.results: dict[ShareKey, ShareRead] = {}
        self.is_over = self._is_answered = False
        self.when_answered: Callable[[], object] = _nothing

    def finish(self) -> None:
        """Answer with what there is."""
        results = self.results
        answer = self._let_go()
        if answer is not None:
            answer.set_result(results)

    def fail(self, error: Exception) -> None:
        """There is no answer, but a bug."""
        answer = self._let_go()
        if answer is not None:
            answer.set_exception(error)

    def _let_go(self) -> Parked[dict[ShareKey, ShareRead]] | None:
        """The answer, which is to be given now; None: it was."""
        if self._is_answered:
            return None
        self._is_answered = True
        self.when_answered()
        answer, self.answer = self.answer, Parked()
        self.results, self.served = {}, ()
        return answer


def _nothing() -> None:
    """Nobody has to know."""


class DelayedShareFetch(DelayedOperation["Hashable"]):
    """Reads, by ``read(fetch)``, when there is something to be given."""

    __slots__ = (*OPERATION, "_read", "_replica_manager", "fetch")

    def __init__(
        self,
        fetch: FetchState,
        replica_manager: ReplicaManager,
        read: Callable[[FetchState], None],
    ) -> None:
        super().__init__()
        self.fetch = fetch
        self._replica_manager = replica_manager
        self._read = read

    @property
    def keys(self) -> list[Hashable]:
        """The share partitions and the partitions whose changes matter."""
        keys: list[Hashable] = [each.key for each in self.fetch.served]
        keys += [each.topic_partition for each in self.fetch.served]
        return keys

    def try_complete(self) -> bool:
        """Whether there is enough to be given, or something to be told."""
        size, can_give = 0, False
        for served in self.fetch.served:
            if served.is_over:
                return self.force_complete()
            offset = served.fetch_offset()
            if offset is None:
                continue
            can_give = True
            try:
                size += self._size_from(served, offset)
            except KafkaError:
                return self.force_complete()  # the answer will say what it is
        is_enough = can_give and size >= self.fetch.terms.min_bytes
        return is_enough and self.force_complete()

    def _size_from(self, served: ServedPartition, offset: int) -> int:
        """How many bytes there are to read; enough, where that cannot be said.

        Raises:
            KafkaError: it cannot be read.
        """
        terms = self.fetch.terms
        partition = self._replica_manager.partition(served.topic_partition)
        partition.leadership.check()
        if partition.topic_id != served.key.topic_id:
            raise KafkaError  # another one has its name by now
        view = partition.view
        if offset < view.log_start_offset:
            raise KafkaError  # the answer moves the start
        end = view.end_offset(terms.isolation)
        if end.offset <= offset:
            return 0
        if terms.min_bytes <= 1:
            return 1
        try:
            start = view.read(offset, 0, terms.isolation, False).offset_metadata
        except ColdRead:
            return terms.min_bytes
        if start.segment_base_offset != end.segment_base_offset:
            return terms.min_bytes
        return min(end.position - start.position, terms.max_bytes)

    def on_complete(self) -> None:
        """Read whatever is there now, and answer."""
        self._read(self.fetch)

    def on_error(self, error: Exception) -> None:
        """Who asked is told; it is a bug, and recorded there."""
        self.fetch.fail(error)
