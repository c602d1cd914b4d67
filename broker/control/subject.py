"""What a request is about: topics and their partitions, groups, transactional ids.

Read from any message by the names that Kafka gives its fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import Struct
from odradek.protocol.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.requests.services import Services

_NAMES = ("name", "topic", "topic_name")
_PARTITION_LISTS = (
    "partition_data",
    "partition_indexes",
    "partition_responses",
    "partitions",
    "results_by_partition",
)
_PARTITION_NUMBERS = ("index", "partition_index", "partition")
_LISTS_OF_TOPICS = ("topic_names",)
_LISTS_OF_GROUPS = ("group_ids", "groups", "groups_names")
_IDS = ("transactional_id", "v3_and_below_transactional_id")
_LISTS_OF_IDS = ("transactional_ids",)
# These take topics out of something, and ask nothing about them.
_LEFT_OUT = ("forgotten_topics_data",)
_GROUP_KEY = 0  # of a FindCoordinator


class Subject:
    """What one request is about. ``is_all``: and about more than it names."""

    def __init__(self) -> None:
        self.topics: dict[str, set[int]] = {}
        self.groups: set[str] = set()
        self.transactional_ids: set[str] = set()
        self.is_all = False

    @classmethod
    def of(cls, request: Any, services: Services) -> Subject:
        """Of a decoded request."""
        subject = cls()
        subject._take(request, services)
        api_key = request.api_key
        if api_key == ApiKey.FIND_COORDINATOR:
            subject._take_keys(request)
        elif api_key == ApiKey.METADATA:
            subject.is_all = request.topics is None
        elif api_key == ApiKey.FETCH and request.session_id:
            for each in services.fetch_sessions.wanted_of(request.session_id):
                place = each.topic_partition
                subject.topics.setdefault(place.topic, set()).add(place.partition)
            for topic in request.forgotten_topics_data:
                known = subject.topics.get(name_of(topic, services), set())
                known.difference_update(topic.partitions)
        elif api_key == ApiKey.OFFSET_FETCH:
            subject.is_all = _wants_all_offsets(request)
        return subject

    def _take(self, part: Struct, services: Services) -> None:
        for field in part.fields:
            name, value = field.name, getattr(part, field.name)
            if name == "group_id" and value:
                self.groups.add(value)
            elif name in _IDS and value:
                self.transactional_ids.add(value)
            elif isinstance(value, list) and name not in _LEFT_OUT:
                self._take_list(name, value, services)

    def _take_list(self, name: str, values: list[Any], services: Services) -> None:
        for each in values:
            if is_topic(each):
                topic = self.topics.setdefault(name_of(each, services), set())
                topic.update(number_of(part) for part in parts_of(each))
            elif isinstance(each, Struct):
                self._take(each, services)
            elif name in _LISTS_OF_TOPICS:
                self.topics.setdefault(each, set())
            elif name in _LISTS_OF_GROUPS:
                self.groups.add(each)
            elif name in _LISTS_OF_IDS:
                self.transactional_ids.add(each)

    def _take_keys(self, request: Any) -> None:
        keys = {request.key, *request.coordinator_keys} - {""}
        if request.key_type == _GROUP_KEY:
            self.groups |= keys
        else:
            self.transactional_ids |= keys


def _wants_all_offsets(request: Any) -> bool:
    asked = request.groups or [request]
    return any(each.topics is None for each in asked)


def is_topic(part: Any) -> bool:
    """Whether this part of a message is about one topic."""
    return (
        isinstance(part, Struct)
        and "Topic" in type(part).__name__
        and any(hasattr(part, name) for name in (*_NAMES, "topic_id"))
    )


def name_of(topic: Any, services: Services) -> str:
    """The name of a topic in a message, which may have its id alone."""
    for name in _NAMES:
        if value := getattr(topic, name, ""):
            return str(value)
    known = services.metadata.by_id(getattr(topic, "topic_id", ZERO_UUID))
    return "" if known is None else known.name


def identity_of(topic: Any) -> tuple[Any, ...]:
    """What tells topics of one message apart."""
    return tuple(getattr(topic, name, None) for name in (*_NAMES, "topic_id"))


def parts_of(topic: Any) -> list[Any]:
    """The list of a topic's partitions in a message; empty where there is none."""
    for name in _PARTITION_LISTS:
        value = getattr(topic, name, None)
        if isinstance(value, list):
            return value
    return []


def list_name_of(topic: Any) -> str | None:
    """How the list of its partitions is called."""
    for name in _PARTITION_LISTS:
        if isinstance(getattr(topic, name, None), list):
            return name
    return None


def number_of(partition: Any) -> int:
    """The number of a partition, which may be all that there is of it."""
    for name in _PARTITION_NUMBERS:
        if hasattr(partition, name):
            return int(getattr(partition, name))
    return int(partition)


def lists_of(part: Struct) -> Iterator[tuple[str, list[Any]]]:
    """The lists in a part of a message, by their names."""
    for field in part.fields:
        value = getattr(part, field.name)
        if isinstance(value, list) and field.name not in _LEFT_OUT:
            yield field.name, value
