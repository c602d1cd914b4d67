"""What handlers work with: the parts of the running broker, in one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.cluster.view import ClusterView
    from odradek.broker.config.live_config import LiveConfig
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.coordinator.group.service import GroupCoordinator
    from odradek.broker.coordinator.other_brokers import OtherBrokers
    from odradek.broker.coordinator.share.anywhere import ShareStates
    from odradek.broker.coordinator.share.service import ShareCoordinator
    from odradek.broker.coordinator.shortage import Shortage
    from odradek.broker.coordinator.transaction.service import TransactionCoordinator
    from odradek.broker.durability.committer import Committer
    from odradek.broker.metadata.access.authorizer import Authorizer
    from odradek.broker.metadata.client_quotas import ClientQuotas
    from odradek.broker.metadata.client_telemetry import ClientTelemetry
    from odradek.broker.metadata.delegation_tokens import DelegationTokens
    from odradek.broker.metadata.features import Features
    from odradek.broker.metadata.producer_ids import ProducerIds
    from odradek.broker.metadata.resource_options import ResourceOptions
    from odradek.broker.metadata.scram_credentials import ScramCredentials
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.mirror.mirrors import Mirrors
    from odradek.broker.replica.fetch_sessions import FetchSessions
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.broker.runtime.memory.answer_memory import AnswerMemory
    from odradek.broker.runtime.memory.limits import LimitedLog
    from odradek.broker.runtime.scheduler import Scheduler
    from odradek.broker.share.sharing import Sharing
    from odradek.broker.upkeep.compaction.cleaning import Cleaning
    from odradek.broker.upkeep.moving import Moving
    from odradek.storage.directory.log_manager import LogManager


class Certificates(Protocol):
    """The certificates of all listeners, for who changes their options."""

    @property
    def identities(self) -> Sequence[Any]:
        """Each with what is to be told of it."""

    async def check(self, config: BrokerConfig) -> None:
        """See that every listener could go on with these options.

        Raises:
            StartError: one could not; the message says why.
        """

    async def renew(self) -> Sequence[Any]:
        """Read everything again; what came of each listener."""

    async def look(self) -> object:
        """Have the next handshakes be made by the options and files as they are now."""


class Services(Protocol):
    """The parts of one broker, as handlers see them through ``ctx.services``.

    The node makes them; who is no handler is given the parts that it needs. Those
    that are properties may be made, and their modules loaded, when they are first
    asked for.
    """

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
    bugs: Bugs
    quotas: ClientQuotas
    features: Features
    producer_ids: ProducerIds
    client_log: LimitedLog  # who asks for what is not there
    authorizer: Authorizer | None  # without one everybody may do everything
    tokens: DelegationTokens | None  # None: they are switched off
    cluster: ClusterView | None  # None: this broker is all of its cluster

    @property
    def certificates(self) -> Certificates | None:
        """Those of listeners with TLS. None: there are none."""
        ...

    @property
    def wants_client_metrics(self) -> bool:
        """Whether somebody subscribes to the metrics of clients."""
        ...

    @property
    def replica_manager(self) -> ReplicaManager:
        """The partitions, and what is done with their records."""
        ...

    @property
    def answer_memory(self) -> AnswerMemory:
        """What all answers may take together."""
        ...

    @property
    def fetch_sessions(self) -> FetchSessions:
        """The fetch sessions of all connections."""
        ...

    @property
    def groups(self) -> GroupCoordinator:
        """Groups and committed offsets."""
        ...

    @property
    def transactions(self) -> TransactionCoordinator:
        """Transactional ids and their transactions."""
        ...

    @property
    def share_states(self) -> ShareCoordinator:
        """What share groups have done with partitions."""
        ...

    @property
    def share_states_in_use(self) -> ShareCoordinator | None:
        """The same. None: no share group has done anything, and it is not loaded."""
        ...

    @property
    def other_brokers(self) -> OtherBrokers | None:
        """Those of the cluster. None: this one leads everything."""
        ...

    @property
    def share_states_anywhere(self) -> ShareStates:
        """The same; in a cluster also what other brokers keep."""
        ...

    @property
    def sharing(self) -> Sharing:
        """What share groups are handed of records."""
        ...

    @property
    def sharing_in_use(self) -> Sharing | None:
        """The same. None: no share group reads anything, and it is not loaded."""
        ...

    @property
    def cleaning(self) -> Cleaning:
        """What compacts logs."""
        ...

    @property
    def shortage(self) -> Shortage:
        """What there is no room for."""
        ...

    @property
    def moving(self) -> Moving:
        """Moves between log directories."""
        ...

    @property
    def mirrors(self) -> Mirrors:
        """The mirrors of other clusters."""
        ...

    @property
    def mirrors_in_use(self) -> Mirrors | None:
        """The same. None: there are none, and they are not loaded."""
        ...

    @property
    def credentials(self) -> ScramCredentials:
        """The users' credentials for SCRAM."""
        ...

    @property
    def telemetry(self) -> ClientTelemetry:
        """The metrics that clients push."""
        ...
