"""Before the start: a directory that another broker wrote must be adopted first.

A ``meta.properties`` without a catalogue is that of Apache Kafka. Its partitions
would be strangers to a new catalogue, and its topics would be gone for clients.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from odradek.broker.config.options.broker_config import OPTIONS
from odradek.broker.metadata.catalog.recovery import BACKUP, CATALOG
from odradek.broker.runtime.start_error import StartError
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.meta_properties import (
    META_PROPERTIES_NAME,
    BadMetaProperties,
    read_meta_properties,
)

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.catalog.catalog import Catalog
    from odradek.storage.files.files import Files

MEMBER: Final = "is_member"  # a fact of the catalogue
_DEFAULT_NODE_ID: Final = OPTIONS["node.id"][1].default


def check_adopted(config: BrokerConfig, files: Files) -> None:
    """See that there is a catalogue, or nothing that should have one.

    Raises:
        StartError: there is a log directory that somebody else wrote.
    """
    catalog = config.catalog_directory
    if has_catalog(config, files):
        return
    for directory in config.log_dirs:
        if files.exists(directory / META_PROPERTIES_NAME):
            every = " ".join(map(str, config.log_dirs))
            where = "" if catalog == config.log_dirs[0] else f" --catalog-dir {catalog}"
            raise StartError(
                f"{directory} has data and no catalogue: if Apache Kafka wrote it, run"
                f" 'odradek adopt {every}{where}' first"
            )


def with_known_identity(config: BrokerConfig, files: Files) -> BrokerConfig:
    """The options with what the log directories say of whom they belong to.

    Raises:
        StartError: somebody else wrote them; or nobody says which cluster to join.
    """
    if config.is_member:
        from .owner import with_known_cluster  # few brokers are

        return with_known_cluster(config, files)
    check_adopted(config, files)
    return with_known_node_id(config, files)


def check_owner(config: BrokerConfig, catalog: Catalog) -> None:
    """See that the catalogue is of a broker alone, or of one of a cluster, as this is.

    Raises:
        StartError: it is not.
    """
    is_members = catalog.store.fact(MEMBER) is not None
    if is_members and not config.is_member:
        raise StartError(
            f"{config.catalog_directory} is of a broker of the cluster"
            f" {catalog.cluster_id}, whose controllers decide on its topics: set"
            " process.roles=broker and controller.quorum.bootstrap.servers, or use"
            " another directory"
        )
    if config.is_member and not is_members:
        from .owner import take_for_member

        take_for_member(config, catalog)


def has_catalog(config: BrokerConfig, files: Files) -> bool:
    """Whether there is one, or a copy to make it of."""
    return any(files.exists(config.catalog_directory / x) for x in (CATALOG, BACKUP))


def with_known_node_id(config: BrokerConfig, files: Files) -> BrokerConfig:
    """The options with the node id that the log directories say.

    One that somebody set stays; the directories refuse it if it is another.
    """
    if "node.id" in config.explicit or config.node_id != _DEFAULT_NODE_ID:
        return config
    for directory in config.log_dirs:
        try:
            identity = read_meta_properties(files, directory)
        except (BadMetaProperties, KafkaStorageError, OSError):
            # Reported when the directory is opened.
            continue
        if identity is not None:
            return replace(config, node_id=identity.node_id)
    return config
