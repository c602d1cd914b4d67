"""What handlers work with: the parts of the running broker, in one value."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .client_telemetry import ClientTelemetry
from .coordinator.group.service import GroupCoordinator
from .coordinator.transaction.service import TransactionCoordinator
from .metadata.client_quotas import ClientQuotas
from .metadata.features import Features
from .metadata.resource_options import ResourceKind
from .metadata.scram_credentials import ScramCredentials
from .producer_ids import ProducerIds
from .replica.fetch_sessions import FetchSessions
from .replica.moving import Moving

if TYPE_CHECKING:
    from collections.abc import Callable

    from storage.log_manager import LogManager

    from .clock import Clock
    from .committer import Committer
    from .config.broker_config import BrokerConfig
    from .config.live_config import LiveConfig
    from .disk_threads import DiskThreads
    from .metadata.resource_options import Resource, ResourceOptions
    from .metadata.topics import Topics
    from .replica.replica_manager import ReplicaManager
    from .scheduler import Scheduler

_logger = logging.getLogger(__name__)


class Bugs:
    """Exceptions that nobody expected: logged, counted, and told to a hook.

    Tests set the hook to fail; the broker itself goes on.
    """

    def __init__(self, hook: Callable[[BaseException], None] | None = None) -> None:
        self.count = 0
        self.hook = hook

    def record(self, where: str, error: BaseException) -> None:
        """Log ``error`` with its traceback and count it."""
        self.count += 1
        _logger.error("unexpected error in %s", where, exc_info=error)
        if self.hook is not None:
            self.hook(error)


@dataclass(slots=True, kw_only=True)
class Services:
    """The parts of one broker, as handlers see them through ``ctx.services``."""

    config: BrokerConfig  # as it is now: a change puts another one here
    clock: Clock
    log_manager: LogManager
    disk_threads: DiskThreads
    committer: Committer
    replica_manager: ReplicaManager
    metadata: Topics
    resources: ResourceOptions
    live: LiveConfig
    scheduler: Scheduler
    cluster_id: str
    node_id: int
    bugs: Bugs = field(default_factory=Bugs)
    quotas: ClientQuotas = field(init=False)
    credentials: ScramCredentials = field(init=False)
    features: Features = field(init=False)
    telemetry: ClientTelemetry = field(init=False)
    producer_ids: ProducerIds = field(init=False)
    fetch_sessions: FetchSessions = field(init=False)
    groups: GroupCoordinator = field(init=False)
    transactions: TransactionCoordinator = field(init=False)
    moving: Moving = field(init=False)

    def __post_init__(self) -> None:
        self.quotas = ClientQuotas(self.resources)
        self.credentials = ScramCredentials(self.resources)
        self.features = Features(self.resources, self.config.transaction_version)
        self.telemetry = ClientTelemetry(
            self.resources, self.clock, self.config.telemetry_max_bytes
        )
        self.producer_ids = ProducerIds(self.metadata)
        self.fetch_sessions = FetchSessions(
            self.config.max_incremental_fetch_session_cache_slots
        )
        self.live.watch(self._take_config)
        self.resources.watch(self._take_change)
        self.groups = GroupCoordinator(self)
        self.transactions = TransactionCoordinator(self)
        self.moving = Moving(self)

    def _take_config(self, config: BrokerConfig) -> None:
        self.config = config

    def _take_change(self, resource: Resource) -> None:
        if resource.kind is ResourceKind.BROKER:
            self.live.change(*self.resources.of_brokers(self.node_id))
