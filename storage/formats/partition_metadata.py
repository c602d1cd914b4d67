"""``partition.metadata``: the id of the topic to which a partition's directory belongs.

.. code-block:: text

    version: 0
    topic_id: yE-4XVDfSdeFkun9NFVDag

Without a newline at the end. A directory whose id is not that of the topic holds the
log of an older topic of the same name.
"""

from typing import Final

from odradek.protocol.uuids import ZERO_UUID, from_text, to_text

PARTITION_METADATA_NAME: Final = "partition.metadata"

_VERSION = "0"


class BadPartitionMetadata(ValueError):
    """A ``partition.metadata`` that cannot be read."""


def format_partition_metadata(topic_id: bytes) -> bytes:
    """The content of the file."""
    return f"version: {_VERSION}\ntopic_id: {to_text(topic_id)}".encode()


def parse_partition_metadata(data: bytes) -> bytes:
    """The topic id.

    Raises:
        BadPartitionMetadata: another version, no id, or the id of no topic.
    """
    try:
        lines = data.decode().splitlines()
        fields = dict(line.split(": ", 1) for line in lines if line)
        version, topic_id = fields["version"], from_text(fields["topic_id"].strip())
    except (KeyError, ValueError) as error:
        raise BadPartitionMetadata(f"malformed: {data[:100]!r}") from error
    if version.strip() != _VERSION:
        raise BadPartitionMetadata(f"version {version!r} is not known")
    if topic_id == ZERO_UUID:
        raise BadPartitionMetadata("the topic id is zero")
    return topic_id
