"""The cluster as its metadata log describes it, on a disk or at the controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.replay import Replay
from odradek.client.address import Address

from .view import (
    FENCED,
    GONE,
    READY,
    STOPPING,
    BrokerView,
    ClusterView,
    FeatureView,
    PartitionView,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from odradek.broker.quorum.image.image import BrokerImage, MetadataImage
    from odradek.broker.quorum.quorum_reader import QuorumReader
    from odradek.client.quorum import Quorum
    from odradek.client.security.settings import Security

_CONTROLLERS = 2  # of DescribeCluster's endpoint types
_FETCH_TIMEOUT_S = 2.0  # of one controller, before another is asked


def read_directory(path: Path) -> ClusterView:
    """What a metadata log on this disk says: in ``path``, or at it.

    Raises:
        FileNotFoundError: there is none.
        MetadataLogError: it cannot be read.
    """
    from odradek.broker.quorum.metadata_directory import (
        METADATA_DIRECTORY,
        find_metadata_directory,
        read_metadata_log,
    )
    from odradek.storage.files.files import OsFiles
    from odradek.storage.files.meta_properties import (
        BadMetaProperties,
        read_meta_properties,
    )

    directory = find_metadata_directory(path)
    if directory is None:
        raise FileNotFoundError(f"there is no {METADATA_DIRECTORY} in {path}")
    notes: list[str] = []
    files = OsFiles()
    image = read_metadata_log(files, directory, notes, Replay).publish()
    try:
        properties = read_meta_properties(files, directory.parent)
    except BadMetaProperties as error:
        raise MetadataLogError(str(error)) from error
    cluster_id = properties.cluster_id if properties is not None else None
    return image_view(image, cluster_id, None, notes)


def ask_controllers(
    bootstrap: Sequence[Address], security: Security | None, timeout_s: float
) -> ClusterView:
    """What the leader of a quorum says, and its metadata log.

    Raises:
        KafkaError, OSError: there is no leader, or we are refused.
        MetadataLogError: the log cannot be read.
    """
    from odradek.client.quorum import describe_quorum
    from odradek.protocol.messages.cluster import (
        DescribeClusterRequest,
        DescribeClusterResponse,
    )

    with reader_of(bootstrap, security, timeout_s) as reader:
        reader.catch_up(timeout_s)
        quorum = describe_quorum(reader.request_leader)
        described = reader.request_leader(
            DescribeClusterRequest(endpoint_type=_CONTROLLERS), DescribeClusterResponse
        )
        image = reader.observer.replay.image
    return image_view(image, described.cluster_id, quorum, ())


def reader_of(
    bootstrap: Sequence[Address], security: Security | None, timeout_s: float
) -> QuorumReader:
    """Reads the metadata log of these controllers; nothing is connected yet."""
    from odradek.broker.quorum.observer import Observer
    from odradek.broker.quorum.quorum_reader import QuorumReader
    from odradek.client.connection import Connection

    def connect(address: Address) -> Connection:
        wait_s = min(timeout_s, _FETCH_TIMEOUT_S)
        return Connection(*address, timeout_s=wait_s, security=security)

    return QuorumReader(Observer(bootstrap, Replay()), connect)


def image_view(
    image: MetadataImage,
    cluster_id: str | None,
    quorum: Quorum | None,
    notes: Sequence[str],
) -> ClusterView:
    """What an image says."""
    partitions = [
        PartitionView(topic.name, number, each.leader, each.replicas, each.isr)
        for topic, number, each in image.partitions()
    ]
    named = {replica for each in partitions for replica in each.replicas}
    brokers = [_broker_view(each) for each in image.brokers.values()]
    brokers += [
        BrokerView(broker_id, None, None, GONE)
        for broker_id in named - {*image.brokers}
    ]
    return ClusterView(
        cluster_id,
        sorted(brokers),
        partitions,
        _features(image),
        quorum,
        image.offset,
        [voter.voter_id for voter in image.quorum.voters],
        notes,
    )


def _broker_view(broker: BrokerImage) -> BrokerView:
    at = broker.endpoints[0] if broker.endpoints else None
    state = FENCED if broker.is_fenced else STOPPING if broker.is_stopping else READY
    address = None if at is None else str(Address(at.host, at.port))
    return BrokerView(broker.broker_id, address, broker.rack, state)


def _features(image: MetadataImage) -> list[FeatureView]:
    """By name: what is agreed on, and what all nodes can do."""
    possible: dict[str, tuple[int, int]] = {}
    of_nodes = [each.features for each in image.brokers.values()]
    of_nodes += [each.features for each in image.controllers.values()]
    for features in of_nodes:
        for name, (level_min, level_max) in features.items():
            low, high = possible.get(name, (level_min, level_max))
            possible[name] = max(low, level_min), min(high, level_max)
    levels = dict(image.features)
    if "kraft.version" in possible:
        levels.setdefault("kraft.version", image.quorum.kraft_version)
    return [
        FeatureView(name, levels.get(name, 0), possible.get(name))
        for name in sorted({*levels, *possible})
    ]
