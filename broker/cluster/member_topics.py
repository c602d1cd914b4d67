"""The topics of a cluster: controllers decide, and the catalogue has what we know.

The catalogue is a copy of what the metadata log says, and knows besides what is of this
broker alone: which partitions were written, and where their directories are. So a start
finds what was decided before the stop, and a topic that was deleted meanwhile is one
whose files go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from odradek.broker.metadata.topic_names import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
)
from odradek.broker.metadata.topics import Topics
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    KafkaError,
    UnknownTopicOrPartition,
    error_class,
)
from odradek.protocol.messages.brokers import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from odradek.protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.catalog.catalog import Catalog
    from odradek.broker.metadata.topic import NewTopic, Topic
    from odradek.broker.quorum.image.image import MetadataImage
    from odradek.protocol.schema import Request, Response

_Response = TypeVar("_Response", bound="Response")

_CREATION_TIMEOUT_MS: Final = 30_000
_FACTOR: Final = "replication factor"
_FROM_DEFAULTS: Final = -1
_MIN_IN_SYNC: Final = "min.insync.replicas"
# Of topics of the broker's own: the option that says how many copies there are, the one
# that says how many must be in sync, and what holds in a cluster where they are unset.
_COPIES: Final = {
    CONSUMER_OFFSETS: {_FACTOR: ("offsets.topic.replication.factor", 3)},
    TRANSACTION_STATE: {
        _FACTOR: ("transaction.state.log.replication.factor", 3),
        _MIN_IN_SYNC: ("transaction.state.log.min.isr", 2),
    },
    SHARE_GROUP_STATE: {
        _FACTOR: ("share.coordinator.state.topic.replication.factor", 3),
        _MIN_IN_SYNC: ("share.coordinator.state.topic.min.isr", 2),
    },
}
_OF_OTHERS: Final = {_FACTOR: ("default.replication.factor", _FROM_DEFAULTS)}


class Controller(Protocol):
    """Whom topics and ids are asked of."""

    @property
    def node_id(self) -> int:
        """The id of this broker."""

    @property
    def broker_epoch(self) -> int:
        """That of its registration."""

    async def ask_controller(
        self, request: Request, response_class: type[_Response]
    ) -> _Response:
        """The answer of the controller that leads."""

    async def applied_until(
        self, is_there: Callable[[MetadataImage], bool], timeout_ms: int
    ) -> bool:
        """Whether the metadata say so by then."""


class MemberTopics(Topics):
    """All topics of the cluster. Only what the metadata log says changes them."""

    gives_leader_epochs = False

    def __init__(self, catalog: Catalog, config: BrokerConfig) -> None:
        """``config`` says how many copies there are of what brokers ask for."""
        super().__init__(catalog)
        self._config = config
        self.controller: Controller | None = None

    async def take_topics(self, wanted: list[NewTopic]) -> list[Topic | KafkaError]:
        """Note topics that the controllers have made."""
        return await super().create_topics(wanted)

    async def create_topics(self, wanted: list[NewTopic]) -> list[Topic | KafkaError]:
        """Ask the controllers for topics, and wait until they are known here."""
        if not wanted:
            return []
        controller = self._controller
        request = CreateTopicsRequest(
            topics=[_asked(each, self._config) for each in wanted],
            timeout_ms=_CREATION_TIMEOUT_MS,
        )
        response = await controller.ask_controller(request, CreateTopicsResponse)
        refused = {
            each.name: error_class(each.error_code)(each.error_message or "")
            for each in response.topics
            if each.error_code
        }
        names = [each.name for each in wanted if each.name not in refused]
        await controller.applied_until(
            lambda image: all(name in image.topic_ids for name in names),
            _CREATION_TIMEOUT_MS,
        )
        return [
            refused.get(each.name) or self.get(each.name) or UnknownTopicOrPartition()
            for each in wanted
        ]

    async def allocate_producer_id_block(self) -> range:
        """Ask the controllers for producer ids that nobody else has."""
        controller = self._controller
        response = await controller.ask_controller(
            AllocateProducerIdsRequest(
                broker_id=controller.node_id, broker_epoch=controller.broker_epoch
            ),
            AllocateProducerIdsResponse,
        )
        if response.error_code:
            raise CoordinatorNotAvailable(
                f"the controllers give no producer ids: error {response.error_code}"
            )
        start = response.producer_id_start
        return range(start, start + response.producer_id_len)

    @property
    def _controller(self) -> Controller:
        assert self.controller is not None, "the broker has not joined yet"
        return self.controller


def _asked(topic: NewTopic, config: BrokerConfig) -> CreatableTopic:
    copies = {
        what: getattr(config, name.replace(".", "_"))
        if name in config.explicit
        else default
        for what, (name, default) in _COPIES.get(topic.name, _OF_OTHERS).items()
    }
    factor = copies.pop(_FACTOR)
    options = {**topic.options, **{name: str(copies[name]) for name in copies}}
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partition_count,
        replication_factor=factor,
        configs=[
            CreatableTopicConfig(name=name, value=value)
            for name, value in options.items()
        ],
    )
