"""Why a client cannot connect: each step of it tried alone, with what to do.

A name becomes addresses, one of them accepts a connection, who listens there speaks
Kafka's protocol, with TLS and a login if the client's options say so, tells where the
brokers are, lets the client do something, and the brokers can be reached too. Most
trouble is in the last step: a client only uses the bootstrap address to ask for the
advertised ones, and a certificate has to be for those.
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import TYPE_CHECKING

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import KafkaError, MalformedRequest
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.metadata import MetadataResponse

from .address import Address
from .cluster import may_pass
from .connection import Connection
from .doctor.finding import Finding
from .doctor.login import login_failure, wants_login
from .doctor.members import fenced_brokers
from .doctor.rights import group_denied, rights
from .doctor.tls import certificate, tls_failure, wants_tls
from .errors import TlsFailed, raise_for
from .metadata import NO_LEADER, metadata_request, read_metadata
from .retry import Retry
from .security.settings import UNPROTECTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .metadata import Metadata
    from .security.settings import Security

_PORT = 9092
_LOCAL = ("localhost", "127.0.0.1", "::1")
_HTTP = b"HTTP/"
_ADVERTISED = (
    "Clients are told this address by the broker: set advertised.listeners there to"
    " one that they can reach, then restart it."
)


def diagnose(
    addresses: Sequence[Address], timeout_s: float, security: Security | None = None
) -> Iterator[Finding]:
    """Every step for the bootstrap addresses, then for what they tell, in order."""
    told: dict[Address, int] = {}
    is_told = False
    for address in addresses:
        metadata = None
        for finding, found in _bootstrap(address, timeout_s, security):
            yield finding
            metadata = found or metadata
        if metadata is None or is_told:
            continue
        is_told = True
        told = {broker.address: node for node, broker in metadata.brokers.items()}
        yield from _leaders(metadata)
    for address, node_id in told.items():
        if address not in addresses:
            yield from _advertised(address, node_id, timeout_s, security)


def _bootstrap(
    address: Address, timeout_s: float, security: Security | None
) -> Iterator[tuple[Finding, Metadata | None]]:
    resolved = resolve(address)
    yield resolved, None
    if not resolved.is_ok:
        return
    reached = reach(address, timeout_s)
    yield reached, None
    if not reached.is_ok:
        return
    yield from _speak(address, timeout_s, security)


def _advertised(
    address: Address, node_id: int, timeout_s: float, security: Security | None
) -> Iterator[Finding]:
    steps: list[Callable[[], Finding]] = [
        lambda: resolve(address),
        lambda: reach(address, timeout_s),
        lambda: _answers(address, timeout_s, security),
    ]
    for step in steps:
        finding = step()
        target = f"broker {node_id} ({address})"
        advice = "" if finding.is_ok else f"{_ADVERTISED} {finding.advice}"
        yield finding._replace(target=target, advice=advice.strip())
        if not finding.is_ok:
            return


def resolve(address: Address) -> Finding:
    """Whether the name is known here."""
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return Finding(
            "name",
            str(address),
            False,
            f"{address.host} has no address: {_reason(error)}",
            "Check the spelling; names of containers are only known to containers of"
            " the same network; or add it to the DNS or to /etc/hosts.",
        )
    numbers = dict.fromkeys(str(each[4][0]) for each in found)
    return Finding("name", str(address), True, f"is {', '.join(numbers)}")


def reach(address: Address, timeout_s: float) -> Finding:
    """Whether somebody accepts a connection there."""
    begun_s = time.monotonic()
    try:
        socket.create_connection(address, timeout_s).close()
    except TimeoutError:
        return Finding(
            "connection",
            str(address),
            False,
            f"no answer in {timeout_s:g} s",
            "A firewall drops the packets, or the host is down.",
        )
    except OSError as error:
        return Finding("connection", str(address), False, *_refused(address, error))
    took_ms = (time.monotonic() - begun_s) * 1000
    return Finding("connection", str(address), True, f"accepted in {took_ms:.1f} ms")


def _refused(address: Address, error: OSError) -> tuple[str, str]:
    if not isinstance(error, ConnectionRefusedError):
        return _reason(error), "That host cannot be reached from here."
    if address.host in _LOCAL:
        port = "" if address.port == _PORT else f" --port {address.port}"
        advice = (
            f"No broker runs on this machine at that port: 'odradek serve{port}' starts"
            " one. In a container, this is the container itself."
        )
    else:
        advice = (
            "The broker is down, has another port, or listens on 127.0.0.1 only: see"
            " its option listeners."
        )
    return "refused: nothing listens on that port", advice


def _speak(
    address: Address, timeout_s: float, security: Security | None
) -> Iterator[tuple[Finding, Metadata | None]]:
    target = str(address)
    try:
        connection = Connection(*address, timeout_s=timeout_s, security=security)
    except (OSError, KafkaError, MalformedRequest) as error:
        yield _stranger(address, timeout_s, error, security), None
        return
    with connection:
        apis = connection.api_versions
        yield Finding("protocol", target, True, _spoken(connection)), None
        if security is not None and security.tls is not None:
            shown = certificate(address, timeout_s)
            if shown is not None:
                yield shown, None
        if ApiKey.METADATA not in apis:
            yield _finding_of_controller(target), None
            return
        try:
            answer = connection.request(metadata_request(None), MetadataResponse)
            metadata = read_metadata(answer)
        except (OSError, KafkaError, MalformedRequest) as error:
            yield (
                _metadata_refused(address, timeout_s, connection, error, security),
                None,
            )
            return
        brokers = ", ".join(str(broker) for broker in metadata.brokers.values())
        detail = f"brokers: {brokers}; {len(metadata.topics)} topics"
        yield Finding("metadata", target, True, detail), metadata
        fenced = fenced_brokers(target, connection)
        if fenced is not None:
            yield fenced, None
        allowed = rights(target, connection, security)
        if allowed is not None:
            yield allowed, None
        yield _coordinator(target, connection, timeout_s, security), None


def _answers(address: Address, timeout_s: float, security: Security | None) -> Finding:
    """Whether a broker answers there."""
    try:
        with Connection(*address, timeout_s=timeout_s, security=security) as connection:
            return Finding("protocol", str(address), True, _spoken(connection))
    except (OSError, KafkaError, MalformedRequest) as error:
        return _stranger(address, timeout_s, error, security)


def _spoken(connection: Connection) -> str:
    versions = connection.api_versions
    parts = [
        f"{name} {versions[key][0]}-{versions[key][1]}"
        for name, key in (("Produce", ApiKey.PRODUCE), ("Fetch", ApiKey.FETCH))
        if key in versions
    ]
    features = [f"{name} {level}" for name, level in connection.features.items()]
    return ", ".join([f"Kafka: {len(versions)} APIs", *parts, *features])


def _stranger(
    address: Address, timeout_s: float, error: Exception, security: Security | None
) -> Finding:
    """Who it is that does not answer as a broker without TLS does."""
    target = str(address)
    if isinstance(error, TlsFailed):
        return tls_failure(address, timeout_s, error, security or UNPROTECTED)
    if isinstance(error, KafkaError):
        return login_failure(address, error, security or UNPROTECTED)
    if _is_tls(address, timeout_s):
        return wants_tls(address, security)
    said = _answer_of_stranger(address, timeout_s)
    if said.startswith(_HTTP):
        return Finding(
            "protocol",
            target,
            False,
            "a web server answers",
            "This port does not speak Kafka's protocol: it is a REST proxy, a user"
            " interface or /metrics perhaps. Brokers usually have 9092.",
        )
    if isinstance(error, TimeoutError):
        return Finding(
            "protocol",
            target,
            False,
            f"accepted, but no answer in {timeout_s:g} s",
            "The broker hangs or is starting, or is not a broker: look into its log.",
        )
    return Finding(
        "protocol",
        target,
        False,
        f"no broker, or a broken one: {_reason(error)}",
        "Check the port. A broker that closes at once may be full (max.connections) or"
        " may want TLS; its log says why.",
    )


def _is_tls(address: Address, timeout_s: float) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection(address, timeout_s) as plain,
            context.wrap_socket(plain),
        ):
            return True
    except ssl.SSLError as error:
        # It speaks TLS and wants a certificate, or another version of it.
        return "ALERT" in (error.reason or "")
    except OSError:
        return False


def _answer_of_stranger(address: Address, timeout_s: float) -> bytes:
    try:
        with socket.create_connection(address, timeout_s) as plain:
            plain.settimeout(timeout_s)
            plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return plain.recv(16)
    except OSError:
        return b""


def _finding_of_controller(target: str) -> Finding:
    return Finding(
        "metadata",
        target,
        False,
        "a controller, which serves no clients",
        "Use the port of a broker's listener: controller.listener.names has this one.",
    )


def _metadata_refused(
    address: Address,
    timeout_s: float,
    connection: Connection,
    error: Exception,
    security: Security | None,
) -> Finding:
    detail = f"metadata were refused: {_reason(error)}"
    if isinstance(error, TlsFailed):  # with TLS 1.3 it may come only now
        return tls_failure(address, timeout_s, error, security or UNPROTECTED)
    is_closed = isinstance(error, ConnectionError)
    if ApiKey.SASL_HANDSHAKE in connection.api_versions or is_closed:
        return wants_login(address, timeout_s, security, detail)
    advice = "The broker's log says more."
    return Finding("metadata", str(address), False, detail, advice)


def _coordinator(
    target: str, connection: Connection, timeout_s: float, security: Security | None
) -> Finding:
    name = "odradek-doctor"
    request = FindCoordinatorRequest(key=name, coordinator_keys=[name])

    def ask() -> Address:
        answer = connection.request(request, FindCoordinatorResponse)
        found = answer.coordinators[0] if answer.coordinators else answer
        raise_for(found.error_code, found.error_message)
        return Address(found.host, found.port)

    try:
        # The first to ask makes the topic of the groups, which takes a moment.
        where = Retry(timeout_s).run(ask, may_pass)
    except KafkaError as error:
        denied = group_denied(target, error, security)
        if denied is not None:
            return denied
        return Finding(
            "groups",
            target,
            False,
            f"{error.code.name}: {error}",
            "Consumer groups wait for the topic __consumer_offsets: with fewer brokers"
            " than offsets.topic.replication.factor it cannot be made.",
        )
    except OSError as error:
        return Finding("groups", target, False, _reason(error))
    return Finding("groups", target, True, f"coordinator at {where}")


def _leaders(metadata: Metadata) -> Iterator[Finding]:
    lost = [
        f"{topic.name}-{number}"
        for topic in metadata.topics.values()
        for number, leader in topic.leaders.items()
        if leader == NO_LEADER
    ]
    if lost:
        shown = ", ".join(lost[:5]) + (", ..." if len(lost) > 5 else "")
        yield Finding(
            "leaders",
            f"{len(lost)} partitions",
            False,
            f"without a leader: {shown}",
            "They can be neither written nor read. A broker is down, or its disk"
            " failed: its log says which.",
        )


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
