"""Options of Apache Kafka that this broker does not have: meaningless, or refused.

A configuration file written for one node of Apache Kafka starts odradek too. What is
about the JVM, or tunes what works otherwise here, means nothing and is accepted with
one log line. What would protect something, or promise something, is refused: silence
would be a lie. Other members of a cluster are, of a broker alone: see `sole_member`.
"""

import re

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
    "broker.session.",
    "client.quota.callback.",
    "config.providers.",
    "confluent.",
    "controller.",
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
    "sasl.kerberos.",
    "sasl.login.",
    "socket.connection.setup.",
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
        "max.partition.fetch.bytes",
        "max.request.size",
    }
)
_MEANINGLESS = "Means nothing here"
# The beginning of a name, and why the option means nothing.
_WHY: tuple[tuple[str, str], ...] = (
    ("ssl.", "TLS is that of OpenSSL, not that of Java"),
    ("sasl.kerberos.", "there is no Kerberos (GSSAPI)"),
    ("sasl.", "logins, also at other brokers, are not those of Java"),
    ("security.", "there is no Java with security providers"),
    ("remote.", "there is no remote storage"),
    ("log.local.retention.", "there is no remote storage"),
    ("follower.fetch.last.tiered", "there is no remote storage"),
    ("controller.", "it is for controllers, which odradek leaves to Apache Kafka"),
    ("metadata.", "it is for controllers; a broker keeps no metadata log"),
    ("broker.session.", "it is for controllers, which odradek leaves to Apache Kafka"),
    ("controlled.shutdown.", "what a broker leads is always given to others first"),
    ("early.start.listeners", "it is for controllers"),
    ("replica.socket.", "buffers between brokers are the system's"),
    ("num.replica.", "moves between directories have no threads of their own"),
    ("leader.imbalance.", "controllers elect preferred leaders"),
    ("auto.leader.", "controllers elect preferred leaders"),
    ("unclean.leader.", "controllers elect leaders"),
    ("add.partitions.to.txn.", "who cannot be verified yet is to send again at once"),
    (
        "share.coordinator.",
        "one thread keeps what share groups have done, and syncs are shared",
    ),
    ("group.coordinator.", "one thread owns all groups, and syncs are shared"),
    ("num.io.threads", "one thread serves all connections; see disk.threads"),
    ("num.network.threads", "one thread serves all connections; see disk.threads"),
    ("background.threads", "one thread serves all connections; see disk.threads"),
    ("metric", "there is no JVM with metrics of its own"),
    ("kafka.metrics.", "there is no JVM with metrics of its own"),
    (
        "socket.connection.setup.",
        "controllers are given controller.quorum.request.timeout.ms to answer, and"
        " leaders replica.socket.timeout.ms",
    ),
    ("alter.log.dirs.replication.", "moves are slowed evenly, not by windows"),
    ("offsets.topic.compression.", "committed offsets are not compressed"),
)


# Name (or prefix with a dot at its end), the value that is harmless, and why not else.
_REFUSED: tuple[tuple[str, str, str], ...] = (
    ("alter.config.policy.", "", "policies are Java classes and would not be asked"),
    ("create.topic.policy.", "", "policies are Java classes and would not be asked"),
    ("principal.builder.", "", "principals are Java classes and would not be made"),
    (
        "ssl.engine.factory.class",
        "",
        "it is a Java class and would not be asked; TLS is that of OpenSSL",
    ),
    ("security.providers", "", "they are Java classes and would not be asked"),
    ("remote.log.storage.system.enable", "false", "there is no remote storage here"),
    (
        "transaction.two.phase.commit.enable",
        "false",
        "transactions have one phase here",
    ),
    ("zookeeper.connect", "", "there is no ZooKeeper: one odradek is all of a cluster"),
    ("controller.quorum.auto.join.enable", "false", "there is no quorum to join"),
    ("client.quota.callback.class", "", "it is a Java class and would not be asked"),
    ("cordoned.log.dirs", "", "every log directory takes new partitions"),
    (
        "group.share.enable",
        "true",
        "share groups are switched off with the feature share.version, at 0",
    ),
)
_LEAVE_OUT = "leave it out"
_OF_LISTENER = re.compile(r"listener\.name\.[^.]+\.(.+)")


def is_meaningless(name: str) -> bool:
    """Whether Apache Kafka has this option and it says nothing to one odradek."""
    return (
        name.startswith(_MEANINGLESS_PREFIXES)
        or name in _OF_EARLIER
        or name in _OF_IMAGES
        or (name in foreign_table() and not is_refusable(name))
    )


def is_dynamic(name: str) -> bool:
    """Whether this option of Apache Kafka may be set while the broker runs."""
    known = foreign_table().get(name)
    return known is not None and known.is_dynamic and not name.startswith(_AT_START)


def meaning_of(name: str) -> str:
    """What is there to say of an option of Apache Kafka."""
    if name == "config.providers":
        return "Names for what looks up values that are kept elsewhere (security.md)."
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
    name = _of_any_listener(name)
    for refused, harmless, reason in _REFUSED:
        if _is_meant(name, refused) and value.strip().lower() not in ("", harmless):
            return f"{reason}; {_otherwise(harmless)}"
    return None


def _otherwise(harmless: str) -> str:
    return f"{_LEAVE_OUT}, or write {harmless}" if harmless else _LEAVE_OUT


def is_refusable(name: str) -> bool:
    """Whether the option is one that ``why_refused`` knows."""
    name = _of_any_listener(name)
    return any(_is_meant(name, refused) for refused, _, _ in _REFUSED)


def _of_any_listener(name: str) -> str:
    """The name of an option without the listener that it is for."""
    found = _OF_LISTENER.fullmatch(name)
    return name if found is None else found[1]


def _is_meant(name: str, refused: str) -> bool:
    return name == refused or (refused[-1] == "." and name.startswith(refused))
