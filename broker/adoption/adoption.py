"""Taking over the log directories that Apache Kafka wrote: a catalogue for them.

Nothing of Kafka's is changed. What the catalogue says comes from the metadata log
where there is one, from the names and small files of the directories where there is
none. A partition that should be there and is not is offline, never empty.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.broker.quorum.metadata_directory import find_metadata_directory
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import random_uuid, to_text
from odradek.storage.files.read_only_files import ReadOnlyFiles

from .metadata import AdoptionError, read_cluster_metadata
from .options import AdoptedOptions, check_overrides
from .producer_ids import highest_producer_id
from .resources import AdoptedResources
from .survey import check_no_catalog, check_same_cluster, held, survey
from .writing import AdoptedPartition, AdoptedTopic, write_catalog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from odradek.broker.config.options.broker_config import BrokerConfig

    from .metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
    from .survey import PartitionDirectory, Survey

_WHY_SET_ASIDE: Final = {
    "delete": "a deleted topic's, which the broker will remove",
    "stray": "Kafka found no topic for it",
    "future": "a copy that Kafka was moving there; the broker begins the move anew",
}


@dataclass(frozen=True, slots=True)
class AdoptionRequest:
    """What to adopt, and how.

    ``metadata_path`` is where the metadata log lies if not in one of the
    directories; ``reads_metadata`` is false to do without it. ``overrides`` are
    options by topic; those of the topic ``*`` are for every one.
    """

    directories: Sequence[Path]
    catalog_directory: Path
    metadata_path: Path | None = None
    reads_metadata: bool = True
    overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Adoption(NamedTuple):
    """What the catalogue will say, and what the operator should know about it."""

    cluster_id: str
    node_id: int
    topics: list[AdoptedTopic]
    next_producer_id: int
    metadata_directory: Path | None
    resources: AdoptedResources
    notes: list[str]


def adopt(
    request: AdoptionRequest, broker: BrokerConfig, *, is_dry_run: bool = False
) -> Adoption:
    """Make the catalogue, or only say what it would be.

    ``broker`` has the defaults of what topics do not set.

    Raises:
        AdoptionError, DirectoryInUse: it is refused; nothing was changed.
        InvalidConfig: no topic can have an option of the request.
        KafkaStorageError, OSError, CatalogError: the disk refuses.
    """
    check_overrides(request.overrides, broker)
    directories = list(request.directories)
    if len({each.resolve() for each in directories}) < len(directories):
        raise AdoptionError("a log directory is given twice")
    metadata_directory = _find_metadata(request)
    held_too = {each.resolve() for each in directories}
    if metadata_directory is not None:
        held_too.add(metadata_directory.resolve().parent)
    with held(sorted(held_too)):
        adoption = _Planner(request, broker, metadata_directory).plan()
        if not is_dry_run:
            write_catalog(
                request.catalog_directory,
                adoption.topics,
                {
                    "cluster_id": adoption.cluster_id,
                    "next_producer_id": adoption.next_producer_id,
                },
                adoption.resources.options,
                adoption.resources.acls,
                adoption.resources.tokens,
            )
    return adoption


def _find_metadata(request: AdoptionRequest) -> Path | None:
    if not request.reads_metadata:
        return None
    if request.metadata_path is not None:
        found = find_metadata_directory(request.metadata_path)
        if found is None:
            raise AdoptionError(
                f"there is no __cluster_metadata-0 in {request.metadata_path}"
            )
        return found
    for directory in request.directories:
        found = find_metadata_directory(directory)
        if found is not None:
            return found
    return None


class _Planner:
    """Puts together what the metadata and the directories say."""

    def __init__(
        self,
        request: AdoptionRequest,
        broker: BrokerConfig,
        metadata_directory: Path | None,
    ) -> None:
        self.notes: list[str] = []
        self._request = request
        self._broker = broker
        self._metadata_directory = metadata_directory
        self._files = ReadOnlyFiles()

    def plan(self) -> Adoption:
        """Everything that the catalogue will say."""
        check_no_catalog(self._files, self._request.catalog_directory)
        found = survey(self._files, self._request.directories, self.notes)
        metadata = self._read_metadata(found)
        node_id = found.identity.node_id
        resources = AdoptedResources(metadata, node_id, self._broker)
        self.notes += resources.notes
        options = AdoptedOptions(metadata, self._request.overrides, resources.broker)
        if metadata is None:
            topics = self._topics_of_directories(found, options)
        else:
            topics = self._topics_of_metadata(found, metadata, options)
        self._check_overrides(topics)
        return Adoption(
            found.identity.cluster_id,
            found.identity.node_id,
            sorted(topics, key=lambda topic: topic.name),
            self._next_producer_id(metadata),
            self._metadata_directory,
            resources,
            self.notes + options.notes,
        )

    def _read_metadata(self, found: Survey) -> ClusterMetadata | None:
        for path in found.unclean:
            self.notes.append(
                f"{path} was not closed by a clean stop; its logs are recovered when"
                " they are opened"
            )
        for path in found.set_aside:
            self.notes.append(
                f"{path} is left as it is: {_WHY_SET_ASIDE[_suffix(path)]}"
            )
        directory = self._metadata_directory
        if directory is None:
            return None
        metadata = read_cluster_metadata(self._files, directory, self.notes)
        check_same_cluster(self._files, directory.parent, found.identity)
        return metadata

    def _next_producer_id(self, metadata: ClusterMetadata | None) -> int:
        known = 0 if metadata is None else metadata.next_producer_id
        highest = max(
            highest_producer_id(self._files, directory)
            for directory in self._request.directories
        )
        return max(known, highest + 1)

    def _check_overrides(self, topics: list[AdoptedTopic]) -> None:
        names = {topic.name for topic in topics} | {"*"}
        for name in self._request.overrides:
            if name not in names:
                raise AdoptionError(f"there is no topic {name} to set options of")

    # With a metadata log

    def _topics_of_metadata(
        self, found: Survey, metadata: ClusterMetadata, options: AdoptedOptions
    ) -> list[AdoptedTopic]:
        topics = []
        strangers = dict(found.partitions)
        for topic in metadata.topics.values():
            partitions = []
            for number in range(topic.partition_count):
                directory = found.partitions.get(TopicPartition(topic.name, number))
                if directory and directory.topic_id in (None, topic.topic_id):
                    del strangers[directory.topic_partition]
                    known = topic.partitions.get(number)
                    partitions.append(_present(directory, known))
                else:
                    partitions.append(self._absent(topic, number, found))
            topics.append(
                AdoptedTopic(
                    topic.name,
                    topic.topic_id,
                    options.of_topic(topic.name),
                    partitions,
                )
            )
        for stranger in strangers.values():
            self.notes.append(
                f"{stranger.path} belongs to no topic in the metadata; it is left as"
                " it is"
            )
        return topics

    def _absent(
        self, topic: TopicMetadata, number: int, found: Survey
    ) -> AdoptedPartition:
        known = topic.partitions.get(number)
        node_id = found.identity.node_id
        name = f"{topic.name}-{number}"
        if known is None or node_id not in known.replicas:
            self.notes.append(f"{name} was on other brokers only; it begins empty")
            epoch = 0 if known is None else known.leader_epoch
            return AdoptedPartition(number, max(epoch, 0), None, False)
        index = known.replicas.index(node_id)
        where = "its directory is missing"
        if index < len(known.directories):
            directory_id = known.directories[index]
            if directory_id not in found.directory_ids:
                where = f"it is in the log directory with id {to_text(directory_id)}"
        self.notes.append(f"{name} is offline: {where}")
        return AdoptedPartition(number, max(known.leader_epoch, 0), None, True)

    # Without one

    def _topics_of_directories(
        self, found: Survey, options: AdoptedOptions
    ) -> list[AdoptedTopic]:
        by_topic: dict[str, dict[int, PartitionDirectory]] = defaultdict(dict)
        for (topic, number), directory in found.partitions.items():
            by_topic[topic][number] = directory
        return [
            AdoptedTopic(
                name,
                self._topic_id(name, directories),
                options.of_topic(name),
                self._partitions(name, directories),
            )
            for name, directories in by_topic.items()
        ]

    def _topic_id(self, name: str, directories: dict[int, PartitionDirectory]) -> bytes:
        ids = {
            directory.topic_id: directory.path
            for directory in directories.values()
            if directory.topic_id is not None
        }
        if len(ids) > 1:
            said = ", ".join(
                f"{to_text(topic_id)} in {path}" for topic_id, path in ids.items()
            )
            raise AdoptionError(
                f"the partitions of topic {name} have different topic ids: {said};"
                " move away those of the older topic"
            )
        if ids:
            return next(iter(ids))
        topic_id = random_uuid()
        self.notes.append(f"topic {name} gets the new id {to_text(topic_id)}")
        return topic_id

    def _partitions(
        self, name: str, directories: dict[int, PartitionDirectory]
    ) -> list[AdoptedPartition]:
        partitions = []
        for number in range(max(directories) + 1):
            directory = directories.get(number)
            if directory is not None:
                partitions.append(_present(directory, None))
            else:
                self.notes.append(f"{name}-{number} has no directory; it begins empty")
                partitions.append(AdoptedPartition(number, 0, None, False))
        return partitions


def _suffix(path: Path) -> str:
    return path.name.rpartition("-")[2]


def _present(
    directory: PartitionDirectory, known: PartitionMetadata | None
) -> AdoptedPartition:
    epoch = max(directory.leader_epoch, 0)
    if known is not None:
        epoch = max(epoch, known.leader_epoch)
    return AdoptedPartition(
        directory.topic_partition.partition,
        epoch,
        directory.path.parent,
        directory.has_records,
    )
