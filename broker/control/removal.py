"""Topics that are deleted with their files: nobody waits for these to be read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from odradek.broker.handlers.topics.topic_deletion import (
    delete_topics,
    finish_deletions,
)
from odradek.protocol.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.requests.services import Services


def check_ours(services: Services) -> None:
    """See that topics are this broker's to delete.

    Raises:
        InvalidRequest: they are those of a cluster.
    """
    if services.cluster is not None:
        raise InvalidRequest(
            "the broker is one of a cluster: topics are deleted by its controllers; "
            "any client can ask for that (kafka-topics.sh --delete)"
        )


async def remove_topics(services: Services, topic_ids: Iterable[bytes]) -> None:
    """Delete topics, and remove their files before this returns.

    Raises:
        KafkaError: they cannot be deleted.
    """
    check_ours(services)
    await services.groups.runtime.loaded()
    await services.transactions.runtime.loaded()
    share_states = services.share_states_in_use
    if share_states is not None:
        await share_states.runtime.loaded()
    await delete_topics(services, topic_ids)
    removal = services.log_manager.removal_job(sys.maxsize)
    if removal is not None:
        await services.disk_threads.run(removal)
    await finish_deletions(services)
