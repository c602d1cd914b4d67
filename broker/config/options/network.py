"""The options of connections and requests: addresses, sizes, limits, deadlines."""

from dataclasses import dataclass

from odradek.protocol.compression import STORED_SIZE_MAX

from .listener import (
    AddressLimit,
    HostPort,
    Listener,
    parse_address_limits,
    parse_host_port,
    parse_listeners,
    parse_protocols,
)
from .option import INT_MAX, Kind, option


@dataclass(frozen=True, init=False, repr=False, eq=False)
class NetworkOptions:
    """Who may connect, how much they may send, and how long they may take."""

    listeners: tuple[Listener, ...] = option(
        (Listener("PLAINTEXT", "127.0.0.1", 9092),),
        "listeners",
        "Addresses to listen on, as NAME://host:port. No host: every interface.",
        read=parse_listeners,
    )
    advertised_listeners: tuple[Listener, ...] = option(
        (),
        "advertised.listeners",
        "Addresses that clients are told. Empty: the address they connected to.",
        read=parse_listeners,
    )
    listener_security_protocol_map: tuple[str, ...] = option(
        (
            "SASL_SSL:SASL_SSL",
            "PLAINTEXT:PLAINTEXT",
            "SSL:SSL",
            "SASL_PLAINTEXT:SASL_PLAINTEXT",
        ),
        "listener.security.protocol.map",
        "The protocol of each listener name, as NAME:PROTOCOL.",
        kind=Kind.STRING,
        read=parse_protocols,
    )
    controller_listener_names: tuple[str, ...] = option(
        ("CONTROLLER",),
        "controller.listener.names",
        "Listeners that are for controllers; not opened here. A broker of a cluster"
        " asks its controllers with the protocol and the options of the first.",
    )
    allow_unauthenticated: bool = option(
        False,
        "allow.unauthenticated",
        "Let anybody who reaches a listener that is not on loopback in.",
    )
    http_listener: HostPort | None = option(  # noqa: RUF009 - as all fields
        None,
        "http.listener",
        "HOST:PORT where /metrics, /livez and /readyz are answered over HTTP; no host:"
        " every interface. Empty: nowhere.",
        kind=Kind.STRING,
        read=parse_host_port,
    )
    http_listener_security_protocol: str = option(
        "PLAINTEXT",
        "http.listener.security.protocol",
        "SSL: it speaks HTTPS, with the certificate of the options that begin with ssl."
        " or, which are stronger, with http.listener.ssl.",
        choices=("PLAINTEXT", "SSL"),
    )
    socket_request_max_bytes: int = option(
        100 << 20,
        "socket.request.max.bytes",
        "Largest request. A longer one closes its connection.",
        at_least=1,
    )
    socket_send_buffer_bytes: int = option(
        102400,
        "socket.send.buffer.bytes",
        "SO_SNDBUF of a connection. -1: the system's default.",
        at_least=-1,
    )
    socket_receive_buffer_bytes: int = option(
        102400,
        "socket.receive.buffer.bytes",
        "SO_RCVBUF of a connection. -1: the system's default.",
        at_least=-1,
    )
    socket_listen_backlog_size: int = option(
        512,
        "socket.listen.backlog.size",
        "Connections that may wait to be accepted.",
        at_least=1,
    )
    socket_busy_poll_us: int = option(
        50,
        "socket.busy.poll.us",
        "Microseconds in which the next request is looked for before the broker goes to"
        " sleep, while clients ask one thing after the other. 0, or fewer than two"
        " CPUs: none.",
        at_least=0,
        at_most=1000,
    )
    connections_max_idle_ms: int = option(
        600_000,
        "connections.max.idle.ms",
        "A connection without a request for so long is closed.",
        kind=Kind.LONG,
        at_least=1,
    )
    max_connections: int = option(
        10_000,
        "max.connections",
        "Most connections at a time.",
        at_least=0,
        is_dynamic=True,
    )
    max_connections_per_ip: int = option(
        1_000,
        "max.connections.per.ip",
        "Most connections from one address; loopback is exempt.",
        at_least=0,
        is_dynamic=True,
    )
    max_connections_per_ip_overrides: tuple[AddressLimit, ...] = option(
        (),
        "max.connections.per.ip.overrides",
        "Limits of single addresses in its place, loopback too: 192.0.2.1:100,...",
        kind=Kind.STRING,
        read=parse_address_limits,
        is_dynamic=True,
    )
    max_connection_creation_rate: int = option(
        500,
        "max.connection.creation.rate",
        "Most new connections a second; loopback is exempt.",
        at_least=0,
        is_dynamic=True,
    )
    max_connections_unauthenticated: int = option(
        1_000,
        "max.connections.unauthenticated",
        "Most connections that have yet to make their handshake of TLS, or to log in;"
        " beyond it the oldest of them goes.",
        at_least=1,
    )
    connection_authentication_timeout_ms: int = option(
        10_000,
        "connection.authentication.timeout.ms",
        "A connection that takes longer for its handshake and its login is cut off.",
        at_least=1,
    )
    queued_max_request_bytes: int = option(
        256 << 20,
        "queued.max.request.bytes",
        "Most bytes of requests in memory; beyond it sockets are not read. -1: any.",
        kind=Kind.LONG,
        at_least=-1,
    )
    queued_max_response_bytes: int = option(
        256 << 20,
        "queued.max.response.bytes",
        "Most bytes of answers in memory that clients have yet to read. The less is"
        " left, the smaller are answers to fetches; beyond it fetches wait. -1: any.",
        kind=Kind.LONG,
        at_least=-1,
    )
    queued_max_requests: int = option(
        500,
        "queued.max.requests",
        "Most requests of one connection that may wait for their answer.",
        at_least=1,
    )
    connection_parked_max_bytes: int = option(
        64 << 20,
        "connection.parked.max.bytes",
        "Most bytes of requests of one connection that may wait for their answer.",
        kind=Kind.LONG,
        at_least=1,
    )
    connection_unread_max_bytes: int = option(
        8 << 20,
        "connection.unread.max.bytes",
        "Most bytes of answers that a client may leave unread before it is not served;"
        " also of one fetch, unless its first batch is larger.",
        kind=Kind.LONG,
        at_least=1,
    )
    connection_unread_timeout_ms: int = option(
        60_000,
        "connection.unread.timeout.ms",
        "A client that reads none of its answers for so long is cut off; while memory"
        " for answers is short, also one that reads below connection.min.byte.rate.",
        kind=Kind.LONG,
        at_least=1,
    )
    request_arrival_timeout_ms: int = option(
        30_000,
        "request.arrival.timeout.ms",
        "A request is cut off that arrives below connection.min.byte.rate for so long;"
        " while memory for requests is full, also one that takes so long as a whole.",
        kind=Kind.LONG,
        at_least=1,
    )
    connection_min_byte_rate: int = option(
        1024,
        "connection.min.byte.rate",
        "Bytes a second that a client has to get on with while its request arrives.",
        at_least=1,
    )
    request_decompressed_max_bytes: int = option(
        64 << 20,
        "request.decompressed.max.bytes",
        "Most bytes that one compressed batch may unpack to.",
        at_least=1024,
        at_most=STORED_SIZE_MAX,
    )
    request_decompressed_ratio_max: int = option(
        0,
        "request.decompressed.ratio.max",
        "Most times its own size that a compressed batch may unpack to, where that is"
        " more than 1 MiB. 0: any.",
        at_least=0,
    )
    request_objects_max: int = option(
        100_000,
        "request.objects.max",
        "Most array elements and tagged fields of one request. A request of more"
        " closes its connection.",
        at_least=1000,
    )
    request_timeout_ms: int = option(
        30_000,
        "request.timeout.ms",
        "How long the broker waits for others before a request fails.",
        at_least=0,
        is_used=False,
    )
    shutdown_drain_timeout_ms: int = option(
        3_000,
        "shutdown.drain.timeout.ms",
        "How long a stop waits for answers that are under way.",
        kind=Kind.LONG,
        at_least=0,
    )
    fetch_max_bytes: int = option(
        55 << 20, "fetch.max.bytes", "Most bytes one fetch may return.", at_least=1024
    )
    max_incremental_fetch_session_cache_slots: int = option(
        1_000,
        "max.incremental.fetch.session.cache.slots",
        "Most fetch sessions at a time.",
        at_least=0,
    )
    max_request_partition_size_limit: int = option(
        2_000,
        "max.request.partition.size.limit",
        "Most partitions in one answer of DescribeTopicPartitions.",
        at_least=1,
    )
    fetch_purgatory_purge_interval_requests: int = option(
        1_000,
        "fetch.purgatory.purge.interval.requests",
        "Finished fetches that may stay listed before they are cleared out.",
        at_least=1,
    )
    producer_purgatory_purge_interval_requests: int = option(
        1_000,
        "producer.purgatory.purge.interval.requests",
        "Finished produces that may stay listed before they are cleared out.",
        at_least=1,
    )
    delete_records_purgatory_purge_interval_requests: int = option(
        1,
        "delete.records.purgatory.purge.interval.requests",
        "Finished deletions of records that may stay listed before they are cleared"
        " out.",
        at_least=1,
    )
    quota_window_num: int = option(
        11,
        "quota.window.num",
        "Windows over which the rates of clients with quotas are reckoned.",
        at_least=1,
    )
    quota_window_size_seconds: int = option(
        1,
        "quota.window.size.seconds",
        "Length of each; also the longest that a request quota makes a client wait.",
        at_least=1,
    )
    controller_quota_window_num: int = option(
        11,
        "controller.quota.window.num",
        "Windows of which a client may save up what it may change of topics.",
        at_least=1,
    )
    controller_quota_window_size_seconds: int = option(
        1, "controller.quota.window.size.seconds", "Length of each.", at_least=1
    )
    telemetry_max_bytes: int = option(
        1 << 20,
        "telemetry.max.bytes",
        "Most bytes of metrics that a client may push.",
        at_least=1,
        at_most=INT_MAX,
    )
