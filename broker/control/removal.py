"""Topics that are deleted with their files: nobody waits for these to be read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from odradek.broker.handlers.topics.topic_deletion import (
    delete_topics,
    finish_deletions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.requests.services import Services


async def remove_topics(services: Services, topic_ids: Iterable[bytes]) -> None:
    """Delete topics, and remove their files before this returns.

    Raises:
        KafkaError: they cannot be deleted.
    """
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
