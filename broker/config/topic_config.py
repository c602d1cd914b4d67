"""The options of a topic: their names, bounds, and the broker's options behind them.

An option that a topic does not set has the value of its broker option (its
synonym), and that one's default otherwise. Options that Kafka has for replicas and
tiered storage are known too: their harmless values are taken and shown, the others
are refused, so that nobody believes in what does not happen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from odradek.protocol.errors import InvalidConfig
from odradek.storage.values.log_config import LogConfig
from odradek.terminal.spelling import did_you_mean

from .chosen_options import ChosenOptions
from .options.broker_config import OPTIONS, BrokerConfig
from .options.error import OptionError
from .options.log import CODECS
from .options.option import LONG_MAX, Kind, Option, format_value

INTERNAL_SEGMENT_BYTES = "internal.segment.bytes"


@dataclass(frozen=True, slots=True)
class TopicOption:
    """One option of topics.

    ``synonyms`` are the broker options that give the default, ``field`` is where
    ``LogConfig`` keeps the value, ``attribute`` what ``BrokerConfig`` calls the
    default. ``only`` are the values that can be set, where not all can.
    """

    known: Option
    field: str | None
    attribute: str | None
    synonyms: tuple[str, ...] = ()
    only: tuple[Any, ...] = ()
    is_hidden: bool = False

    @property
    def synonym(self) -> str | None:
        """The broker option of the same unit and meaning."""
        return self.synonyms[0] if self.synonyms else None

    def default(self, broker: BrokerConfig) -> Any:
        """The value when the topic does not set the option."""
        if self.attribute is None:
            return self.known.default
        return getattr(broker, self.attribute)


def _of_log(
    name: str,
    synonym: str,
    meaning: str,
    *others: str,
    attribute: str | None = None,
    **more: Any,
) -> TopicOption:
    """An option that logs honour: kind, bounds and default are the broker option's."""
    broker_field, behind = OPTIONS[synonym]
    known = replace(behind, name=name, meaning=meaning, aliases=(), **more)
    return TopicOption(
        known,
        field=name.replace(".", "_"),
        attribute=attribute or broker_field,
        synonyms=(synonym, *others),
    )


def _not_here(name: str, kind: Kind, default: Any, *only: Any) -> TopicOption:
    """An option that means nothing on one broker without tiers."""
    known = Option(name, kind, default, "Means nothing on one broker without tiers.")
    synonyms = {
        "local.retention.bytes": ("log.local.retention.bytes",),
        "local.retention.ms": ("log.local.retention.ms",),
        "unclean.leader.election.enable": (name,),
    }
    return TopicOption(known, None, None, synonyms.get(name, ()), only=only)


def _of_cluster(name: str, meaning: str) -> TopicOption:
    """A list of replicas, which only a broker of a cluster goes by."""
    return TopicOption(Option(name, Kind.LIST, (), meaning), None, None)


