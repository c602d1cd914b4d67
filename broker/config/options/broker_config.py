"""The options of the broker: one frozen dataclass, which is the table of them.

Parsing (``sources``), DescribeConfigs and the manual walk ``OPTIONS``; code reads
the fields. A topic's options are in ``topic_config``.
"""

from __future__ import annotations

from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.protocol.uuids import from_text

from .coordinator import (
    ConsumerGroupOptions,
    GroupOptions,
    TransactionOptions,
    check_consumer_groups,
)
from .error import OptionError
from .frozen_table import frozen_table
from .log import LogOptions
from .member import ONE_COPY, MemberOptions, copies_too_many
from .network import NetworkOptions
from .option import Kind, Option, option
from .process import ProcessOptions
from .security.access import AccessOptions
from .security.listener_checks import check_listeners
from .security.sasl import SaslOptions, TokenOptions
from .security.tls import TlsOptions
from .share_groups import (
    ShareCoordinatorOptions,
    ShareGroupOptions,
    check_share_groups,
)
from .streams_groups import StreamsGroupOptions, check_streams_groups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .listener import Listener

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
_CLUSTER_ID_LENGTH = 22


def _paths(text: str) -> tuple[Path, ...]:
    paths = tuple(Path(part.strip()) for part in text.split(",") if part.strip())
    if not paths:
        raise ValueError("At least one directory is needed")
    return paths


def _cluster_id(text: str) -> str:
    if len(text) != _CLUSTER_ID_LENGTH:
        raise ValueError(f"It needs {_CLUSTER_ID_LENGTH} characters")
    from_text(text)
    return text


class Changes(NamedTuple):
    """What was set while the broker ran: texts by name, for all brokers and for this.

    ``static`` is what the broker was started with.
    """

    static: BrokerConfig
    everywhere: Mapping[str, str]
    here: Mapping[str, str]


