"""The broker as a whole: its parts, in the order in which they start and stop.

Start: the locks, the catalogue, the logs, then the listeners; when those are open
everything that was acknowledged before is there. Stop: nothing new is accepted, what
was asked is answered, everything is synced, and only then said to be clean.

Periodic jobs are all listed in `jobs`.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from odradek.broker.adoption.check import check_owner, with_known_identity
from odradek.broker.config.live_config import LiveConfig
from odradek.broker.config.options.listener import HostPort
from odradek.broker.durability.committer import NONE, Committer
from odradek.broker.handlers import OfferedHandlers
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.catalog.store import make_directory
from odradek.broker.metadata.found_directories import compare_directories
from odradek.broker.metadata.resource_options import ResourceOptions
from odradek.broker.node.parts import Parts, before_first_join, joining_of, topics_of
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.clock import Clock, SystemClock
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.broker.runtime.process import open_files_limit, run_until_signal
from odradek.broker.runtime.scheduler import Scheduler
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.directory.data_format import check_formats
from odradek.storage.directory.log_directory import DirectoryLock
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.files import Files, OsFiles
from odradek.storage.files.tail_memory import TailMemory

from .late_modules import load_for_logs, load_late
from .listening import make_http_server, make_listeners, make_network, sources_of
from .reconfiguration import follow_quotas

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.network.listener import Listener
    from odradek.broker.network.network import Network
    from odradek.broker.operate.admin_socket import AdminRequest, AdminSocket
    from odradek.broker.operate.backups import Backups
    from odradek.broker.operate.http_server import Door, HttpServer
    from odradek.broker.operate.metrics.broker_families import MetricSources
    from odradek.broker.upkeep.compaction.cleaning import Cleaning

    from .joining import Joining


class Server:
    """One broker in this process; ``services`` is there once it has started."""

    services: Parts
    _network: Network
    exit_code = 0  # of the process, once it has stopped
    admin_connections_max: ClassVar[int | None] = None

    def __init__(
        self,
        config: BrokerConfig,
        *,
        clock: Clock | None = None,
        files: Files | None = None,
        bugs: Bugs | None = None,
    ) -> None:
        self.config = config
        self.listeners: list[Listener] = []
        self.bugs = bugs or Bugs()
        self.make_dispatcher: Callable[..., Dispatcher] = Dispatcher
        self._clock = clock or SystemClock()
        self._files = files
        self._lock: DirectoryLock | None = None
        self._joining: Joining | None = None
        self._catalog: Catalog | None = None
        self._opening: asyncio.Task[None] | None = None
        self._cleaning: Cleaning | None = None
        self._admin: AdminSocket | None = None
        self._backups: Backups | None = None
        self._http: HttpServer | None = None
        self._metric_sources: MetricSources | None = None

    async def start(self) -> None:
        """Return when clients can connect.

        Raises:
            StartError, CatalogError, KafkaStorageError, OSError: it cannot start;
                nothing is held any more.
        """
        try:
            if self.config.exit_with_process:
                from odradek.broker.runtime.companion import end_with_process

                end_with_process(self.config.exit_with_process)
            await before_first_join(self.config)
            self._open_storage()
            self._joining = joining_of(self.config, self.services)
            if self._joining is not None:
                await self._joining.join()
            elif not self.services.log_manager.was_clean:
                # All at once, before anybody is told an epoch: a commit for every
                # log that is opened would take minutes.
                await self.services.metadata.bump_leader_epochs()
            await self._listen()
            await load_late()
            if self._joining is not None:
                await self._joining.serve()
        except BaseException:
            await self._let_go()
            raise
        await self._begin_jobs()
        self._opening = asyncio.get_running_loop().create_task(
            self._open_logs(), name="open logs"
        )

    @property
    def http_port(self) -> int | None:
        """Where metrics and health are asked for; None: nowhere."""
        return None if self._http is None else self._http.port

    @property
    def backups(self) -> Backups:
        """The broker's part in backups and snapshots, once it has started."""
        assert self._backups is not None
        return self._backups

    def _http_address(self) -> HostPort | None:
        http = self._http
        return None if http is None else HostPort(http.host, http.port)

    def ready_line(self) -> str:
        """One line for people and scripts: where it listens, and what it promises."""
        from .ready_line import ready_line  # not before it is wanted

        return ready_line(self.config, self.listeners, self.http_port)

    async def stop(self) -> None:
        """Answer what was asked, make everything durable, and let go of it."""
        services = self.services
        if self._joining is not None:
            await self._joining.leave()
            self.exit_code = int(self._joining.has_failed)
        draining = [
            asyncio.ensure_future(listener.stop(self.config.shutdown_drain_timeout_ms))
            for listener in self.listeners
        ]
        await asyncio.sleep(0)  # the sockets are closed: nothing new comes
        if services.mirrors_in_use is not None:
            await services.mirrors_in_use.close()
        await services.moving.close()
        with suppress(KafkaStorageError):  # was reported when it happened
            await services.committer.flush()
        # Who waits for a rebalance is sent elsewhere; who waits for records to come
        # gets what there is.
        if services.sharing_in_use is not None:
            await services.sharing_in_use.close()
        share_states = services.share_states_in_use
        if share_states is not None:
            await share_states.close()
        await services.transactions.close()
        await services.groups.close()
        await services.replica_manager.close()
        await asyncio.gather(*draining)
        if self._cleaning is not None:
            self._cleaning.close()
        if self._backups is not None:
            self._backups.close()
        if self._admin is not None:
            await self._admin.stop()
        await services.scheduler.stop()
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        await services.committer.flush()  # no marker may overtake its sync
        # Logs that are just being opened: closing must not meet that.
        await services.replica_manager.stop(services.log_manager.directories_of())
        await self._let_go()

    # Start

    def _open_storage(self) -> None:
        files = self._files = self._files or OsFiles(open_files_max(self.config))
        files.tails = TailMemory(self.config.log_tail_max_bytes)
        self.config = config = with_known_identity(self.config, files)
        check_formats(files, config.log_dirs)
        self._lock_catalog()
        self._catalog = Catalog.open(
            config.catalog_directory,
            config.cluster_id,
            is_durable=config.durability != NONE,
        )
        check_owner(config, self._catalog)
        topics = topics_of(config, self._catalog)
        resources = ResourceOptions(self._catalog)
        live = LiveConfig(config)
        live.restore(*resources.of_brokers(config.node_id))
        config = live.current
        log_manager = LogManager(
            config.log_dirs,
            files,
            cluster_id=topics.cluster_id,
            node_id=config.node_id,
            producer_id_expiration_ms=config.producer_id_expiration_ms,
            verifies_transactions=config.transaction_partition_verification_enable,
            take_lock=self._take_lock,
            make_lock=threading.Lock,
        )
        log_manager.open(topics.known_partition)
        if topics.deletions:
            from odradek.broker.handlers.topics.topic_deletion import (
                finish_interrupted,
            )

            finish_interrupted(topics, log_manager)
        compare_directories(topics, log_manager)
        disk_threads = DiskThreads(config.disk_threads)
        committer = Committer(self._clock, config)
        self.services = Parts(
            config=config,
            clock=self._clock,
            log_manager=log_manager,
            disk_threads=disk_threads,
            committer=committer,
            metadata=topics,
            resources=resources,
            live=live,
            scheduler=Scheduler(self._clock, self.bugs),
            cluster_id=topics.cluster_id,
            node_id=config.node_id,
            bugs=self.bugs,
        )
        if config.authorizer_class_name or config.delegation_token_secret_key:
            from .authorizing import add_what_is_wanted

            add_what_is_wanted(self.services, self._catalog)

    def _lock_catalog(self) -> None:
        """Take the catalogue's directory before the catalogue itself.

        A second broker is then told the process that has it, and touches nothing.
        """
        directory = self.config.catalog_directory
        make_directory(directory)
        self._lock = DirectoryLock(directory)

    def _take_lock(self, directory: Path) -> DirectoryLock:
        """The lock of a log directory: the one we have, or a new one."""
        lock = self._lock
        if lock is not None and directory == self.config.catalog_directory:
            self._lock = None  # from here on it is the log manager's to release
            return lock
        return DirectoryLock(directory)

    async def _listen(self) -> None:
        config, services = self.config, self.services
        assert self._catalog is not None
        dispatcher = self.make_dispatcher(services, OfferedHandlers())
        network = make_network(config, services, dispatcher, self._http_address)
        self._network = network
        changed = services.config
        for listener in await make_listeners(changed, services, network, self._catalog):
            await listener.start()
            self.listeners.append(listener)
        follow_quotas(services, network)
        if config.http_listener is not None:
            self._metric_sources = sources_of(services, self.listeners, network)
            self._http = make_http_server(
                config.http_listener, services, self._metric_sources, self.http_door()
            )
            await self._http.start()

    async def _begin_jobs(self) -> None:
        from odradek.broker.operate.backups import Backups

        from .jobs import add_jobs
        from .reconfiguration import follow_cleaning_changes

        services = self.services
        self._cleaning = services.cleaning
        if self._metric_sources is not None:
            self._metric_sources.cleaning = self._cleaning
            self._metric_sources.pauses.begin()
        add_jobs(services, self.listeners, self._cleaning, self._network.dispatcher)
        follow_cleaning_changes(services, self._cleaning)
        self._backups = Backups(services, self.config.catalog_directory)
        self._admin = self.make_admin_socket()
        await self._admin.start()
        if services.mirrors_in_use is not None:
            services.mirrors_in_use.start()

    def hang_up(self) -> bool:
        """SIGHUP: read keys and certificates again. False: there are none to read."""
        certificates = self.services.certificates
        if certificates is not None:
            certificates.renew_soon()
        return certificates is not None

    def make_admin_socket(self) -> AdminSocket:
        """What answers on the admin socket, once it is started."""
        from odradek.broker.operate.admin_socket import AdminSocket

        return AdminSocket(
            self.config.catalog_directory,
            self.admin_requests(),
            self.bugs,
            self.watching_requests(),
            self.admin_connections_max,
        )

    def admin_requests(self) -> dict[str, AdminRequest]:
        """What can be asked on the admin socket, by its name."""
        from odradek.broker.operate.admin_requests import admin_requests

        assert self._cleaning is not None
        requests = admin_requests(self.services, self._cleaning, self.listeners)
        return {**requests, "backup": self.backups.request}

    def watching_requests(self) -> tuple[str, ...]:
        """Those of them that end with who asks."""
        from odradek.broker.operate.admin_requests import WATCHING

        return WATCHING

    def http_door(self) -> Door | None:
        """What takes requests with bodies on the HTTP listener; None: nothing does."""
        return None

    async def _open_logs(self) -> None:
        try:
            services = self.services
            services.groups.load_all()
            services.transactions.load_all()
            _ = services.share_states_in_use  # once it is made, it loads what there is
            await services.replica_manager.open_all()
            await services.transactions.runtime.loaded()
            if self._joining is None:  # else another broker may go on with them
                services.transactions.orphans.end_all()
            await services.moving.resume()
            await services.metadata.begun.wait()
            await load_for_logs()
        except Exception as error:
            self.bugs.record("open logs", error)

    # Stop

    async def _let_go(self) -> None:
        """Close what is open, in the order that makes the stop a clean one."""
        for listener in self.listeners:
            await listener.stop(0)
        self.listeners.clear()
        if self._joining is not None:
            await self._joining.close()
        if self._metric_sources is not None:
            self._metric_sources.pauses.stop()
        if self._http is not None:
            await self._http.stop()
        if hasattr(self, "services"):
            services = self.services
            for logins in services.logins:
                logins.close()
            from .closing import close_logs

            await services.disk_threads.run(close_logs, services.log_manager)
            services.committer.close()
            services.disk_threads.close()
        if self._catalog is not None:
            await self._catalog.close()
            self._catalog = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def open_files_max(config: BrokerConfig) -> int:
    """How many files of logs may be open at once."""
    return config.max_open_files or max(open_files_limit() - 512, 256)


def run(
    config: BrokerConfig,
    *,
    loop: str | None = None,
    announce: Callable[[str], None] | None = None,
) -> int:
    """Run a broker until SIGTERM or SIGINT; returns the exit code.

    ``loop`` is "uvloop" or "asyncio"; by default what ``ODRADEK_LOOP`` says, else
    uvloop where it is installed. ``announce`` gets the ready line.
    """
    server = Server(config)
    return run_until_signal(server, loop=loop, announce=announce)
