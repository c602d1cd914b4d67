"""The options of a broker that is one of a cluster: its controllers, the other brokers.

A broker that is all of its own cluster has no use for them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Final

from .option import LONG_MAX, Kind, option

if TYPE_CHECKING:
    from .broker_config import BrokerConfig

ONE_COPY: Final = "one broker holds one copy of everything"
_BROKER: Final = ("broker",)
_READ_FROM_LEADERS: Final = "org.apache.kafka.common.replica.LeaderSelector"
_READ_BY_RACK: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
# How many copies there are, or have to be in sync.
_COPIES: Final = (
    "default.replication.factor",
    "min.insync.replicas",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.min.isr",
)
# What holds in a cluster where these are unset.
COPIES_IN_CLUSTER: Final = {
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
}
# What a broker alone may be asked that only a cluster can do.
OF_OTHERS: Final = frozenset(
    {
        "process.roles",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        *_COPIES,
    }
)


def _mechanism(text: str) -> str:
    return text.strip().upper()


@dataclass(frozen=True, init=False, repr=False, eq=False)
class MemberOptions:
    """Who decides in the cluster, how others are asked, how replicas follow."""

    process_roles: tuple[str, ...] = option(
        (),
        "process.roles",
        "broker: this one joins the controllers of Apache Kafka that are named. Empty,"
        " or broker,controller: it is all of its own cluster.",
    )
    controller_quorum_bootstrap_servers: tuple[str, ...] = option(
        (),
        "controller.quorum.bootstrap.servers",
        "Where the controllers of the cluster listen, as HOST:PORT,...",
    )
    controller_quorum_voters: tuple[str, ...] = option(
        (),
        "controller.quorum.voters",
        "The same as ID@HOST:PORT,..., where no bootstrap servers are named.",
    )
    controller_quorum_request_timeout_ms: int = option(
        2_000,
        "controller.quorum.request.timeout.ms",
        "How long an answer of a controller may take before it is asked again.",
        at_least=1,
    )
    initial_broker_registration_timeout_ms: int = option(
        60_000,
        "initial.broker.registration.timeout.ms",
        "How long a start tries to join the cluster.",
        at_least=1,
    )
    broker_heartbeat_interval_ms: int = option(
        2_000,
        "broker.heartbeat.interval.ms",
        "How often the controllers hear that the broker lives.",
        at_least=1,
    )
    controlled_shutdown_timeout_ms: int = option(
        30_000,
        "controlled.shutdown.timeout.ms",
        "How long a stop waits for others to lead what this broker leads; an option of"
        " odradek's own.",
        at_least=0,
    )
    log_dir_failure_timeout_ms: int = option(
        30_000,
        "log.dir.failure.timeout.ms",
        "How long controllers may not be told that a log directory has failed: then"
        " the broker stops.",
        kind=Kind.LONG,
        at_least=1,
    )
    inter_broker_listener_name: str | None = option(
        None,
        "inter.broker.listener.name",
        "The listener on which brokers of the cluster reach each other; all have one"
        " of that name. Unset: the first for clients.",
        kind=Kind.STRING,
    )
    security_inter_broker_protocol: str = option(
        "PLAINTEXT",
        "security.inter.broker.protocol",
        "Instead of its name, the protocol of that listener, if it is called so.",
    )
    sasl_mechanism_inter_broker_protocol: str = option(
        "GSSAPI",
        "sasl.mechanism.inter.broker.protocol",
        "How this broker logs in at others of the cluster, where their listener has"
        " SASL; as whom says sasl.jaas.config of the listener for brokers. A change"
        " counts from the next start on.",
        read=_mechanism,
        is_dynamic=True,
    )
    sasl_mechanism_controller_protocol: str = option(
        "GSSAPI",
        "sasl.mechanism.controller.protocol",
        "The same for controllers, with the options of the first of"
        " controller.listener.names.",
        read=_mechanism,
    )
    replica_lag_time_max_ms: int = option(
        30_000,
        "replica.lag.time.max.ms",
        "A follower that has not had all records for so long is not in sync.",
        kind=Kind.LONG,
        at_least=1,
    )
    replica_fetch_wait_max_ms: int = option(
        500,
        "replica.fetch.wait.max.ms",
        "How long a leader may wait for records before it answers a follower.",
        at_least=0,
    )
    replica_fetch_min_bytes: int = option(
        1,
        "replica.fetch.min.bytes",
        "For how many bytes it waits.",
        at_least=0,
    )
    replica_fetch_max_bytes: int = option(
        1 << 20,
        "replica.fetch.max.bytes",
        "Most bytes of a partition in one answer, if its first batch is not larger.",
        at_least=0,
    )
    replica_fetch_response_max_bytes: int = option(
        10 << 20,
        "replica.fetch.response.max.bytes",
        "Most bytes of one answer, if its first batch is not larger.",
        at_least=0,
    )
    replica_fetch_backoff_ms: int = option(
        1_000,
        "replica.fetch.backoff.ms",
        "How soon a partition is asked for again after it has failed; sooner at first "
        "(20 ms) where its leader has not heard of it yet.",
        at_least=0,
    )
    replica_socket_timeout_ms: int = option(
        30_000,
        "replica.socket.timeout.ms",
        "How long the answer of a leader may take.",
        at_least=1,
    )
    replica_selector_class: str | None = option(
        None,
        "replica.selector.class",
        "Where consumers read: with RackAwareReplicaSelector from a replica in their"
        " own rack (client.rack of theirs, broker.rack of brokers), else from leaders.",
        kind=Kind.STRING,
        choices=(_READ_FROM_LEADERS, _READ_BY_RACK),
    )
    leader_replication_throttled_rate: int = option(
        LONG_MAX,
        "leader.replication.throttled.rate",
        "Bytes a second that replicas may be sent that catch up, of those that"
        " leader.replication.throttled.replicas of topics name.",
        kind=Kind.LONG,
        at_least=0,
        is_dynamic=True,
    )
    follower_replication_throttled_rate: int = option(
        LONG_MAX,
        "follower.replication.throttled.rate",
        "Bytes a second that this broker takes in while it catches up, of what"
        " follower.replication.throttled.replicas of topics name.",
        kind=Kind.LONG,
        at_least=0,
        is_dynamic=True,
    )
    replication_quota_window_num: int = option(
        11,
        "replication.quota.window.num",
        "Over how many windows leader.replication.throttled.rate and that of followers"
        " are reckoned.",
        at_least=1,
    )
    replication_quota_window_size_seconds: int = option(
        1,
        "replication.quota.window.size.seconds",
        "How long each of these windows is (replication.quota.window.num).",
        at_least=1,
    )
    num_replica_fetchers: int = option(
        1,
        "num.replica.fetchers",
        "How many connections to each leader replicas follow on.",
        at_least=1,
        is_dynamic=True,
    )

    @property
    def reads_by_rack(self) -> bool:
        """Whether consumers are sent to a replica in their own rack."""
        return self.replica_selector_class == _READ_BY_RACK

    @property
    def is_member(self) -> bool:
        """Whether the broker is one of a cluster with other nodes."""
        return self.process_roles == _BROKER


@cache
def member_names() -> frozenset[str]:
    """The names of all of these. Made when first asked for."""
    return frozenset(each.metadata["option"].name for each in fields(MemberOptions))


def copies_too_many(config: BrokerConfig) -> str | None:
    """The option that wants more copies of something than one broker can hold."""
    if not config.is_member:
        for name in _COPIES:
            if getattr(config, name.replace(".", "_")) > 1:
                return name
    return None
