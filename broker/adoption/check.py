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
    from odradek.storage.files.files import Files

_DEFAULT_NODE_ID: Final = OPTIONS["node.id"][1].default


def check_adopted(config: BrokerConfig, files: Files) -> None:
    """See that there is a catalogue, or nothing that should have one.

    Raises:
        StartError: there is a log directory that somebody else wrote.
    """
    catalog = config.catalog_directory
    if files.exists(catalog / CATALOG) or files.exists(catalog / BACKUP):
        return
    for directory in config.log_dirs:
        if files.exists(directory / META_PROPERTIES_NAME):
            every = " ".join(map(str, config.log_dirs))
            where = "" if catalog == config.log_dirs[0] else f" --catalog-dir {catalog}"
            raise StartError(
                f"{directory} has data and no catalogue: if Apache Kafka wrote it, run"
                f" 'odradek adopt {every}{where}' first"
            )


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
