"""What is known of the logs that are read: the brokers say it, or a stopped directory.

The end of a log is its high watermark, or the last stable offset for who reads what
is committed only.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from odradek.client.cluster import Cluster
from odradek.client.errors import NoAnswer, TlsFailed, TopicReplaced, Unreachable
from odradek.client.list_offsets import EARLIEST, LATEST, NO_OFFSET, list_offsets
from odradek.client.log_sizes import log_sizes
from odradek.client.security.settings import PLAINTEXT
from odradek.pipeline import errors
from odradek.pipeline.errors import SourceAway, SourceError, did_you_mean
from odradek.pipeline.security.words import TOPIC, Need, told
from odradek.protocol.errors import (
    InvalidTopic,
    KafkaError,
    MalformedRequest,
    RetriableError,
    UnknownTopicOrPartition,
)

NO_EPOCH = -1
_log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from odradek.client.list_offsets import ListedOffset
    from odradek.client.security.settings import Security
    from odradek.protocol.topic_partition import TopicPartition

    from .options import SourceOptions


class TopicView(NamedTuple):
    """A topic: its id (zeros where the broker knows none), and its partitions."""

    topic_id: bytes
    partitions: Sequence[int]


class LogEnd(NamedTuple):
    """Where reading ends, and the leader epoch in which it does; -1 if unknown."""

    offset: int
    leader_epoch: int = NO_EPOCH


class LogView(Protocol):
    """Answers what a plan depends on."""

    def topics(self, names: Collection[str] | None) -> Mapping[str, TopicView]:
        """These topics, or all.

        Raises:
            SourceError: one that is named is not there.
        """

    def starts(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """Where each partition begins."""

    def ends(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, LogEnd]:
        """Where each partition ends."""

    def offsets_since(
        self, times_ms: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """The first offset of that time or later; None where there is none yet."""

    def bytes_per_offset(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, float]:
        """About how much of a log an offset is; of those of which it is known."""


class BrokerView:
    """The logs as the leaders of a cluster have them."""

    def __init__(self, cluster: Cluster, *, committed: bool) -> None:
        self._cluster = cluster
        self._committed = committed

    def topics(self, names: Collection[str] | None) -> Mapping[str, TopicView]:
        """As `LogView` says."""
        metadata = self._cluster.metadata(names)
        for name in names or ():
            error = metadata.failed.get(name)
            if isinstance(error, (UnknownTopicOrPartition, InvalidTopic)):
                others = self._cluster.metadata().topics
                hint = did_you_mean(name, list(others))
                raise SourceError(f"There is no topic {name}.{hint}")
            if error is not None:
                need = Need("Describe", TOPIC, name)
                said = told(error, self._cluster.security, need)
                raise _refused(f"Topic {name}: {said}", error)
        return {
            name: TopicView(topic.topic_id, list(topic.leaders))
            for name, topic in metadata.topics.items()
        }

    def starts(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """As `LogView` says."""
        listed = self._list(dict.fromkeys(places, EARLIEST))
        return {place: found.offset for place, found in listed.items()}

    def ends(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, LogEnd]:
        """As `LogView` says."""
        listed = self._list(dict.fromkeys(places, LATEST))
        return {
            place: LogEnd(found.offset, found.leader_epoch)
            for place, found in listed.items()
        }

    def offsets_since(
        self, times_ms: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """As `LogView` says."""
        return {
            place: None if found.offset == NO_OFFSET else found.offset
            for place, found in self._list(times_ms).items()
        }

    def bytes_per_offset(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, float]:
        """As `LogView` says; a broker that does not tell is no trouble."""
        if not places:
            return {}
        try:
            sizes = log_sizes(self._cluster, places)
            starts, ends = self.starts(sizes), self.ends(sizes)
        except (KafkaError, OSError, SourceError) as error:
            _log.info("tasks are cut by offsets: %s", error)
            return {}
        counts = {place: ends[place].offset - starts[place] for place in sizes}
        return {place: sizes[place] / n for place, n in counts.items() if n > 0}

    def _list(
        self, times_ms: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, ListedOffset]:
        listing = list_offsets(
            self._cluster,
            times_ms,
            self._cluster.timeout_s,
            committed=self._committed,
        )
        for place, error in listing.failed.items():
            need = Need("Describe", TOPIC, place.topic)
            said = told(error, self._cluster.security, need)
            raise _refused(f"{place}: {said}", error)
        return listing.found


def cluster_of(options: SourceOptions) -> Cluster:
    """The cluster that the options name; nothing is connected yet."""
    try:
        security = options.access.security()
    except ValueError as error:  # what was right when the query began
        raise SourceError(str(error)) from None
    return Cluster(
        options.bootstrap,
        client_id=options.client_id,
        timeout_s=options.timeout_ms / 1000,
        security=security,
    )


@contextmanager
def connected(options: SourceOptions, *needs: Need) -> Iterator[Cluster]:
    """The same for a while; what it refuses is told as `SourceError`."""
    with cluster_of(options) as cluster, in_plain_words(cluster.security, *needs):
        yield cluster


@contextmanager
def in_plain_words(security: Security | None = None, *needs: Need) -> Iterator[None]:
    """Errors of the client become a `SourceError` that says what to look at.

    ``needs`` are the rights that are asked for meanwhile.
    """
    try:
        yield
    except TopicReplaced as error:
        raise errors.TopicRecreated(
            f"{error} To read the new one, give the query a checkpointLocation of "
            "its own."
        ) from error
    except TlsFailed as error:
        kind = SourceAway if error.may_pass else SourceError
        raise kind(told(error, security)) from error
    except (Unreachable, NoAnswer) as error:
        raise SourceAway(
            f"The broker does not answer: {error}. Is it running, and is "
            "kafka.bootstrap.servers (and what it advertises) right?"
            f"{_if_it_hung_up(error, security)}"
        ) from error
    except MalformedRequest as error:
        raise SourceError(
            f"No broker answers at kafka.bootstrap.servers: {error}"
        ) from error
    except ConnectionError as error:
        raise SourceAway(f"{error}.{_if_it_hung_up(error, security)}") from error
    except KafkaError as error:
        raise _refused(told(error, security, *needs), error) from error


def _if_it_hung_up(error: Exception, security: Security | None) -> str:
    """A broker that wants TLS, or a login, closes the connections of who does not."""
    if not any(word in str(error) for word in ("reset", "closed")):
        return ""
    protocol = PLAINTEXT if security is None else security.protocol
    return f" Is its listener one for {protocol} (kafka.security.protocol)?"


def _refused(text: str, error: KafkaError) -> SourceError:
    return (SourceAway if isinstance(error, RetriableError) else SourceError)(text)
