"""Which directories belong to no topic, and which topics have lost theirs.

Found out once, before anybody is served: a topic that is made later may have the name
of a directory that was there, whose records are not its own.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.storage.directory.log_manager import LogManager

    from .topics import Topics

_NAMED_MAX = 10

_logger = logging.getLogger(__name__)


def compare_directories(topics: Topics, log_manager: LogManager) -> None:
    """Tell ``topics`` which directories are strangers, and which partitions offline.

    Strangers are kept as they are, and named. A partition that holds records and has
    no files is offline, never empty.
    """
    found = log_manager.directories_of()
    for topic_partition, path in found.items():
        if topics.partition(topic_partition) is None:
            topics.strangers.add(topic_partition)
            _logger.warning("%s belongs to no topic; it is left as it is", path)
    gone = [each for each in topics.written_partitions() if each not in found]
    topics.offline.update(gone)
    if gone:
        _logger.error(
            "%d partitions hold records and are offline, their directories are "
            "gone: %s%s",
            len(gone),
            ", ".join(map(str, gone[:_NAMED_MAX])),
            " and others" if len(gone) > _NAMED_MAX else "",
        )
