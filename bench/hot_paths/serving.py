"""All of a broker but its sockets, with real files, for requests that do not travel."""

import asyncio
from pathlib import Path
from typing import Any

from odradek.broker.config.live_config import LiveConfig
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.durability.committer import Committer
from odradek.broker.handlers import load as load_handlers
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.client_quotas import QuotaEntity
from odradek.broker.metadata.resource_options import ResourceOptions
from odradek.broker.metadata.topics import Topics
from odradek.broker.network.admission import Admission
from odradek.broker.network.connection import Connection
from odradek.broker.network.listener import Listener
from odradek.broker.network.network import Network
from odradek.broker.node.authorizing import authorizer_of
from odradek.broker.node.parts import Parts
from odradek.broker.node.reconfiguration import follow_quotas
from odradek.broker.replica.replica_manager import ReplicaManager
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.requests.registry import registered_handlers
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.clock import SystemClock
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.broker.runtime.memory.answer_memory import AnswerMemory
from odradek.broker.runtime.memory.limits import LimitedLog, RequestMemory
from odradek.broker.runtime.scheduler import Scheduler
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.files import OsFiles
from odradek.storage.files.tail_memory import TailMemory

load_handlers()


class Serving:
    """The parts of a broker, put together; to be made on a running loop."""

    def __init__(self, root: Path, durability: str, **options: Any) -> None:
        config = BrokerConfig(log_dirs=(root,), durability=durability, **options)
        clock, bugs = SystemClock(), Bugs(_raise)
        files = OsFiles()
        files.tails = TailMemory(config.log_tail_max_bytes)
        self.catalog = Catalog.open(root)
        self.topics = Topics(self.catalog)
        self.log_manager = LogManager(
            [root],
            files,
            cluster_id=self.topics.cluster_id,
            node_id=1,
            verifies_transactions=True,
        )
        self.log_manager.open()
        self.disk_threads = DiskThreads(2)
        self.committer = Committer(clock, config)
        self.replica_manager = ReplicaManager(
            config=config,
            clock=clock,
            topics=self.topics,
            log_manager=self.log_manager,
            disk_threads=self.disk_threads,
            committer=self.committer,
            answers=AnswerMemory(),
        )
        self.services = Parts(
            config=config,
            clock=clock,
            log_manager=self.log_manager,
            disk_threads=self.disk_threads,
            committer=self.committer,
            metadata=self.topics,
            resources=ResourceOptions(self.catalog),
            live=LiveConfig(config),
            scheduler=Scheduler(clock, bugs),
            cluster_id=self.topics.cluster_id,
            node_id=1,
            bugs=bugs,
        )
        self.services.replica_manager = self.replica_manager
        if config.authorizer_class_name:
            self.services.authorizer = authorizer_of(config, self.catalog, clock)
        self.dispatcher = Dispatcher(self.services, registered_handlers())
        network = Network(
            options=config,
            dispatcher=self.dispatcher,
            clock=clock,
            memory=RequestMemory(config.queued_max_request_bytes),
            answers=AnswerMemory(),
            admission=Admission(config, clock),
            log=LimitedLog(clock, print),
        )
        self._listener = Listener("PLAINTEXT", "127.0.0.1", 0, network)
        follow_quotas(self.services, network)

    def connect(self) -> "tuple[Connection, NullTransport]":
        """A connection whose answers go nowhere."""
        connection, transport = Connection(self._listener), NullTransport()
        connection.connection_made(transport)
        return connection, transport

    async def limit(self, client_id: str) -> None:
        """Give a client quotas that it does not reach."""
        keys = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
        quotas = dict.fromkeys(keys, "1e12")
        entity = QuotaEntity.of({"client-id": client_id})
        await self.services.resources.alter(entity.resource, lambda _: quotas)

    async def close(self) -> None:
        await self.replica_manager.close()
        await self.committer.flush()
        self.committer.close()
        self.disk_threads.close()
        self.log_manager.close()
        await self.catalog.close()


class NullTransport(asyncio.Transport):
    """Counts the bytes that it is given."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.size = 0

    def write(self, data: Any) -> None:
        self.size += len(data)

    def writelines(self, list_of_data: Any) -> None:
        self.size += sum(map(len, list_of_data))

    def set_write_buffer_limits(
        self, high: int | None = None, low: int | None = None
    ) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def abort(self) -> None:
        raise AssertionError("the broker refused the request")

    close = abort


def _raise(error: BaseException) -> None:
    raise error