@frozen_table
class BrokerConfig(
    NetworkOptions,
    LogOptions,
    GroupOptions,
    ConsumerGroupOptions,
    ShareGroupOptions,
    ShareCoordinatorOptions,
    StreamsGroupOptions,
    TransactionOptions,
    MemberOptions,
    ProcessOptions,
    TlsOptions,
    AccessOptions,
    SaslOptions,
    TokenOptions,
):
    """Every option of the broker, with Kafka's names, defaults, bounds and meaning.

    ``explicit`` are the names of those that somebody set before the start, ``foreign``
    the options of Apache Kafka that were set and mean nothing here, ``of_listeners``
    those that were set for one listener (see `SecurityOptions`). ``changes`` are what
    was set while the broker ran; the values are those that hold now.
    """

    node_id: int = option(
        1,
        "node.id",
        "The number of this broker.",
        at_least=0,
        aliases=("broker.id",),
    )
    cluster_id: str | None = option(
        None,
        "cluster.id",
        "The id of the cluster for a new data directory, 22 characters as Kafka's "
        "tool makes them. Unset: a random one. Another one than a directory has is "
        "refused.",
        kind=Kind.STRING,
        read=_cluster_id,
    )
    broker_rack: str | None = option(
        None, "broker.rack", "The rack that clients are told.", kind=Kind.STRING
    )
    log_dirs: tuple[Path, ...] = option(
        (Path("data"),),
        "log.dirs",
        "Directories that hold the partitions.",
        read=_paths,
        aliases=("log.dir",),
    )
    metadata_log_dir: Path | None = option(
        None,
        "metadata.log.dir",
        "Directory of the catalogue. Unset: the first of log.dirs.",
        kind=Kind.STRING,
        read=Path,
    )
    durability: str = option(
        "commit",
        "durability",
        "When a record counts as stored: commit = once it is synced to the disk; "
        "interval = synced every durability.interval.ms; none = once it is written.",
        choices=("commit", "interval", "none"),
    )
    durability_interval_ms: int = option(
        1_000,
        "durability.interval.ms",
        "How often durability=interval syncs: what a power cut may take.",
        kind=Kind.LONG,
        at_least=1,
    )
    log_min_free_bytes: int = option(
        256 << 20,
        "log.min.free.bytes",
        "Free space of a directory below which clients' records are refused.",
        kind=Kind.LONG,
        at_least=0,
    )
    log_tail_max_bytes: int = option(
        16 << 20,
        "log.tail.max.bytes",
        "Memory for the newest batches of all logs, which readers at the end get.",
        kind=Kind.LONG,
        at_least=0,
    )
    disk_threads: int = option(
        4,
        "disk.threads",
        "Threads that sync, recover, read what is not in memory, and delete.",
        at_least=1,
        at_most=256,
    )
    max_open_files: int = option(
        0,
        "max.open.files",
        "Files of logs that are open at a time. 0: what the system allows, less 512.",
        at_least=0,
    )
    num_recovery_threads_per_data_dir: int = option(
        2,
        "num.recovery.threads.per.data.dir",
        "Logs of one directory that are recovered at a time.",
        at_least=1,
        is_dynamic=True,
    )
    num_partitions: int = option(
        1, "num.partitions", "Partitions of a topic that says none.", at_least=1
    )
    default_replication_factor: int = option(
        1,
        "default.replication.factor",
        "Copies of a topic that says none. Unset: 1, in a cluster what the controllers"
        " have.",
        at_least=1,
    )
    auto_create_topics_enable: bool = option(
        True,
        "auto.create.topics.enable",
        "Whether a client that asks for a topic makes it.",
    )
    delete_topic_enable: bool = option(
        True, "delete.topic.enable", "Whether topics can be deleted."
    )
    create_topics_max_partitions: int = option(
        10_000,
        "create.topics.max.partitions",
        "Most partitions that one request may make.",
        at_least=1,
    )
    logging_level: str = option(
        "info",
        "logging.level",
        "The least important lines that the log gets.",
        choices=("debug", "info", "warning", "error"),
    )
    logging_format: str = option(
        "text",
        "logging.format",
        "What a line of the log is: text for people, json for machines.",
        choices=("text", "json"),
    )
    explicit: frozenset[str] = frozenset()
    foreign: Mapping[str, str] = field(default_factory=dict)
    of_listeners: Mapping[str, Any] = field(default_factory=dict)
    changes: Changes | None = None

    @property
    def catalog_directory(self) -> Path:
        """Where the catalogue lives."""
        return self.metadata_log_dir or self.log_dirs[0]

    @property
    def retention_ms(self) -> int:
        """``log.retention.*`` in milliseconds; any negative one is -1, unlimited."""
        if self.log_retention_ms is not None:
            value = self.log_retention_ms
        elif self.log_retention_minutes is not None:
            value = self.log_retention_minutes * MINUTE_MS
        else:
            value = self.log_retention_hours * HOUR_MS
        return max(value, -1)

    @property
    def roll_ms(self) -> int:
        """``log.roll.*`` in milliseconds."""
        if self.log_roll_ms is not None:
            return self.log_roll_ms
        return self.log_roll_hours * HOUR_MS

    @property
    def roll_jitter_ms(self) -> int:
        """``log.roll.jitter.*`` in milliseconds."""
        if self.log_roll_jitter_ms is not None:
            return self.log_roll_jitter_ms
        return self.log_roll_jitter_hours * HOUR_MS

    @property
    def flush_ms(self) -> int:
        """``log.flush.interval.ms``, or the scheduler's interval in its place."""
        if self.log_flush_interval_ms is not None:
            return self.log_flush_interval_ms
        return self.log_flush_scheduler_interval_ms

    @property
    def client_listeners(self) -> tuple[Listener, ...]:
        """The listeners to open: those that Kafka would not give to a controller."""
        protocols = dict(
            entry.split(":") for entry in self.listener_security_protocol_map
        )
        return tuple(
            listener._replace(
                security_protocol=protocols.get(listener.name, listener.name)
            )
            for listener in self.without_controllers(self.listeners)
        )

    def without_controllers(
        self, listeners: tuple[Listener, ...]
    ) -> tuple[Listener, ...]:
        """Those of ``listeners`` that are for clients."""
        controllers = self.controller_listener_names
        return tuple(each for each in listeners if each.name not in controllers)

    def advertised_address(self, listener_name: str) -> tuple[str, int] | None:
        """What clients of a listener are told. None: the address they connected to."""
        for listener in self.advertised_listeners:
            if listener.name == listener_name:
                return listener.host, listener.port
        return None

    def check(self) -> None:
        """See that the options agree with each other.

        Raises:
            OptionError: two of them contradict each other, or one needs another.
        """
        check_listeners(self)
        many = copies_too_many(self)
        if many is not None:
            raise OptionError(f"{many}: {ONE_COPY}")
        if self.super_users and not self.authorizer_class_name:
            raise OptionError(
                "super.users are those whom access control lists do not bind, and "
                "there are none: set authorizer.class.name=acl, or leave it out"
            )
        for name, value in (
            ("log.retention.ms", self.log_retention_ms),
            ("log.retention.minutes", self.log_retention_minutes),
            ("log.retention.hours", self.log_retention_hours),
        ):
            if value == 0:
                raise OptionError(f"{name}=0 would keep nothing; -1 keeps everything")
        if self.log_cleaner_min_compaction_lag_ms > (
            self.log_cleaner_max_compaction_lag_ms
        ):
            raise OptionError(
                "log.cleaner.min.compaction.lag.ms must not be more than "
                "log.cleaner.max.compaction.lag.ms"
            )
        if self.group_min_session_timeout_ms > self.group_max_session_timeout_ms:
            raise OptionError(
                "group.min.session.timeout.ms must not be more than "
                "group.max.session.timeout.ms"
            )
        check_consumer_groups(self)
        check_share_groups(self)
        check_streams_groups(self)


OPTIONS: dict[str, tuple[str, Option]] = {
    part.metadata["option"].name: (part.name, part.metadata["option"])
    for part in fields(BrokerConfig)
    if "option" in part.metadata
}
"""Every option by its name: the field that holds its value, and what is known."""

ALIASES: dict[str, str] = {
    alias: name for name, (_, known) in OPTIONS.items() for alias in known.aliases
}
"""Other names that Kafka has for some of them."""
