"""The topics of a cluster: controllers decide, and the catalogue has what we know.

The catalogue is a copy of what the metadata log says, and knows besides what is of this
broker alone: which partitions were written, and where their directories are; and how
far the log was read. So a start finds what was decided before the stop, and sees when
the controllers have less than that.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from odradek.broker.cluster.controller_channel import Registered
from odradek.broker.config.options.member import COPIES_IN_CLUSTER
from odradek.broker.metadata.catalog.catalog import Change
from odradek.broker.metadata.topic_names import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
)
from odradek.broker.metadata.topics import Topics
from odradek.broker.runtime.clock import SystemClock
from odradek.broker.runtime.memory.limits import LimitedLog
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    KafkaError,
    MalformedRequest,
    UnknownServerError,
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

from .metadata_log import NOWHERE, LogPosition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.catalog.catalog import Catalog
    from odradek.broker.metadata.catalog.store import CatalogStore
    from odradek.broker.metadata.topic import NewTopic, Topic
    from odradek.broker.quorum.image.image import MetadataImage
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.schema import Request, Response
    from odradek.protocol.topic_partition import TopicPartition

_Response = TypeVar("_Response", bound="Response")

_CREATION_TIMEOUT_MS: Final = 30_000
# Clients wait for longer, but for all that they have asked about; then they ask again.
_PATIENCE_S: Final = 2.0
_FACTOR: Final = "replication factor"
_FROM_DEFAULTS: Final = -1
_MIN_IN_SYNC: Final = "min.insync.replicas"
# Of topics of the broker's own: the option that says how many copies there are, and the
# one that says how many must be in sync.
_COPIES: Final = {
    CONSUMER_OFFSETS: {_FACTOR: "offsets.topic.replication.factor"},
    TRANSACTION_STATE: {
        _FACTOR: "transaction.state.log.replication.factor",
        _MIN_IN_SYNC: "transaction.state.log.min.isr",
    },
    SHARE_GROUP_STATE: {
        _FACTOR: "share.coordinator.state.topic.replication.factor",
        _MIN_IN_SYNC: "share.coordinator.state.topic.min.isr",
    },
}
_OF_OTHERS: Final = {_FACTOR: "default.replication.factor"}
_NOT_ALLOWED: Final = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)

_READ_UNTIL: Final = "metadata_log_read_until"  # epoch and offset

_logger = logging.getLogger(__name__)


class Controller(Registered, Protocol):
    """Whom topics and ids are asked of."""

    async def applied_until(
        self, is_there: Callable[[MetadataImage], bool], timeout_ms: int
    ) -> bool:
        """Whether the metadata say so by then."""


class MemberTopics(Topics):
    """All topics of the cluster. Only what the metadata log says changes them."""

    gives_leader_epochs = False

    def __init__(
        self, catalog: Catalog, config: BrokerConfig, clock: Clock | None = None
    ) -> None:
        """``config`` says how many copies there are of what brokers ask for."""
        super().__init__(catalog)
        self._config = config
        self._log = LimitedLog(clock or SystemClock(), _logger.warning)
        self._creations: dict[str, asyncio.Task[dict[str, KafkaError]]] = {}
        self.read_until = _position(
            catalog.store.fact(_READ_UNTIL)
        )  # of the metadata log
        self.controller: Controller | None = None

    async def take_topics(self, wanted: list[NewTopic]) -> list[Topic | KafkaError]:
        """Note topics that the controllers have made."""
        return await super().create_topics(wanted) if wanted else []

    async def take_leader_epochs(
        self,
        epochs: Mapping[TopicPartition, int],
        read_until: LogPosition,
        *,
        is_news: bool,
    ) -> None:
        """Commit leader epochs; and how far the log is read, if that says more.

        ``is_news``: it says more than the epochs do.
        """

        def decide() -> Change:
            raised = self._raised(epochs)
            change = self._put(raised)
            if not raised and not is_news:
                return change

            def write(store: CatalogStore) -> None:
                if change.write is not None:
                    change.write(store)
                store.set_fact(_READ_UNTIL, f"{read_until.epoch} {read_until.offset}")

            def apply(_: None) -> None:
                change.apply(None)
                self.read_until = read_until

            return Change(apply, write)

        await self._catalog.change(decide)

    async def create_topics(self, wanted: list[NewTopic]) -> list[Topic | KafkaError]:
        """Ask the controllers for topics, and wait a moment until they are known here.

        What somebody has asked for already is not asked for again. One that takes
        longer is unknown until then.
        """
        new = [each for each in wanted if each.name not in self._creations]
        if new:
            creation = asyncio.get_running_loop().create_task(
                self._create(new), name="topics of the cluster"
            )
            self._creations |= dict.fromkeys([each.name for each in new], creation)
        creations = [self._creations[each.name] for each in wanted]
        if creations:
            await asyncio.wait(creations, timeout=_PATIENCE_S)
        made: list[Topic | KafkaError] = []
        for each, creation in zip(wanted, creations, strict=True):
            refused = creation.result().get(each.name) if creation.done() else None
            made.append(refused or self.get(each.name) or UnknownTopicOrPartition())
        return made

    async def _create(self, wanted: list[NewTopic]) -> dict[str, KafkaError]:
        """Return when they are known here; why not, of those that will not be."""
        try:
            refused = await self._ask_for(wanted)
        except KafkaError as error:
            refused = dict.fromkeys([each.name for each in wanted], error.as_value())
        finally:
            for each in wanted:
                self._creations.pop(each.name, None)
        for name, why in refused.items():
            self._tell(name, why)
        return refused

    async def _ask_for(self, wanted: list[NewTopic]) -> dict[str, KafkaError]:
        request = CreateTopicsRequest(
            topics=[_asked(each, self._config) for each in wanted],
            timeout_ms=_CREATION_TIMEOUT_MS,
        )
        response = await self._ask(request, CreateTopicsResponse)
        refused = {
            each.name: error_class(each.error_code)(each.error_message or None)
            for each in response.topics
            if each.error_code
        }
        names = [each.name for each in wanted if each.name not in refused]
        await self._controller.applied_until(
            lambda image: all(name in image.topic_ids for name in names),
            _CREATION_TIMEOUT_MS,
        )
        return refused

    def _tell(self, name: str, error: KafkaError) -> None:
        """What clients are not told, or cannot help: why there is no such topic."""
        if error.code == ErrorCode.TOPIC_ALREADY_EXISTS:
            return
        advice = ""
        if error.code in _NOT_ALLOWED:
            advice = "; the user of this broker needs CREATE on the cluster there"
        elif error.code == ErrorCode.INVALID_REPLICATION_FACTOR:
            option = _COPIES.get(name, _OF_OTHERS)[_FACTOR]
            advice = f"; {option} says how many copies it gets"
        line = f"the controllers make no topic {name}: {error}{advice}"
        self._log.warn_once((name, error.code), line)

    async def allocate_producer_id_block(self) -> range:
        """Ask the controllers for producer ids that nobody else has."""
        controller = self._controller
        response = await self._ask(
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

    async def _ask(
        self, request: Request, response_class: type[_Response]
    ) -> _Response:
        try:
            return await self._controller.ask_controller(request, response_class)
        except MalformedRequest as error:  # which no client of ours has made
            raise UnknownServerError(
                f"what the controller answers cannot be read: {error}"
            ) from error

    @property
    def _controller(self) -> Controller:
        assert self.controller is not None, "the broker has not joined yet"
        return self.controller


def _position(fact: str | int | None) -> LogPosition:
    return LogPosition(*map(int, str(fact).split())) if fact else NOWHERE


def _asked(topic: NewTopic, config: BrokerConfig) -> CreatableTopic:
    copies = {
        what: getattr(config, name.replace(".", "_"))
        if name in config.explicit
        else COPIES_IN_CLUSTER.get(name, _FROM_DEFAULTS)
        for what, name in _COPIES.get(topic.name, _OF_OTHERS).items()
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
