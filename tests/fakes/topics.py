"""A catalogue with topics in a directory, and requests of it without a network."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from odradek.broker import handlers
from odradek.broker.config.live_config import LiveConfig
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.delegation_tokens import DelegationTokens
from odradek.broker.metadata.resource_options import ResourceOptions
from odradek.broker.metadata.topics import Topics
from odradek.broker.node.authorizing import authorizer_of
from odradek.broker.node.parts import Parts
from odradek.broker.requests.context import ConnectionInfo, RequestContext
from odradek.broker.requests.needs import guarded
from odradek.broker.requests.registry import registered_handlers
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.protocol.compiler import decoder
from odradek.protocol.schema import Request, Response
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.clock import FakeClock

handlers.load()


class FakeReplicaManager:
    """Knows which partitions it was told to stop."""

    def __init__(self) -> None:
        self.stopped: list[TopicPartition] = []
        self.unopened_logs: set[TopicPartition] = set()

    async def stop(self, topic_partitions: list[TopicPartition]) -> None:
        self.stopped += topic_partitions


class FakeLogManager:
    """Directories that are only names."""

    def __init__(self, *directories: TopicPartition) -> None:
        self.names = set(directories)
        self.renamed: list[TopicPartition] = []
        self.removal_count = 0
        self.checkpoint_count = 0
        self.errors: list[Exception] = []  # what comes next fails with
        self.directories = SimpleNamespace(all_usable=True)

    def has_directory(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self.names

    def get(self, topic_partition: TopicPartition) -> None:
        """None of them is open."""

    def topic_id_of(self, topic_partition: TopicPartition) -> None:
        """They say nothing of that."""

    def discard_copies(self, topic_ids: Collection[bytes]) -> None:
        self.discarded = list(topic_ids)

    def delete(self, topic_partition: TopicPartition, removal_ms: int = 0) -> None:
        self.names.remove(topic_partition)
        self.renamed.append(topic_partition)

    def checkpoint_job(self) -> Callable[[], None]:
        def write() -> None:
            if self.errors:
                raise self.errors.pop()
            self.checkpoint_count += 1

        return write

    def removal_job(self, now_ms: int) -> Callable[[], None]:
        def remove() -> None:
            self.renamed.clear()
            self.removal_count += 1

        return remove

    @property
    def unremoved_partitions(self) -> set[TopicPartition]:
        return set(self.renamed)


class TopicBroker:
    """As much of a broker as the topic APIs need; ``ask`` calls their handlers."""

    def __init__(self, catalog: Catalog, config: BrokerConfig) -> None:
        self.topics = the_topics = Topics(catalog)
        self.config = config
        self.replica_manager = FakeReplicaManager()
        self.log_manager = FakeLogManager()
        self.disk_threads = DiskThreads(1)
        nothing = cast(Any, None)
        clock = FakeClock()
        self.services = Parts(
            config=config,
            clock=clock,
            log_manager=cast(Any, self.log_manager),
            disk_threads=self.disk_threads,
            committer=nothing,
            metadata=the_topics,
            resources=ResourceOptions(catalog),
            live=LiveConfig(config),
            scheduler=nothing,
            cluster_id=the_topics.cluster_id,
            node_id=config.node_id,
            authorizer=(
                authorizer_of(config, catalog, FakeClock())
                if config.authorizer_class_name
                else None
            ),
            tokens=(
                DelegationTokens.of(config, catalog, clock)
                if config.delegation_token_secret_key
                else None
            ),
        )
        self.services.replica_manager = cast(Any, self.replica_manager)

    def context(
        self,
        api_key: int,
        version: int,
        principal: str = "User:ANONYMOUS",
        **connected: Any,
    ) -> RequestContext:
        connection = ConnectionInfo(
            local_host="127.0.0.1", local_port=29692, principal=principal, **connected
        )
        return RequestContext(self.services, connection, api_key, version)

    async def ask(
        self,
        request: Request,
        version: int,
        principal: str = "User:ANONYMOUS",
        **connected: Any,
    ) -> Any:
        """The answer as a client reads it: encoded and decoded in that version."""
        handler = registered_handlers()[request.api_key]
        sent, _ = decoder(type(request), version)(
            memoryview(request.encode(version)), 0
        )
        ctx = self.context(request.api_key, version, principal, **connected)
        answer = guarded(handler.function, handler.needs)(ctx, sent)
        if not isinstance(answer, Response):
            answer = await answer
        data = memoryview(answer.encode(version))
        response, _ = decoder(handler.response_class, version)(data, 0)
        return response


@asynccontextmanager
async def topic_broker(directory: Path, **options: Any) -> AsyncIterator[TopicBroker]:
    catalog = Catalog.open(directory)
    broker = TopicBroker(catalog, BrokerConfig(**options))
    broker.services.groups.load_all()
    try:
        yield broker
    finally:
        await catalog.close()
        broker.disk_threads.close()
