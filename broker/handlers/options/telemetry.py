"""GetTelemetrySubscriptions 0 and PushTelemetry 0: metrics of clients (KIP-714)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.metadata.client_telemetry import ACCEPTED_CODECS
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
    PushTelemetryResponse,
)

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext


@handles(GetTelemetrySubscriptionsRequest, versions=(0, 0), needs=needs.NOTHING)
def handle_get_telemetry_subscriptions(
    ctx: RequestContext, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    """Say which metrics are wanted of this client."""
    telemetry, connection = ctx.services.telemetry, ctx.connection
    wanted = telemetry.subscribe(
        bytes(request.client_instance_id),
        {
            "client_id": ctx.client_id or "",
            "client_software_name": connection.client_software_name,
            "client_software_version": connection.client_software_version,
            "client_source_address": connection.peer_host,
            "client_source_port": str(connection.peer_port),
        },
    )
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=wanted.client_instance_id,
        subscription_id=wanted.subscription_id,
        accepted_compression_types=list(ACCEPTED_CODECS),
        push_interval_ms=wanted.interval_ms,
        telemetry_max_bytes=telemetry.bytes_max,
        delta_temporality=True,
        requested_metrics=list(wanted.metrics),
    )


@handles(PushTelemetryRequest, versions=(0, 0), needs=needs.NOTHING)
def handle_push_telemetry(
    ctx: RequestContext, request: PushTelemetryRequest
) -> PushTelemetryResponse:
    """Take the metrics of this client.

    Raises:
        KafkaError: see `ClientTelemetry.push`.
    """
    ctx.services.telemetry.push(
        bytes(request.client_instance_id),
        request.subscription_id,
        memoryview(request.metrics),
        request.compression_type,
        terminating=request.terminating,
    )
    return PushTelemetryResponse()
