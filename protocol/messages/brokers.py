"""What a broker and the controllers of its quorum say to each other (KIP-631).

BrokerRegistration, BrokerHeartbeat, AllocateProducerIds, and Envelope, in which a
broker sends on what a client has asked it (KIP-590).
"""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    bytes_,
    int16,
    int32,
    int64,
    since,
    string,
    uint16,
    uuid,
)


class BrokerListener(Struct):
    """Where the broker listens; ``security_protocol`` as Kafka numbers it."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class BrokerFeature(Struct):
    """The levels of a feature that the broker can do."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class BrokerRegistrationRequest(
    Request, api_key=ApiKey.BROKER_REGISTRATION, versions=(0, 4), flexible=0
):
    """Let this broker be one of the cluster. Before version 4 no level may be 0."""

    broker_id: int = int32()
    cluster_id: str = string()
    incarnation_id: bytes = uuid()
    listeners: list[BrokerListener] = array()
    features: list[BrokerFeature] = array()
    rack: str | None = string(nullable=True)
    is_migrating_zk_broker: bool = boolean(versions=since(1))
    log_dirs: list[bytes] = array(of=uuid, versions=since(2))
    previous_broker_epoch: int = int64(versions=since(3), default=-1)


class BrokerRegistrationResponse(
    Response, api_key=ApiKey.BROKER_REGISTRATION, versions=(0, 4), flexible=0
):
    """The epoch that the broker has until it registers again."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    broker_epoch: int = int64(default=-1)


class BrokerHeartbeatRequest(
    Request, api_key=ApiKey.BROKER_HEARTBEAT, versions=(0, 2), flexible=0
):
    """The broker is alive; how far it is, and what it wants to be."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    current_metadata_offset: int = int64()
    want_fence: bool = boolean()
    want_shut_down: bool = boolean()
    offline_log_dirs: list[bytes] = array(of=uuid, versions=since(1), tag=0)
    cordoned_log_dirs: list[bytes] | None = array(
        of=uuid, versions=since(2), tag=1, nullable=True, default=None
    )


class BrokerHeartbeatResponse(
    Response, api_key=ApiKey.BROKER_HEARTBEAT, versions=(0, 2), flexible=0
):
    """What the controller makes of it."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    is_caught_up: bool = boolean()
    is_fenced: bool = boolean(default=True)
    should_shut_down: bool = boolean()


class AllocateProducerIdsRequest(
    Request, api_key=ApiKey.ALLOCATE_PRODUCER_IDS, versions=(0, 0), flexible=0
):
    """Give this broker producer ids that nobody else has."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)


class AllocateProducerIdsResponse(
    Response, api_key=ApiKey.ALLOCATE_PRODUCER_IDS, versions=(0, 0), flexible=0
):
    """A block of them."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id_start: int = int64()
    producer_id_len: int = int32()


class EnvelopeRequest(Request, api_key=ApiKey.ENVELOPE, versions=(0, 0), flexible=0):
    """A client's request with its header, and who the client is."""

    request_data: bytes = bytes_()
    request_principal: bytes | None = bytes_(nullable=True)
    client_host_address: bytes = bytes_()


class EnvelopeResponse(Response, api_key=ApiKey.ENVELOPE, versions=(0, 0), flexible=0):
    """The answer to it with its header; without one, why it was not handled."""

    response_data: bytes | None = bytes_(nullable=True, default=None)
    error_code: int = int16()
