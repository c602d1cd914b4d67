"""Options of Apache Kafka that this broker does not have: meaningless, or refused.

A configuration file written for Apache Kafka starts odradek too. What is about the
JVM, the controllers or other brokers means nothing here and is accepted with one log
line. What would protect something, or promise something, is refused: silence would
be a lie.
"""

from .foreign_table import foreign_table

# They mean nothing; with a change while it runs somebody would rely on them.
_AT_START = (
    "config.providers",
    "metric.reporters",
    "principal.builder.",
    "sasl.",
    "ssl.",
)

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
# Of earlier versions: a file of theirs starts this broker too.
_OF_EARLIER = frozenset(
    {
        "auto.include.jmx.reporter",
        "inter.broker.protocol.version",
        "log.message.downconversion.enable",
        "log.message.format.version",
        "offsets.commit.required.acks",
        "reserved.broker.max.id",
        "unstable.api.versions.enable",
        "unstable.feature.versions.enable",
    }
)
# No options of a broker, but in the environment of images and compose files.
_OF_IMAGES = frozenset(
    {
        "allow.everyone.if.no.acl.found",
        "max.partition.fetch.bytes",
        "max.request.size",
    }
)
_MEANINGLESS = "Means nothing here"
# The beginning of a name, and why the option means nothing.
_WHY: tuple[tuple[str, str], ...] = (
    ("ssl.", "connections are not encrypted"),
    ("sasl.", "clients do not authenticate"),
    ("security.", "connections are neither encrypted nor authenticated"),
    ("connection.failed.auth", "clients do not authenticate"),
    ("connections.max.reauth", "clients do not authenticate"),
    ("remote.", "there is no remote storage"),
    ("log.local.retention.", "there is no remote storage"),
    ("follower.fetch.last.tiered", "there is no remote storage"),
    ("controller.", "there is no controller"),
    ("metadata.", "there is no metadata log, but a catalogue"),
    ("broker.", "there is no controller to tell that the broker lives"),
    ("controlled.shutdown.", "there is no other broker to take over"),
    ("initial.broker.registration.", "there is no controller"),
    ("process.roles", "one process is all of the cluster"),
    ("early.start.listeners", "there is no controller"),
    ("inter.broker.", "there is no other broker"),
    ("replica.", "there is no other broker"),
    ("num.replica.", "there is no other broker"),
    ("replication.quota.", "there is no other broker"),
    ("follower.", "there is no other broker"),
    ("leader.", "there is no other broker"),
    ("auto.leader.", "there is no other broker"),
    ("unclean.leader.", "there is no other broker"),
    ("add.partitions.to.txn.", "partitions are verified without a request"),
    ("group.share.", "there are no share groups"),
    ("share.", "there are no share groups"),
    ("group.streams.", "there are no streams groups"),
    ("group.consumer.", "there are no groups of the consumer protocol (KIP-848)"),
    ("group.coordinator.", "one thread owns all groups, and syncs are shared"),
    ("num.io.threads", "one thread serves all connections; see disk.threads"),
    ("num.network.threads", "one thread serves all connections; see disk.threads"),
    ("background.threads", "one thread serves all connections; see disk.threads"),
    ("metric", "there is no JVM with metrics of its own"),
    ("kafka.metrics.", "there is no JVM with metrics of its own"),
    ("socket.connection.setup.", "the broker opens no connections"),
    ("alter.log.dirs.replication.", "moves are slowed evenly, not by windows"),
    ("log.dir.failure.", "a failed directory does not stop the broker"),
    ("cordoned.log.dirs", "every directory takes new partitions"),
    ("offsets.topic.compression.", "committed offsets are not compressed"),
    ("client.quota.callback.", "quotas are looked up in the catalogue"),
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
    return (
        name.startswith(_MEANINGLESS_PREFIXES)
        or name in _OF_EARLIER
        or name in _OF_IMAGES
        or (name in foreign_table() and not is_refusable(name))
    )


def is_secret(name: str) -> bool:
    """Whether nobody is shown the value of this option of Apache Kafka."""
    known = foreign_table().get(name)
    return known is not None and known.is_sensitive


def is_dynamic(name: str) -> bool:
    """Whether this option of Apache Kafka may be set while the broker runs."""
    known = foreign_table().get(name)
    return known is not None and known.is_dynamic and not name.startswith(_AT_START)


def meaning_of(name: str) -> str:
    """What is there to say of an option of Apache Kafka."""
    for refused, harmless, reason in _REFUSED:
        if _is_meant(name, refused):
            only = f"anything but {harmless}" if harmless else "every value"
            return f"Refused is {only}: {reason}."
    for beginning, reason in _WHY:
        if name.startswith(beginning):
            return f"{_MEANINGLESS}: {reason}."
    return f"{_MEANINGLESS}."


def why_refused(name: str, value: str) -> str | None:
    """Why an option of Apache Kafka cannot be accepted with this value."""
    for refused, harmless, reason in _REFUSED:
        if _is_meant(name, refused) and value.strip() not in ("", harmless):
            return reason
    return None


def is_refusable(name: str) -> bool:
    """Whether the option is one that ``why_refused`` knows."""
    return any(_is_meant(name, refused) for refused, _, _ in _REFUSED)


def _is_meant(name: str, refused: str) -> bool:
    return name == refused or (refused[-1] == "." and name.startswith(refused))
