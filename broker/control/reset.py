"""Back to an empty broker, for the next test.

``reset``: topics, groups and transactional ids are gone, and their files, when that
answers; one item says how many topics there were. What other subjects keep they let go
of by what they have put into ``ControlledServer.on_reset``.

The topics of the coordinators go with the others, and with them all groups and
transactional ids. Members and producers that are still there look for their coordinator
again, and are then unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import KafkaError

from .fields import Fields, refused_by
from .removal import check_ours, remove_topics

if TYPE_CHECKING:
    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request

    from .server import ControlledServer


def reset_requests(server: ControlledServer) -> dict[str, AdminRequest]:
    """What answers each."""

    async def reset(request: Request) -> Items:
        Fields(request).end()
        services = server.services
        topic_ids = [topic.topic_id for topic in services.metadata]
        try:
            check_ours(services)
            for let_go in server.on_reset:
                let_go()
            await remove_topics(services, topic_ids)
        except KafkaError as error:
            raise refused_by(error) from None
        yield {"topics": len(topic_ids)}

    return {"reset": reset}
