"""SaslHandshake 0-1 and SaslAuthenticate 0-2: refused, this is no time for a login.

Where clients log in, `security/login/gate.py` has met them before; what it lets through
comes from who is in already. Elsewhere there is no login at all.

Apache Kafka offers both on listeners without SASL, and answers the same. A client that
is set up to log in says so to its user; if it were hung up on, it would only say that
the connection is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.metadata.client_quotas import ANONYMOUS
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext

_MECHANISM_LENGTH_MAX = 20


@handles(SaslHandshakeRequest, versions=(0, 1), needs=needs.NOTHING)
def handle_sasl_handshake(
    ctx: RequestContext, request: SaslHandshakeRequest
) -> SaslHandshakeResponse:
    """Offer no mechanism, and tell the log who wanted which."""
    mechanism = request.mechanism[:_MECHANISM_LENGTH_MAX]
    if ctx.connection.user == ANONYMOUS:
        ctx.services.client_log.warn_once(
            ("SASL", ctx.peer_host),
            f"{ctx.client} wants to log in by SASL ({mechanism}), and there is no "
            "authentication here: set security.protocol=PLAINTEXT in the client",
        )
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


@handles(SaslAuthenticateRequest, versions=(0, 2), needs=needs.NOTHING)
def handle_sasl_authenticate(
    ctx: RequestContext, request: SaslAuthenticateRequest
) -> SaslAuthenticateResponse:
    """Refuse: nobody was offered a mechanism."""
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="There is no authentication on this listener",
    )