_TABLE = (
    _of_log("cleanup.policy", "log.cleanup.policy", "Delete or compact old records."),
    _of_log(
        "compression.gzip.level", "compression.gzip.level", "Level for gzip; -1: usual."
    ),
    _of_log("compression.lz4.level", "compression.lz4.level", "Level for lz4."),
    _of_log(
        "compression.type",
        "compression.type",
        "Codec that batches are stored with; producer: as they came.",
        choices=CODECS,
    ),
    _of_log("compression.zstd.level", "compression.zstd.level", "Level for zstd."),
    _of_log(
        "delete.retention.ms",
        "log.cleaner.delete.retention.ms",
        "How long a deletion marker stays in a compacted topic.",
    ),
    _of_log(
        "file.delete.delay.ms",
        "log.segment.delete.delay.ms",
        "How long a deleted file stays, renamed.",
    ),
    _of_log(
        "flush.messages",
        "log.flush.interval.messages",
        "Records that may wait for a sync, whatever the durability.",
    ),
    _of_log(
        "flush.ms",
        "log.flush.interval.ms",
        "How long records may wait for a sync, whatever the durability.",
        "log.flush.scheduler.interval.ms",
        attribute="flush_ms",
        default=LONG_MAX,
        at_least=0,
    ),
    _of_cluster(
        "follower.replication.throttled.replicas",
        "Replicas that catch up no faster than a rate, as PARTITION:BROKER,... or *.",
    ),
    _of_log(
        "index.interval.bytes", "log.index.interval.bytes", "Bytes per index entry."
    ),
    _of_cluster(
        "leader.replication.throttled.replicas",
        "Replicas whose leader sends no faster, as PARTITION:BROKER of it,... or *.",
    ),
    _not_here("local.retention.bytes", Kind.LONG, -2),
    _not_here("local.retention.ms", Kind.LONG, -2),
    _of_log(
        "max.compaction.lag.ms",
        "log.cleaner.max.compaction.lag.ms",
        "Records older than this are compacted, however few.",
    ),
    _of_log("max.message.bytes", "message.max.bytes", "Largest batch that is taken."),
    _of_log(
        "message.timestamp.after.max.ms",
        "log.message.timestamp.after.max.ms",
        "How far ahead of the broker's clock a timestamp may be.",
    ),
    _of_log(
        "message.timestamp.before.max.ms",
        "log.message.timestamp.before.max.ms",
        "How far behind the broker's clock a timestamp may be.",
    ),
    _of_log(
        "message.timestamp.type",
        "log.message.timestamp.type",
        "Whether the client's or the broker's clock stamps records.",
    ),
    _of_log(
        "min.cleanable.dirty.ratio",
        "log.cleaner.min.cleanable.ratio",
        "Share of the log that must be uncleaned before it is cleaned.",
    ),
    _of_log(
        "min.compaction.lag.ms",
        "log.cleaner.min.compaction.lag.ms",
        "Records younger than this are not compacted.",
    ),
    _of_log(
        "min.insync.replicas",
        "min.insync.replicas",
        "Replicas that must have a record before acks=all is answered.",
    ),
    _of_log(
        "preallocate",
        "log.preallocate",
        "Write zeros ahead of the log, which makes its syncs cheaper.",
    ),
    _not_here("remote.log.copy.disable", Kind.BOOLEAN, False),
    _not_here("remote.log.delete.on.disable", Kind.BOOLEAN, False),
    _not_here("remote.storage.enable", Kind.BOOLEAN, False, False),
    _of_log(
        "retention.bytes",
        "log.retention.bytes",
        "Bytes of a partition that are kept. -1: all.",
        at_least=-1,
    ),
    _of_log(
        "retention.ms",
        "log.retention.ms",
        "How long records are kept. -1: for ever.",
        "log.retention.minutes",
        "log.retention.hours",
        attribute="retention_ms",
        default=604_800_000,
        at_least=-1,
    ),
    _of_log("segment.bytes", "log.segment.bytes", "Size at which a segment rolls."),
    _of_log(
        "segment.index.bytes", "log.index.size.max.bytes", "Largest index of a segment."
    ),
    _of_log(
        "segment.jitter.ms",
        "log.roll.jitter.ms",
        "Random time that a segment rolls earlier.",
        "log.roll.jitter.hours",
        attribute="roll_jitter_ms",
        default=0,
    ),
    _of_log(
        "segment.ms",
        "log.roll.ms",
        "Age at which a segment rolls.",
        "log.roll.hours",
        attribute="roll_ms",
        default=604_800_000,
    ),
    _not_here("unclean.leader.election.enable", Kind.BOOLEAN, False),
    # Kafka's own way to small segments in tests: taken, and never shown.
    TopicOption(
        Option(INTERNAL_SEGMENT_BYTES, Kind.INT, None, "Like segment.bytes.", 1),
        field="segment_bytes",
        attribute=None,
        is_hidden=True,
    ),
)

