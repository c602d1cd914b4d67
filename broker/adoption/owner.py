"""Whether the directory of a broker may be that of one of a cluster.

On its topics decides the catalogue in the one case, in the other the controllers of the
cluster. A broker of a cluster that finds topics of its own would delete them; one alone
that finds those of a cluster would answer for partitions that others lead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from odradek.broker.runtime.start_error import StartError
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.directory.log_directory import DirectoryKind, parse_directory_name
from odradek.storage.files.meta_properties import (
    BadMetaProperties,
    read_meta_properties,
)

from .check import MEMBER, has_catalog

if TYPE_CHECKING:
    from pathlib import Path

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.catalog.catalog import Catalog
    from odradek.storage.files.files import Files


def with_known_cluster(config: BrokerConfig, files: Files) -> BrokerConfig:
    """The options with the cluster's id that the directories of a member say.

    Raises:
        StartError: nobody says it, or somebody else has written logs there.
    """
    if has_catalog(config, files):
        return config  # which has it
    found = None
    for directory in config.log_dirs:
        _see_that_it_is_empty(directory, files)
        try:
            found = read_meta_properties(files, directory) or found
        except (BadMetaProperties, KafkaStorageError, OSError):
            continue  # reported when the directory is opened
    if config.cluster_id is not None:
        return config
    if found is None:
        raise StartError(
            "cluster.id is not set, and no directory of log.dirs says which cluster to"
            " join: set it to what kafka-cluster.sh cluster-id, or odradek cluster"
            " describe, says of that cluster"
        )
    return replace(config, cluster_id=found.cluster_id)


def take_for_member(config: BrokerConfig, catalog: Catalog) -> None:
    """Have the catalogue be that of a member from now on.

    Raises:
        StartError: it is of a broker that was alone.
    """
    if catalog.change_count or catalog.store.topics():
        raise StartError(
            f"{config.catalog_directory} is of a broker that was all of its own"
            " cluster, and has its topics: a broker that joins a cluster begins with an"
            " empty directory; odradek mirror takes topics from one to the other"
        )
    catalog.store.set_fact(MEMBER, 1)


def _see_that_it_is_empty(directory: Path, files: Files) -> None:
    names = files.listdir(directory) if files.exists(directory) else []
    for name in names:
        parsed = parse_directory_name(name)
        if parsed is not None and parsed.kind is DirectoryKind.LOG:
            raise StartError(
                f"{directory} has logs ({name}) and no catalogue: a broker that joins a"
                " cluster begins with an empty directory, and gets its partitions by"
                " reassigning them (kafka-reassign-partitions.sh)"
            )
