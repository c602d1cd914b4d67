"""The brokers of the cluster: DescribeCluster (KIP-700), UnregisterBroker."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    since,
    string,
)

from .metadata import OPERATIONS_NOT_ASKED


class DescribeClusterRequest(
    Request, api_key=ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), flexible=0
):
    """Show the brokers (endpoint type 1) or the controllers (2)."""

    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8(versions=since(1), default=1)
    include_fenced_brokers: bool = boolean(versions=since(2))


class DescribeClusterBroker(Struct):
    """The address of a broker, and whether it is kept away from clients."""

    broker_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable=True, default=None)
    is_fenced: bool = boolean(versions=since(2))


class DescribeClusterResponse(
    Response, api_key=ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), flexible=0
):
    """The cluster as this broker sees it."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    endpoint_type: int = int8(versions=since(1), default=1)
    cluster_id: str = string()
    controller_id: int = int32(default=-1)
    brokers: list[DescribeClusterBroker] = array()
    cluster_authorized_operations: int = int32(default=OPERATIONS_NOT_ASKED)


class UnregisterBrokerRequest(
    Request, api_key=ApiKey.UNREGISTER_BROKER, versions=(0, 0), flexible=0
):
    """Forget a broker that will not come back."""

    broker_id: int = int32()


class UnregisterBrokerResponse(
    Response, api_key=ApiKey.UNREGISTER_BROKER, versions=(0, 0), flexible=0
):
    """Whether it is forgotten."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
