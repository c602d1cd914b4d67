"""What handlers work with: the parts of the running broker, in one value.

Parts that the first answer does not need are made, and their modules loaded, when they
are first asked for: by a request, or by `late_modules` soon after the start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from .bugs import Bugs
from .metadata.client_quotas import ClientQuotas
from .metadata.features import Features
from .metadata.resource_options import ResourceKind
from .producer_ids import ProducerIds

if TYPE_CHECKING:
    from storage.log_manager import LogManager

    from .answer_memory import AnswerMemory
    from .client_telemetry import ClientTelemetry
    from .clock import Clock
    from .committer import Committer
    from .config.broker_config import BrokerConfig
    from .config.live_config import LiveConfig
    from .coordinator.group.service import GroupCoordinator
    from .coordinator.transaction.service import TransactionCoordinator
    from .disk_threads import DiskThreads
    from .metadata.resource_options import Resource, ResourceOptions
    from .metadata.scram_credentials import ScramCredentials
    from .metadata.topics import Topics
    from .replica.cleaning import Cleaning
    from .replica.fetch_sessions import FetchSessions
    from .replica.moving import Moving
    from .replica.replica_manager import ReplicaManager
    from .scheduler import Scheduler
    from .shortage import Shortage

@dataclass(kw_only=True)
class Services:
    """The parts of one broker, as handlers see them through ``ctx.services``."""

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
    quotas: ClientQuotas = field(init=False)
    features: Features = field(init=False)
    producer_ids: ProducerIds = field(init=False)

    def __post_init__(self) -> None:
        self.quotas = ClientQuotas(self.resources)
        self.features = Features(self.resources, self.config.transaction_version)
        self.producer_ids = ProducerIds(self.metadata)
        self.live.watch(self._take_config)
        self.resources.watch(self._take_change)

    def _take_config(self, config: BrokerConfig) -> None:
        self.config = config

    def _take_change(self, resource: Resource) -> None:
        if resource.kind is ResourceKind.BROKER:
            self.live.change(*self.resources.of_brokers(self.node_id))

    @property
    def wants_client_metrics(self) -> bool:
        """Whether somebody subscribes to the metrics of clients."""
        is_any = any(self.resources.all_of(ResourceKind.CLIENT_METRICS))
        return is_any and self.telemetry.is_wanted

    # What is made when it is first asked for

    @cached_property
    def replica_manager(self) -> ReplicaManager:
        """The partitions, and what is done with their records."""
        from .replica.replica_manager import ReplicaManager

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
        from .answer_memory import AnswerMemory

        config = self.config
        return AnswerMemory(
            config.queued_max_response_bytes, config.connection_unread_max_bytes
        )

    @cached_property
    def fetch_sessions(self) -> FetchSessions:
        """The fetch sessions of all connections."""
        from .replica.fetch_sessions import FetchSessions

        return FetchSessions(self.config.max_incremental_fetch_session_cache_slots)

    @cached_property
    def groups(self) -> GroupCoordinator:
        """Groups and committed offsets."""
        from .coordinator.group.service import GroupCoordinator

        return GroupCoordinator(self)

    @cached_property
    def transactions(self) -> TransactionCoordinator:
        """Transactional ids and their transactions."""
        from .coordinator.transaction.service import TransactionCoordinator

        return TransactionCoordinator(self)

    @cached_property
    def cleaning(self) -> Cleaning:
        """What compacts logs."""
        from .jobs import make_cleaning

        return make_cleaning(self, self.log_manager.files)

    @cached_property
    def shortage(self) -> Shortage:
        """What there is no room for."""
        from .shortage import Shortage

        return Shortage(self)

    @cached_property
    def moving(self) -> Moving:
        """Moves between log directories."""
        from .replica.moving import Moving

        return Moving(self)

    @cached_property
    def credentials(self) -> ScramCredentials:
        """The users' credentials for SCRAM."""
        from .metadata.scram_credentials import ScramCredentials

        return ScramCredentials(self.resources)

    @cached_property
    def telemetry(self) -> ClientTelemetry:
        """The metrics that clients push."""
        from .client_telemetry import ClientTelemetry

        return ClientTelemetry(
            self.resources, self.clock, self.config.telemetry_max_bytes
        )
