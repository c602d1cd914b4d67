"""How many partitions a request makes or deletes: what the quota of changes counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)

if TYPE_CHECKING:
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.requests.services import Services


def mutation_count(request: object, services: Services) -> int:
    """The partitions that ``request`` makes or deletes, as far as it may."""
    if isinstance(request, CreateTopicsRequest):
        return _of_creation(request, services)
    if isinstance(request, CreatePartitionsRequest):
        return _of_more_partitions(request, services)
    if isinstance(request, DeleteTopicsRequest):
        return _of_deletion(request, services)
    return 0


def _of_creation(request: CreateTopicsRequest, services: Services) -> int:
    if request.validate_only:
        return 0
    default = services.config.num_partitions
    count = 0
    for topic in request.topics:
        if topic.assignments:
            count += len(topic.assignments)
        else:
            count += default if topic.num_partitions < 0 else topic.num_partitions
    return count


def _of_more_partitions(request: CreatePartitionsRequest, services: Services) -> int:
    if request.validate_only:
        return 0
    count = 0
    for wanted in request.topics:
        topic = services.metadata.get(wanted.name)
        if topic is not None:
            count += max(wanted.count - len(topic.partitions), 0)
    return count


def _of_deletion(request: DeleteTopicsRequest, services: Services) -> int:
    found: list[Topic | None] = [
        services.metadata.get(name) for name in request.topic_names
    ]
    for state in request.topics:
        if state.name is None:
            found.append(services.metadata.by_id(bytes(state.topic_id)))
        else:
            found.append(services.metadata.get(state.name))
    return sum(len(topic.partitions) for topic in found if topic is not None)
