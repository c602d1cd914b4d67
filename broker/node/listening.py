"""What a broker listens with: its network, and its listeners by their protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.config.options.security.per_listener import SecurityOptions
from odradek.broker.network.admission import Admission
from odradek.broker.network.busy_poll import busy_poll
from odradek.broker.network.listener import Listener
from odradek.broker.network.network import Network
from odradek.broker.runtime.cpus import usable_cpus
from odradek.broker.runtime.memory.limits import LimitedLog, RequestMemory
from odradek.broker.runtime.process import leave_no_core

from .reconfiguration import follow_changes

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.config.options.listener import HostPort
    from odradek.broker.metadata.catalog.catalog import Catalog
    from odradek.broker.network.guarded_connection import Guards
    from odradek.broker.network.pre_auth import PreAuth
    from odradek.broker.node.parts import Parts
    from odradek.broker.operate.http_server import Door, HttpServer
    from odradek.broker.operate.metrics.broker_families import MetricSources
    from odradek.broker.requests.dispatch import Dispatcher

    MakeGuards = Callable[[SecurityOptions], Guards]


def make_network(
    config: BrokerConfig,
    services: Parts,
    dispatcher: Dispatcher,
    http_address: Callable[[], HostPort | None],
) -> Network:
    """What all connections share; it follows the options that can change."""
    admission = Admission(services.config, services.clock)
    follow_changes(services, admission)
    return Network(
        options=config,
        dispatcher=dispatcher,
        clock=services.clock,
        memory=RequestMemory(config.queued_max_request_bytes),
        answers=services.answer_memory,
        admission=admission,
        log=LimitedLog(services.clock),
        busy_poll=busy_poll(config.socket_busy_poll_us, usable_cpus()),
        http_address=http_address,
    )


def sources_of(
    services: Parts, listeners: list[Listener], network: Network
) -> MetricSources:
    """What metrics and health are told of."""
    from odradek.broker.operate.metrics.broker_families import MetricSources
    from odradek.broker.runtime.loop_pauses import LoopPauses

    pauses = LoopPauses()
    return MetricSources(services, listeners, network, pauses, services.logins)


def make_http_server(
    address: HostPort, services: Parts, sources: MetricSources, door: Door | None
) -> HttpServer:
    """What answers there, not open yet.

    Raises:
        StartError: its certificate cannot be used.
    """
    from odradek.broker.operate.http_pages import http_pages
    from odradek.broker.operate.http_server import HttpServer
    from odradek.broker.operate.http_strangers import HttpPort

    log, tls = sources.network.log, http_tls(services)
    port = HttpPort(address, log, services.clock, tls)
    return HttpServer(port, http_pages(sources), services.bugs, door)


def http_tls(services: Parts) -> SSLContext | None:
    """What a client of metrics and health makes its handshake with. None: none does.

    Raises:
        StartError: the certificate cannot be used.
    """
    options = SecurityOptions.of_http(services.config)
    if options is None:
        return None
    from .listener_tls import current_context, make_identity, renew_from_now_on

    identity = make_identity(options, services.clock)
    renew_from_now_on(services, identity)
    return current_context(identity)


async def make_listeners(
    config: BrokerConfig, services: Parts, network: Network, catalog: Catalog
) -> list[Listener]:
    """One for each address, none of them open yet.

    Raises:
        StartError: one of them cannot do what its protocol asks for.
        KafkaStorageError: the secret of its logins cannot be stored.
    """
    addresses = config.client_listeners
    if not any(address.has_login or address.has_tls for address in addresses):
        return [Listener(*address[:3], network) for address in addresses]
    leave_no_core()
    # Only who wants it waits for it to be loaded.
    from odradek.broker.network.pre_auth import PreAuth

    pre_auth = PreAuth(
        services.clock,
        config.max_connections_unauthenticated,
        config.connection_authentication_timeout_ms,
    )
    make_guards: MakeGuards | None = None
    if any(address.has_login for address in addresses):
        make_guards = await _guard_maker(config, services, network, (catalog, pre_auth))
    listeners = []
    for address in addresses:
        tls = guards = None
        if address.has_tls:
            from .listener_tls import make_tls, renew_from_now_on

            tls = make_tls(config, address, services.clock, pre_auth)
            renew_from_now_on(services, tls.identity)
        if address.has_login and make_guards is not None:
            guards = make_guards(SecurityOptions(config, address))
        listeners.append(Listener(*address[:3], network, tls=tls, guards=guards))
    return listeners


async def _guard_maker(
    config: BrokerConfig,
    services: Parts,
    network: Network,
    shared: tuple[Catalog, PreAuth],
) -> MakeGuards:
    from odradek.broker.metadata.login_secret import login_secret
    from odradek.broker.network.guarded_connection import Guards
    from odradek.broker.security.login.decoy import Decoy
    from odradek.broker.security.login.gate import Gate
    from odradek.broker.security.login.hashing import PasswordHashing
    from odradek.broker.security.login.setup import LoginParts, logins_of

    catalog, pre_auth = shared
    hashing = PasswordHashing(services.disk_threads)
    decoy = Decoy(await login_secret(catalog))
    tokens = None
    if services.tokens is not None:
        from odradek.broker.security.login.token_logins import StoredTokens

        tokens = StoredTokens(services.tokens, hashing, decoy)
    parts = LoginParts(services.clock, services.credentials, hashing, decoy, tokens)

    def make(options: SecurityOptions) -> Guards:
        logins = logins_of(options, parts)
        services.logins.append(logins)
        return Guards(
            lambda on_login: Gate(logins, network.dispatcher, on_login),
            pre_auth,
            config.sasl_server_max_receive_size,
        )

    return make
