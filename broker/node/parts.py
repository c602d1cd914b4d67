"""The parts of one broker, each made of those that it needs.

Parts that the first answer does not need are made, and their modules loaded, when they
are first asked for: by a request, or by `late_modules` soon after the start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from odradek.broker.metadata.client_quotas import ClientQuotas
from odradek.broker.metadata.features import Features
from odradek.broker.metadata.producer_ids import ProducerIds
from odradek.broker.metadata.resource_options import ResourceKind
from odradek.broker.metadata.topic_names import SHARE_GROUP_STATE
from odradek.broker.metadata.topics import Topics
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.memory.limits import LimitedLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.cluster.view import ClusterView
    from odradek.broker.config.live_config import LiveConfig
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.coordinator.group.service import GroupCoordinator
    from odradek.broker.coordinator.other_brokers import OtherBrokers
    from odradek.broker.coordinator.runtime import CoordinatorRuntime
    from odradek.broker.coordinator.share.anywhere import ShareStates
    from odradek.broker.coordinator.share.service import ShareCoordinator
    from odradek.broker.coordinator.shortage import Shortage
    from odradek.broker.coordinator.transaction.service import TransactionCoordinator
    from odradek.broker.durability.committer import Committer
    from odradek.broker.metadata.access.authorizer import Authorizer
    from odradek.broker.metadata.catalog.catalog import Catalog
    from odradek.broker.metadata.client_telemetry import ClientTelemetry
    from odradek.broker.metadata.delegation_tokens import DelegationTokens
    from odradek.broker.metadata.mirrored_topics import MirroredTopics
    from odradek.broker.metadata.resource_options import Resource, ResourceOptions
    from odradek.broker.metadata.scram_credentials import ScramCredentials
    from odradek.broker.mirror.mirrors import Mirrors
    from odradek.broker.replica.fetch_sessions import FetchSessions
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.broker.runtime.memory.answer_memory import AnswerMemory
    from odradek.broker.runtime.scheduler import Scheduler
    from odradek.broker.security.certificates.renewal import Renewal
    from odradek.broker.security.login.logins import Logins
    from odradek.broker.share.sharing import Sharing
    from odradek.broker.upkeep.compaction.cleaning import Cleaning
    from odradek.broker.upkeep.moving import Moving
    from odradek.storage.directory.log_manager import LogManager

    from .joining import Joining


@dataclass(kw_only=True, repr=False, eq=False)
class Parts:
    """What handlers know as `Services`."""

    config: BrokerConfig  # as it is now: a change puts another one here
    clock: Clock
    log_manager: LogManager
    disk_threads: DiskThreads
    committer: Committer
    metadata: Topics
    resources: ResourceOptions
    live: LiveConfig
    scheduler: Scheduler
    cluster_id: str
    node_id: int
    bugs: Bugs = field(default_factory=Bugs)
    authorizer: Authorizer | None = None
    tokens: DelegationTokens | None = None
    cluster: ClusterView | None = None
    other_brokers: OtherBrokers | None = None  # this one leads everything
    quotas: ClientQuotas = field(init=False)
    features: Features = field(init=False)
    producer_ids: ProducerIds = field(init=False)
    client_log: LimitedLog = field(init=False)
    logins: list[Logins] = field(default_factory=list)  # of listeners that have them
    certificates: Renewal | None = None  # of listeners with TLS

    def __post_init__(self) -> None:
        self.quotas = ClientQuotas(self.resources)
        self.features = Features(self.resources, self.config.transaction_version)
        self.producer_ids = ProducerIds(self.metadata)
        self.client_log = LimitedLog(self.clock)
        self.live.watch(self._take_config)
        self.resources.watch(self._take_change)
        if self.resources.has_any(ResourceKind.MIRRORED_TOPIC):
            _ = self.mirrored  # from the first log on that is opened

    def _take_config(self, config: BrokerConfig) -> None:
        self.config = config

    def _take_change(self, resource: Resource) -> None:
        if resource.kind is ResourceKind.BROKER:
            self.live.change(*self.resources.of_brokers(self.node_id))

    @property
    def wants_client_metrics(self) -> bool:
        """Whether somebody subscribes to the metrics of clients."""
        is_any = self.resources.has_any(ResourceKind.CLIENT_METRICS)
        return is_any and self.telemetry.is_wanted

    # What is made when it is first asked for

    @cached_property
    def replica_manager(self) -> ReplicaManager:
        """The partitions, and what is done with their records."""
        from odradek.broker.replica.replica_manager import ReplicaManager

        return ReplicaManager(
            config=self.config,
            clock=self.clock,
            topics=self.metadata,
            log_manager=self.log_manager,
            disk_threads=self.disk_threads,
            committer=self.committer,
            answers=self.answer_memory,
        )

    @cached_property
    def answer_memory(self) -> AnswerMemory:
        """What all answers may take together."""
        from odradek.broker.runtime.memory.answer_memory import AnswerMemory

        config = self.config
        return AnswerMemory(
            config.queued_max_response_bytes, config.connection_unread_max_bytes
        )

    @cached_property
    def fetch_sessions(self) -> FetchSessions:
        """The fetch sessions of all connections."""
        from odradek.broker.replica.fetch_sessions import FetchSessions

        return FetchSessions(self.config.max_incremental_fetch_session_cache_slots)

    @cached_property
    def groups(self) -> GroupCoordinator:
        """Groups and committed offsets."""
        from odradek.broker.coordinator.group.service import GroupCoordinator

        groups = GroupCoordinator(
            config=self.config,
            clock=self.clock,
            topics=self.metadata,
            resources=self.resources,
            replica_manager=self.replica_manager,
            disk_threads=self.disk_threads,
            bugs=self.bugs,
            share_states=lambda: self.share_states_anywhere,
        )
        self.live.watch(groups.take_config)
        return groups

    @cached_property
    def transactions(self) -> TransactionCoordinator:
        """Transactional ids and their transactions."""
        from odradek.broker.coordinator.transaction.service import (
            TransactionCoordinator,
        )

        return TransactionCoordinator(
            config=self.config,
            clock=self.clock,
            topics=self.metadata,
            producer_ids=self.producer_ids,
            replica_manager=self.replica_manager,
            log_manager=self.log_manager,
            groups=self.groups,
            disk_threads=self.disk_threads,
            bugs=self.bugs,
        )

    @cached_property
    def share_states(self) -> ShareCoordinator:
        """What share groups have done with partitions."""
        from odradek.broker.coordinator.share.service import ShareCoordinator

        share_states = ShareCoordinator(
            config=self.config,
            clock=self.clock,
            topics=self.metadata,
            replica_manager=self.replica_manager,
            disk_threads=self.disk_threads,
            bugs=self.bugs,
        )
        share_states.load_all()
        return share_states

    @property
    def share_states_in_use(self) -> ShareCoordinator | None:
        """The same. None: no share group has done anything, and it is not loaded."""
        if "share_states" in vars(self) or self.metadata.get(SHARE_GROUP_STATE):
            return self.share_states
        return None

    @property
    def share_states_anywhere(self) -> ShareStates:
        """The same; in a cluster also what other brokers keep."""
        if self.other_brokers is None:
            return self.share_states
        return self._spread_share_states

    @cached_property
    def _spread_share_states(self) -> ShareStates:
        from odradek.broker.coordinator.share.anywhere import ShareStatesAnywhere

        assert self.other_brokers is not None
        return ShareStatesAnywhere(self.share_states, self.other_brokers, self.clock)

    @cached_property
    def sharing(self) -> Sharing:
        """What share groups are handed of records."""
        from odradek.broker.share.sharing import Sharing

        return Sharing(
            live=self.live,
            clock=self.clock,
            topics=self.metadata,
            resources=self.resources,
            replica_manager=self.replica_manager,
            states=self.share_states_anywhere,
            disk_threads=self.disk_threads,
            answers=self.answer_memory,
            bugs=self.bugs,
        )

    @property
    def sharing_in_use(self) -> Sharing | None:
        """The same. None: no share group reads anything, and it is not loaded."""
        return self.sharing if "sharing" in vars(self) else None

    @cached_property
    def cleaning(self) -> Cleaning:
        """What compacts logs."""
        from odradek.broker.node.jobs import make_cleaning

        return make_cleaning(self, self.log_manager.files)

    @cached_property
    def shortage(self) -> Shortage:
        """What there is no room for."""
        from odradek.broker.coordinator.shortage import Shortage

        return Shortage(
            config=self.config,
            topics=self.metadata,
            replica_manager=self.replica_manager,
            files=self.log_manager.files,
            disk_threads=self.disk_threads,
            coordinators=self._coordinators,
        )

    def _coordinators(self) -> Iterator[CoordinatorRuntime[Any]]:
        yield self.groups.runtime
        yield self.transactions.runtime
        share_states = self.share_states_in_use
        if share_states is not None:
            yield share_states.runtime

    @cached_property
    def moving(self) -> Moving:
        """Moves between log directories."""
        from odradek.broker.upkeep.moving import Moving

        return Moving(
            live=self.live,
            clock=self.clock,
            topics=self.metadata,
            replica_manager=self.replica_manager,
            log_manager=self.log_manager,
            committer=self.committer,
            cleaning=self.cleaning,
            disk_threads=self.disk_threads,
            bugs=self.bugs,
        )

    @cached_property
    def mirrored(self) -> MirroredTopics:
        """Which topics are copies of another cluster's, or were."""
        from odradek.broker.metadata.mirrored_topics import MirroredTopics

        return MirroredTopics(self.resources, self.metadata)

    @cached_property
    def mirrors(self) -> Mirrors:
        """The mirrors of other clusters."""
        from odradek.broker.mirror.mirrors import Mirrors

        return Mirrors(
            topics=self.metadata,
            resources=self.resources,
            mirrored=self.mirrored,
            replica_manager=self.replica_manager,
            log_manager=self.log_manager,
            committer=self.committer,
            groups=self.groups,
            transactions=self.transactions,
            producer_ids=self.producer_ids,
            live=self.live,
            clock=self.clock,
            bugs=self.bugs,
        )

    @property
    def mirrors_in_use(self) -> Mirrors | None:
        """The same. None: there are none, and they are not loaded."""
        if "mirrors" in vars(self) or self.resources.has_any(ResourceKind.MIRROR):
            return self.mirrors
        return None

    @cached_property
    def credentials(self) -> ScramCredentials:
        """The users' credentials for SCRAM."""
        from odradek.broker.metadata.scram_credentials import ScramCredentials

        return ScramCredentials(self.resources)

    @cached_property
    def telemetry(self) -> ClientTelemetry:
        """The metrics that clients push."""
        from odradek.broker.metadata.client_telemetry import ClientTelemetry

        return ClientTelemetry(
            self.resources, self.clock, self.config.telemetry_max_bytes
        )


def topics_of(config: BrokerConfig, catalog: Catalog) -> Topics:
    """The topics: our own, or those of a cluster."""
    if not config.is_member:
        return Topics(catalog)
    from odradek.broker.cluster.images.member_topics import MemberTopics

    return MemberTopics(catalog, config)


async def before_first_join(config: BrokerConfig) -> None:
    """See that this broker fits the cluster it is to join, before anything is written.

    Raises:
        StartError: it does not.
    """
    if config.is_member:
        from .first_join import see_that_it_fits

        await see_that_it_fits(config)


def joining_of(config: BrokerConfig, services: Parts) -> Joining | None:
    """What joins a cluster; None: there is none to join.

    Raises:
        StartError: others cannot reach this broker.
    """
    if not config.is_member:
        return None
    from .joining import Joining

    return Joining(config, services)