TOPIC_OPTIONS: dict[str, TopicOption] = {entry.known.name: entry for entry in _TABLE}
"""Every option of a topic by its name, in the order in which they are listed."""

# What a log has from the broker, and what from its topic: where they call it so. The
# last one wins where two are for the same.
_OF_BROKERS = {
    entry.field: entry.attribute
    for entry in _TABLE
    if entry.field is not None and entry.attribute is not None
}
_OF_TOPICS = {
    entry.known.name: entry.field for entry in _TABLE if entry.field is not None
}


def validate_topic_options(
    options: Mapping[str, str], broker: BrokerConfig
) -> ChosenOptions:
    """The options, which a topic can have.

    Raises:
        InvalidConfig: one does not exist, has a value it cannot have, or two of
            them contradict each other. The message names it.
    """
    chosen = ChosenOptions.of(options)
    values = chosen.parsed
    smallest = values.get("min.compaction.lag.ms")
    largest = values.get("max.compaction.lag.ms")
    if smallest is None:
        smallest = broker.log_cleaner_min_compaction_lag_ms
    if largest is None:
        largest = broker.log_cleaner_max_compaction_lag_ms
    if smallest > largest:
        raise InvalidConfig(
            f"conflict topic config setting min.compaction.lag.ms ({smallest}) > "
            f"max.compaction.lag.ms ({largest})"
        )
    return chosen


def log_config(options: Mapping[str, str], broker: BrokerConfig) -> LogConfig:
    """What the logs of a topic with ``options`` are run by."""
    values = ChosenOptions.of(options).parsed
    chosen: dict[str, Any] = {
        field: getattr(broker, attribute) for field, attribute in _OF_BROKERS.items()
    }
    for name, field in _OF_TOPICS.items():
        if name in values:
            chosen[field] = values[name]
    chosen["cleanup_policy"] = frozenset(chosen["cleanup_policy"])
    chosen["decompressed_max_bytes"] = broker.request_decompressed_max_bytes
    chosen["decompressed_ratio_max"] = broker.request_decompressed_ratio_max
    return LogConfig(**chosen)


def find_topic_option(name: str) -> Option:
    """The option of that name.

    Raises:
        InvalidConfig: there is none.
    """
    return _entry(name).known


def asks_for_more(name: str, text: str) -> bool:
    """Whether the option is there with other values only: what it asks for is not."""
    entry = TOPIC_OPTIONS.get(name)
    if entry is None or not entry.only:
        return False
    return text.strip() not in [format_value(each) for each in entry.only]


def topic_default(name: str, broker: BrokerConfig) -> object:
    """The value of an option that a topic does not set."""
    return _entry(name).default(broker)


def _entry(name: str) -> TopicOption:
    if name not in TOPIC_OPTIONS:
        raise unknown_option(name)
    return TOPIC_OPTIONS[name]


def parse_topic_option(name: str, text: str) -> Any:
    """The value that ``text`` is.

    Raises:
        InvalidConfig: the option does not exist, or cannot have that value.
    """
    entry = _entry(name)
    try:
        value = entry.known.parse(text)
    except OptionError as error:
        raise InvalidConfig(str(error)) from None
    if entry.only and value not in entry.only:
        allowed = " or ".join(repr(format_value(only)) for only in entry.only)
        raise InvalidConfig(
            f"Invalid value {text} for configuration {name}: this broker has no other "
            f"replicas and no remote storage; only {allowed} is possible"
        )
    return value


def unknown_option(name: str) -> InvalidConfig:
    """The refusal of an option that topics do not have, with what was meant."""
    shown = [name for name, entry in TOPIC_OPTIONS.items() if not entry.is_hidden]
    meant = did_you_mean(name, shown)
    hint = f"; did you mean {meant}?" if meant else ""
    return InvalidConfig(f"Unknown topic config name: {name}{hint}")
