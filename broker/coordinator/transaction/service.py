"""The transaction coordinator as handlers know it: one method for each question.

A method returns the response, or a `Parked` one. What it refuses is the response
that ``refuse`` makes of the error. A producer that is back before its last
transaction has ended everywhere waits for that, a moment, instead of being told to
try again: mostly it is a matter of one sync.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

from odradek.broker.coordinator.runtime import CoordinatorRuntime
from odradek.broker.metadata.auto_create import make_topic
from odradek.broker.metadata.topic_names import TRANSACTION_STATE
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaError,
)
from odradek.protocol.topic_partition import TopicPartition

from .add_partitions import Addition, decide_add_partitions, decide_verify
from .administration import TransactionFilter, decide_describe, decide_list
from .end import Ending, decide_end, resume
from .expiry import decide_expiry, decide_timeouts
from .init_producer import Initialisation, decide_init_producer
from .marker_writer import LogMarkerWriter
from .orphans import Orphans
from .shard import TransactionShard

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.coordinator.decision import Decision, ProducerIdentity
    from odradek.broker.coordinator.group.service import GroupCoordinator
    from odradek.broker.coordinator.other_brokers import OtherBrokers
    from odradek.broker.coordinator.shard import Shard
    from odradek.broker.metadata.producer_ids import ProducerIds
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.broker.runtime.parked import T
    from odradek.storage.directory.log_manager import LogManager

    from .records import TransactionRecord
    from .transaction import Transaction

    Decide = Callable[[TransactionShard], Decision]
    Refuse = Callable[[KafkaError], T]

E = TypeVar("E", bound=KafkaError)

# Until a client is told to try again, which it does in 20 to 100 ms.
PATIENCE_MS = 100

_logger = logging.getLogger(__name__)


class NoProducerId(CoordinatorLoadInProgress):
    """There is no producer id at hand."""


class ReadyProducerIds:
    """Producer ids without waiting; see `ProducerIdSource`."""

    def __init__(self, producer_ids: ProducerIds) -> None:
        self._producer_ids = producer_ids
        self._filling: asyncio.Task[None] | None = None

    def take(self) -> int:
        """A producer id that nobody had before.

        Raises:
            NoProducerId: none is at hand; a block is on its way.
        """
        producer_id = self._producer_ids.next_or_none()
        if producer_id is None:
            if self._filling is None or self._filling.done():
                self._filling = asyncio.get_running_loop().create_task(
                    self._fill(), name="producer ids"
                )
            raise NoProducerId
        return producer_id

    async def close(self) -> None:
        """Wait for no block any more."""
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.gather(self._filling, return_exceptions=True)

    async def _fill(self) -> None:
        try:
            await self._producer_ids.fill()
        except KafkaError as error:
            _logger.warning("there are no new producer ids: %s", error)


class TransactionCoordinator:
    """The transactional ids of this broker, and what they have open."""

    def __init__(  # noqa: PLR0913 - the broker's parts, by their names
        self,
        *,
        config: BrokerConfig,
        clock: Clock,
        topics: Topics,
        producer_ids: ProducerIds,
        replica_manager: ReplicaManager,
        log_manager: LogManager,
        groups: GroupCoordinator,
        disk_threads: DiskThreads,
        bugs: Bugs,
    ) -> None:
        self._config = config
        self._clock = clock
        self._topics = topics
        self._producer_ids = producer_ids
        self._ready_ids = ReadyProducerIds(producer_ids)
        self.other_brokers: OtherBrokers | None = None  # this one leads everything
        # Told of each transactional id that has changed; mostly nobody.
        self.watchers: list[Callable[[TransactionRecord], object]] = []
        self.runtime: CoordinatorRuntime[TransactionShard] = CoordinatorRuntime(
            TRANSACTION_STATE,
            self._make_shard,
            topics=topics,
            replica_manager=replica_manager,
            disk_threads=disk_threads,
            clock=clock,
            bugs=bugs,
            load_buffer_size=config.transaction_state_log_load_buffer_size,
        )
        self.markers = LogMarkerWriter(
            replica_manager,
            groups,
            topics,
            clock,
            self.runtime.run_soon,
        )
        self.orphans = Orphans(self.runtime, replica_manager, log_manager, self.markers)

    def _make_shard(self, shard: Shard[TransactionShard]) -> TransactionShard:
        made = TransactionShard(
            shard,
            self._config,
            self._clock,
            self._ready_ids,
            self.markers,
        )
        made.when_loaded.append(resume)
        made.watchers = self.watchers
        return made

    def use_brokers(self, others: OtherBrokers) -> None:
        """Be one of several: transactions are spread over all of them."""
        self.other_brokers = self.markers.other_brokers = others

    def load_all(self) -> None:
        """Begin to load what earlier brokers have left. For after the start."""
        self.runtime.load_all()

    async def close(self) -> None:
        """Answer everybody who waits; decide and write nothing any more."""
        self.markers.close()
        await self.runtime.close()
        await self._ready_ids.close()

    @property
    def has_topic(self) -> bool:
        """Whether ``__transaction_state`` is there."""
        return self._topics.get(TRANSACTION_STATE) is not None

    def partition_of(self, transactional_id: str) -> TopicPartition:
        """The partition of ``__transaction_state`` with the records of an id.

        Raises:
            NotCoordinator: the topic is not made yet.
        """
        number = self.runtime.partition_of(transactional_id)
        return TopicPartition(TRANSACTION_STATE, number)

    async def create_topic(self) -> None:
        """Make ``__transaction_state``, unless somebody else is faster.

        Raises:
            KafkaError: it cannot be made.
        """
        await make_topic(self._topics, TRANSACTION_STATE, self._config)

    # Producers

    def init_producer(
        self,
        wanted: Initialisation,
        answer: Callable[[ProducerIdentity], T],
        refuse: Refuse[T],
    ) -> T | Parked[T] | Coroutine[Any, Any, T | Parked[T]]:
        """The answer of an InitProducerId; a coroutine when it waits for new ids."""
        is_asked = True

        def refuse_or_wait(error: KafkaError) -> T | NoProducerId:
            return _kept(error, refuse, NoProducerId) if is_asked else refuse(error)

        answered = self._act(
            wanted.transactional_id,
            lambda shard: decide_init_producer(shard, wanted, answer, refuse),
            refuse_or_wait,
        )
        is_asked = False  # what is parked is refused as everything is
        if isinstance(answered, NoProducerId):
            return self._init_with_new_block(wanted, answer, refuse)
        return cast("T | Parked[T]", answered)

    async def _init_with_new_block(
        self,
        wanted: Initialisation,
        answer: Callable[[ProducerIdentity], T],
        refuse: Refuse[T],
    ) -> T | Parked[T]:
        await self._producer_ids.fill()
        answered = self.init_producer(wanted, answer, refuse)
        return await answered if isinstance(answered, Parked | Coroutine) else answered

    def add_partitions(
        self,
        addition: Addition,
        response: T,
        refuse: Refuse[T],
        *,
        is_patient: bool = True,
    ) -> T | Parked[T]:
        """``response``, when the partitions take part for good.

        Without patience what is being ended is refused at once.
        """
        return self._act(
            addition.transactional_id,
            lambda shard: decide_add_partitions(shard, addition, response),
            refuse,
            is_patient=is_patient,
        )

    def verify(
        self,
        addition: Addition,
        answer: Callable[[dict[TopicPartition, int]], T],
        refuse: Refuse[T],
        *,
        is_patient: bool = True,
    ) -> T | Parked[T]:
        """What ``answer`` makes of an error code for each partition."""
        return self._act(
            addition.transactional_id,
            lambda shard: decide_verify(shard, addition, answer),
            refuse,
            is_patient=is_patient,
        )

    def admit(
        self, addition: Addition
    ) -> dict[TopicPartition, int] | Parked[dict[TopicPartition, int]]:
        """Whether records may be written: an error code for each partition.

        The coordinator is asked, at whichever broker it is. In the second protocol the
        partitions are added, in the first one they must take part already.
        """

        def refuse(error: KafkaError) -> dict[TopicPartition, int]:
            return dict.fromkeys(addition.partitions, error.code)

        others = self.other_brokers
        if others is not None and self.has_topic:
            place = self.partition_of(addition.transactional_id)
            leader = others.leader_of(place)
            if leader is None:
                return refuse(CoordinatorNotAvailable())
            if leader != others.node_id:
                return others.admit(leader, addition)
        if addition.adds:
            admitted = dict.fromkeys(addition.partitions, 0)
            return self.add_partitions(addition, admitted, refuse)
        return self.verify(addition, lambda found: found, refuse)

    def end(
        self,
        ending: Ending,
        answer: Callable[[ProducerIdentity], T],
        refuse: Refuse[T],
    ) -> T | Parked[T]:
        """The answer of an EndTxn: it is decided, whatever happens."""
        return self._act(
            ending.transactional_id,
            lambda shard: decide_end(shard, ending, answer),
            refuse,
        )

    def _act(
        self,
        transactional_id: str,
        decide: Decide,
        refuse: Refuse[T],
        *,
        is_patient: bool = True,
    ) -> T | Parked[T]:
        """What the shard decides; if it is ending a transaction, what it does then."""
        if not is_patient:
            return self.runtime.act(transactional_id, decide, refuse)
        answer = self.runtime.act(
            transactional_id,
            decide,
            lambda error: _kept(error, refuse, ConcurrentTransactions),
        )
        if not isinstance(answer, ConcurrentTransactions):
            # What is parked is refused for what the log says, and never for that.
            return cast("T | Parked[T]", answer)
        parked: Parked[T] = Parked()
        shard = self.runtime.shard(self.runtime.partition_of(transactional_id))

        def ask_again() -> None:
            parked.follow(self.runtime.act(transactional_id, decide, refuse))

        shard.state.await_end(transactional_id, PATIENCE_MS, ask_again)
        return parked

    # Administration

    def describe(
        self,
        transactional_id: str,
        answer: Callable[[Transaction], T],
        refuse: Refuse[T],
    ) -> T | Parked[T]:
        """What ``answer`` makes of a transactional id."""
        return self.runtime.act(
            transactional_id,
            lambda shard: decide_describe(shard, transactional_id, answer),
            refuse,
        )

    def list_transactions(
        self, wanted: TransactionFilter, finish: Callable[[list[Any]], T]
    ) -> T | Parked[T]:
        """What ``finish`` makes of the transactions, or errors, of all shards."""
        return self.runtime.ask_all(lambda shard: decide_list(shard, wanted), finish)

    # From time to time

    def abort_timed_out(self) -> None:
        """Abort the transactions that take too long. A periodic job."""
        self.runtime.schedule(decide_timeouts)

    def expire_ids(self) -> None:
        """Forget the transactional ids that nobody uses. A periodic job."""
        self.runtime.schedule(decide_expiry)

    def forget_topic(self, name: str) -> None:
        """A topic was deleted: if it is the coordinator's own, so is all it knew."""
        if name == TRANSACTION_STATE:
            self.runtime.unload()


def _kept(error: KafkaError, refuse: Refuse[T], kept: type[E]) -> T | E:
    if isinstance(error, kept):
        return error.as_value()
    return refuse(error)
