"""Topics without a client.

``topics.create`` (``topics``: objects with ``name``, ``partitions``, ``config``): an
item for each that was made. ``topics.delete`` (``topics``: names): an item for each.
Their files are gone when that answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.metadata.topic_creation import (
    USE_DEFAULT,
    WantedTopic,
    check_wanted,
)
from odradek.broker.operate.admin_socket import AdminError
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.terminal.spelling import did_you_mean

from .fields import Fields, refusal, refused_by
from .removal import remove_topics

if TYPE_CHECKING:
    from odradek.broker.metadata.topic import NewTopic, Topic
    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request
    from odradek.broker.requests.services import Services


UNKNOWN_TOPIC = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name


def topic_requests(services: Services) -> dict[str, AdminRequest]:
    """What answers each."""

    async def create(request: Request) -> Items:
        fields = Fields(request)
        wanted = [_wanted(services, each) for each in fields.items("topics")]
        fields.end()
        for made in await services.metadata.create_topics(wanted):
            if isinstance(made, KafkaError):
                raise refused_by(made)
            yield {"topic": made.name, "partitions": len(made.partitions)}

    async def delete(request: Request) -> Items:
        fields = Fields(request)
        names = fields.texts("topics")
        fields.end()
        ids = [known_topic(services, name).topic_id for name in names]
        try:
            await remove_topics(services, ids)
        except KafkaError as error:
            raise refused_by(error) from None
        for name in names:
            yield {"topic": name}

    return {"topics.create": create, "topics.delete": delete}


def _wanted(services: Services, asked: Any) -> NewTopic:
    if not isinstance(asked, dict):
        raise refusal(f"topics has {asked!r}; it is objects with a name")
    fields = Fields(asked)
    name = fields.text("name")
    count = fields.number("partitions", USE_DEFAULT, at_least=1)
    config = fields.mapping("config", {})
    fields.end()
    options = {name: str(value) for name, value in config.items()}
    wanted = WantedTopic(name, count, USE_DEFAULT, [], options)
    try:
        services.metadata.check_new_name(name)
        return check_wanted(wanted, services.config)
    except KafkaError as error:
        raise refused_by(error) from None


def known_topic(services: Services, name: str) -> Topic:
    """The topic of that name.

    Raises:
        AdminError: there is none; the message has the nearest name.
    """
    topic = services.metadata.get(name)
    if topic is None:
        raise AdminError(UNKNOWN_TOPIC, missing_topic(services, name))
    return topic


def missing_topic(services: Services, name: str) -> str:
    """That there is no such topic, and what may have been meant."""
    meant = did_you_mean(name, [each.name for each in services.metadata])
    hint = f"; did you mean {meant}?" if meant else ""
    return f"there is no topic {name}{hint}"
