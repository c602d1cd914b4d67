"""Options of Apache Kafka that this broker does not have: meaningless, or refused.

A configuration file written for Apache Kafka starts odradek too. What is about the
JVM, the controllers or other brokers means nothing here and is accepted with one log
line. What would protect something, or promise something, is refused: silence would
be a lie.
"""

_MEANINGLESS_PREFIXES = (
    "broker.heartbeat.",
    "broker.session.",
    "client.quota.callback.",
    "confluent.",
    "controller.",
    "group.share.",
    "group.streams.",
    "kafka.metrics.",
    "leader.imbalance.",
    "listener.name.",
    "metadata.log.max.",
    "metadata.log.segment.",
    "metadata.max.",
    "metric.",
    "metrics.",
    "password.encoder.",
    "remote.",
    "replica.fetch.",
    "replica.socket.",
    "replication.quota.",
    "sasl.",
    "share.",
    "socket.connection.setup.",
    "ssl.",
    "zookeeper.",
)
_MEANINGLESS = frozenset(
    {
        "add.partitions.to.txn.retry.backoff.max.ms",
        "add.partitions.to.txn.retry.backoff.ms",
        "alter.log.dirs.replication.quota.window.num",
        "alter.log.dirs.replication.quota.window.size.seconds",
        "auto.include.jmx.reporter",
        "auto.leader.rebalance.enable",
        "background.threads",
        "connection.failed.authentication.delay.ms",
        "connections.max.reauth.ms",
        "controlled.shutdown.enable",
        "controlled.shutdown.max.retries",
        "controlled.shutdown.retry.backoff.ms",
        "cordoned.log.dirs",
        "early.start.listeners",
        "follower.fetch.last.tiered.offset.enable",
        "group.consumer.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
        "group.consumer.max.session.timeout.ms",
        "group.consumer.migration.policy",
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.min.session.timeout.ms",
        "group.coordinator.append.linger.ms",
        "group.coordinator.background.threads",
        "group.coordinator.cached.buffer.max.bytes",
        "group.coordinator.rebalance.protocols",
        "group.coordinator.threads",
        "initial.broker.registration.timeout.ms",
        "inter.broker.listener.name",
        "inter.broker.protocol.version",
        "log.dir.failure.timeout.ms",
        "log.initial.task.delay.ms",
        "log.local.retention.bytes",
        "log.local.retention.ms",
        "log.message.downconversion.enable",
        "log.message.format.version",
        "max.connections.per.ip.overrides",
        "num.io.threads",
        "num.network.threads",
        "num.replica.alter.log.dirs.threads",
        "num.replica.fetchers",
        "offsets.topic.compression.codec",
        "process.roles",
        "quota.window.num",
        "quota.window.size.seconds",
        "replica.lag.time.max.ms",
        "reserved.broker.max.id",
        "security.inter.broker.protocol",
        "security.providers",
        "transaction.two.phase.commit.enable",
        "unclean.leader.election.enable",
        "unstable.api.versions.enable",
        "unstable.feature.versions.enable",
    }
)
# Name (or prefix with a dot at its end), the value that is harmless, and why not else.
_REFUSED: tuple[tuple[str, str, str], ...] = (
    ("authorizer.", "", "this broker has no authorizer: it would let everybody in"),
    ("super.users", "", "this broker has no authorizer: it would let everybody in"),
    ("alter.config.policy.", "", "policies are Java classes and would not be asked"),
    ("create.topic.policy.", "", "policies are Java classes and would not be asked"),
    ("principal.builder.", "", "principals are Java classes and would not be made"),
    ("config.providers", "", "values are not looked up anywhere: write them out"),
    ("delegation.token.", "", "there are no delegation tokens here"),
    ("replica.selector.class", "", "there is one replica to read from"),
    ("remote.log.storage.system.enable", "false", "there is no remote storage here"),
    (
        "transaction.two.phase.commit.enable",
        "false",
        "transactions have one phase here",
    ),
)


def is_meaningless(name: str) -> bool:
    """Whether Apache Kafka has this option and it says nothing to one odradek."""
    return name in _MEANINGLESS or name.startswith(_MEANINGLESS_PREFIXES)


def why_refused(name: str, value: str) -> str | None:
    """Why an option of Apache Kafka cannot be accepted with this value."""
    for refused, harmless, reason in _REFUSED:
        is_meant = name == refused or (refused[-1] == "." and name.startswith(refused))
        if is_meant and value.strip() not in ("", harmless):
            return reason
    return None


def is_refusable(name: str) -> bool:
    """Whether the option is one that ``why_refused`` knows."""
    return any(
        name == refused or (refused[-1] == "." and name.startswith(refused))
        for refused, _, _ in _REFUSED
    )
