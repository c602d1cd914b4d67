"""The group coordinator as handlers know it: one method for each question.

A method returns the response, or a `Parked` one. What it refuses is the response
that ``refuse`` makes of the error.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.runtime import CoordinatorRuntime
from odradek.broker.metadata.auto_create import make_topic
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.broker.metadata.topic_names import CONSUMER_OFFSETS
from odradek.protocol.errors import InvalidGroupId, KafkaError
from odradek.protocol.topic_partition import TopicPartition

from .administration import (
    GroupFilter,
    decide_delete,
    decide_delete_offsets,
    decide_describe,
    decide_list,
)
from .classic.rebalance import dismiss, resume
from .kinds import (
    decide_any_heartbeat,
    decide_any_join,
    decide_any_leave,
    decide_any_sync,
)
from .offsets.commit import Committer, WantedOffset, decide_commit
from .offsets.expiry import decide_expiry, decide_forget_topic
from .offsets.fetch import FetchedOffset, Fetcher, decide_fetch
from .offsets.txn_commit import decide_txn_commit
from .state.shard import GroupShard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.coordinator.decision import Decision, ProducerIdentity
    from odradek.broker.coordinator.shard import Shard
    from odradek.broker.coordinator.share.anywhere import ShareStates
    from odradek.broker.metadata.resource_options import ResourceOptions
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.broker.runtime.parked import Parked, T
    from odradek.protocol.messages.groups import (
        HeartbeatRequest,
        MemberIdentity,
        SyncGroupRequest,
    )
    from odradek.storage.producers.verification_state import VerificationGuard

    from .classic.join import Joining
    from .consumer.heartbeat import Beat
    from .share.service import ShareGroupCoordinator
    from .state.shard import Group
    from .streams.service import StreamsGroupCoordinator

    Refuse = Callable[[KafkaError], T]


class GroupCoordinator:
    """Groups and committed offsets of this broker."""

    def __init__(  # noqa: PLR0913 - the broker's parts, by their names
        self,
        *,
        config: BrokerConfig,
        clock: Clock,
        topics: Topics,
        resources: ResourceOptions,
        replica_manager: ReplicaManager,
        disk_threads: DiskThreads,
        bugs: Bugs,
        share_states: Callable[[], ShareStates],
    ) -> None:
        """``share_states`` is asked for what keeps where share groups are."""
        self._config = config
        self._share_states = share_states
        self._resources = resources
        self._clock = clock
        self._topics = topics
        self.runtime: CoordinatorRuntime[GroupShard] = CoordinatorRuntime(
            CONSUMER_OFFSETS,
            self._make_shard,
            topics=topics,
            replica_manager=replica_manager,
            disk_threads=disk_threads,
            clock=clock,
            bugs=bugs,
            load_buffer_size=config.offsets_load_buffer_size,
        )
        # Told of each group that has entered another state; mostly nobody.
        self.watchers: list[Callable[[Group], object]] = []

    def _make_shard(self, shard: Shard[GroupShard]) -> GroupShard:
        made = GroupShard(
            shard, self._config, self._clock, self._topics, self._options_of
        )
        made.when_loaded += [resume, _resume_assigned]
        made.when_unloaded += [dismiss, _dismiss_sharers]
        made.watchers = self.watchers
        made.share_states = self._share_states
        return made

    def _options_of(self, group_id: str) -> Mapping[str, str]:
        return self._resources.of(Resource(ResourceKind.GROUP, group_id))

    def take_config(self, config: BrokerConfig) -> None:
        """Go by these options from now on."""
        self._config = config
        for shard in self.runtime.shards():
            shard.state.config = config

    def load_all(self) -> None:
        """Begin to load what earlier brokers have left. For after the start."""
        self.runtime.load_all()

    async def close(self) -> None:
        """Answer everybody who waits; decide nothing any more."""
        await self.runtime.close()
        if "streams" in vars(self):
            await self.streams.close()

    @property
    def is_loaded(self) -> bool:
        """Whether all groups are known."""
        return self.runtime.is_loaded

    @property
    def has_topic(self) -> bool:
        """Whether ``__consumer_offsets`` is there."""
        return self._topics.get(CONSUMER_OFFSETS) is not None

    def partition_of(self, group_id: str) -> TopicPartition:
        """The partition of ``__consumer_offsets`` with the records of a group.

        Raises:
            NotCoordinator: the topic is not made yet.
        """
        return TopicPartition(CONSUMER_OFFSETS, self.runtime.partition_of(group_id))

    def settled(self, group_id: str) -> GroupShard | None:
        """The shard of a group, if nobody has to wait for what it tells."""
        return self.runtime.settled(group_id)

    async def create_topic(self) -> None:
        """Make ``__consumer_offsets``, unless somebody else is faster.

        Raises:
            KafkaError: it cannot be made.
        """
        await make_topic(self._topics, CONSUMER_OFFSETS, self._config)

    @cached_property
    def shares(self) -> ShareGroupCoordinator:
        """What is asked of share groups (KIP-932)."""
        from .share.service import ShareGroupCoordinator

        return ShareGroupCoordinator(self.runtime)

    @cached_property
    def streams(self) -> StreamsGroupCoordinator:
        """What is asked of streams groups (KIP-1071)."""
        from .streams.internal_topics import InternalTopics
        from .streams.service import StreamsGroupCoordinator

        made = InternalTopics(self._topics, self._clock, lambda: self._config)
        return StreamsGroupCoordinator(self.runtime, made)

    # Membership

    def join(self, joining: Joining, refuse: Refuse[T]) -> T | Parked[T]:
        """The answer of a JoinGroup, parked until the rebalance is over."""
        return self._act(
            joining.group_id, lambda shard: decide_any_join(shard, joining), refuse
        )

    def sync(self, request: SyncGroupRequest, refuse: Refuse[T]) -> T | Parked[T]:
        """The answer of a SyncGroup, parked until the leader has spoken."""
        return self._act(
            request.group_id, lambda shard: decide_any_sync(shard, request), refuse
        )

    def heartbeat(self, request: HeartbeatRequest, refuse: Refuse[T]) -> T | Parked[T]:
        """The answer of a Heartbeat."""
        return self._act(
            request.group_id,
            lambda shard: decide_any_heartbeat(shard, request),
            refuse,
        )

    def leave(
        self, group_id: str, members: Sequence[MemberIdentity], refuse: Refuse[T]
    ) -> T | Parked[T]:
        """The answer of a LeaveGroup."""
        return self._act(
            group_id, lambda shard: decide_any_leave(shard, group_id, members), refuse
        )

    def beat(self, beat: Beat, refuse: Refuse[T]) -> T | Parked[T]:
        """The answer of a ConsumerGroupHeartbeat."""
        from .consumer.heartbeat import decide_beat

        return self._act(
            beat.request.group_id, lambda shard: decide_beat(shard, beat), refuse
        )

    # Offsets

    def commit(
        self,
        committer: Committer,
        wanted: Sequence[WantedOffset],
        api_version: int,
        retention_ms: int,
        answer: Callable[[list[int]], T],
        refuse: Refuse[T],
    ) -> T | Parked[T]:
        """The answer of an OffsetCommit, when it is durable."""
        return self.runtime.act(
            committer.group_id,
            lambda shard: decide_commit(
                shard, committer, wanted, api_version, retention_ms, answer
            ),
            refuse,
        )

    def fetch(
        self,
        fetcher: Fetcher,
        wanted: Iterable[tuple[str, int]] | None,
        require_stable: bool,
        answer: Callable[[list[FetchedOffset]], T],
        refuse: Refuse[T],
    ) -> T | Parked[T]:
        """The answer of an OffsetFetch for one group."""
        return self.runtime.act(
            fetcher.group_id,
            lambda shard: decide_fetch(shard, fetcher, wanted, require_stable, answer),
            refuse,
        )

    def start_verification(
        self, group_id: str, producer: ProducerIdentity, epoch_bump: bool
    ) -> VerificationGuard | None:
        """The guard for `commit_in_transaction`; None when none is needed.

        Then the group's partition takes part in the transaction already, else the
        transaction's coordinator is to be asked. ``epoch_bump``: the client's
        transactions each have their own epoch.

        Raises:
            InvalidGroupId, NotCoordinator, CoordinatorLoadInProgress,
            CoordinatorNotAvailable, InvalidProducerEpoch.
        """
        if not group_id:
            raise InvalidGroupId
        shard = self.runtime.shard(self.runtime.partition_of(group_id))
        return shard.start_verification(producer, epoch_bump)

    def commit_in_transaction(
        self,
        committer: Committer,
        producer: ProducerIdentity,
        guard: VerificationGuard | None,
        wanted: Sequence[WantedOffset],
        answer: Callable[[list[int]], T],
        refuse: Refuse[T],
    ) -> T | Parked[T]:
        """The answer of a TxnOffsetCommit, when it is durable."""
        return self.runtime.act(
            committer.group_id,
            lambda shard: decide_txn_commit(
                shard, committer, producer, guard, wanted, answer
            ),
            refuse,
        )

    def end_transaction(
        self,
        topic_partition: TopicPartition,
        producer: ProducerIdentity,
        is_commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
    ) -> int | Parked[int]:
        """Write the marker of a transaction, which moves or drops what is pending.

        The code of the error, 0 when it is durable; see `Shard.end_transaction`.
        """
        return self.runtime.end_transaction(
            topic_partition,
            producer,
            is_commit,
            coordinator_epoch,
            transaction_version,
        )

    # Administration

    def describe(
        self, group_id: str, api_version: int, refuse: Refuse[T]
    ) -> T | Parked[T]:
        """What a group does."""
        return self.runtime.act(
            group_id,
            lambda shard: decide_describe(shard, group_id, api_version),
            refuse,
        )

    def describe_consumer_group(
        self, group_id: str, refuse: Refuse[T]
    ) -> T | Parked[T]:
        """What a consumer group (KIP-848) does."""
        from .consumer.describe import decide_describe_consumer_group

        return self.runtime.act(
            group_id,
            lambda shard: decide_describe_consumer_group(shard, group_id),
            refuse,
        )

    def list_groups(
        self, wanted: GroupFilter, finish: Callable[[list[Any]], T]
    ) -> T | Parked[T]:
        """What ``finish`` makes of the groups, or errors, of all shards."""
        return self.runtime.ask_all(lambda shard: decide_list(shard, wanted), finish)

    def delete(self, group_id: str, refuse: Refuse[T]) -> T | Parked[T]:
        """0 when the group is gone, for good."""
        return self.runtime.act(
            group_id, lambda shard: decide_delete(shard, group_id), refuse
        )

    def delete_offsets(
        self,
        group_id: str,
        wanted: Sequence[tuple[str, int]],
        answer: Callable[[list[int]], T],
        refuse: Refuse[T],
    ) -> T | Parked[T]:
        """The answer of an OffsetDelete."""
        return self._act(
            group_id,
            lambda shard: decide_delete_offsets(shard, group_id, wanted, answer),
            refuse,
        )

    # From time to time

    def expire_offsets(self) -> None:
        """Drop the offsets that nobody needs any more. A periodic job."""
        self.runtime.schedule(decide_expiry)

    def forget_topic(self, name: str, topic_id: bytes | None = None) -> bool:
        """Drop the offsets of a topic that was deleted. Whether there was room for it.

        By its name alone as long as no other topic can have it, else by its id.
        """
        if name == CONSUMER_OFFSETS:
            if topic_id is None:
                self.runtime.unload()
            return True
        return self.runtime.schedule(
            lambda shard: decide_forget_topic(shard, name, topic_id)
        )

    def _act(
        self, group_id: str, decide: Callable[[GroupShard], Decision], refuse: Refuse[T]
    ) -> T | Parked[T]:
        if not group_id:
            return refuse(InvalidGroupId())
        return self.runtime.act(group_id, decide, refuse)


def _resume_assigned(shard: GroupShard) -> None:
    """The groups that the broker assigns go on; their modules are loaded for that."""
    for groups, of in (
        (shard.consumer_groups, "consumer"),
        (shard.share_groups, "share"),
        (shard.streams_groups, "streams"),
    ):
        if groups:
            import_module(f".{of}.sessions", __package__).resume(shard)


def _dismiss_sharers(shard: GroupShard, error: KafkaError) -> None:
    if shard.beginnings:
        from .share.beginning import dismiss

        dismiss(shard, error)
