"""Metrics of clients: what a client is asked for, and what it sends (KIP-714)."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    array,
    boolean,
    bytes_,
    int8,
    int16,
    int32,
    string,
    uuid,
)


class GetTelemetrySubscriptionsRequest(
    Request, api_key=ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions=(0, 0), flexible=0
):
    """Which metrics are wanted? A client that has no id yet sends zeros."""

    client_instance_id: bytes = uuid()


class GetTelemetrySubscriptionsResponse(
    Response, api_key=ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions=(0, 0), flexible=0
):
    """Prefixes of metrics (one empty prefix: all), how often, and how packed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    client_instance_id: bytes = uuid()
    subscription_id: int = int32()
    accepted_compression_types: list[int] = array(of=int8)
    push_interval_ms: int = int32()
    telemetry_max_bytes: int = int32()
    delta_temporality: bool = boolean()
    requested_metrics: list[str] = array(of=string)


class PushTelemetryRequest(
    Request, api_key=ApiKey.PUSH_TELEMETRY, versions=(0, 0), flexible=0
):
    """Metrics as OpenTelemetry writes them (``MetricsData`` v1)."""

    client_instance_id: bytes = uuid()
    subscription_id: int = int32()
    terminating: bool = boolean()
    compression_type: int = int8()
    metrics: bytes = bytes_()


class PushTelemetryResponse(
    Response, api_key=ApiKey.PUSH_TELEMETRY, versions=(0, 0), flexible=0
):
    """Whether they were taken."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
