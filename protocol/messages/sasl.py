"""How clients log in by SASL: which mechanism, and what the mechanism exchanges."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    array,
    bytes_,
    int16,
    int64,
    since,
    string,
)


class SaslHandshakeRequest(Request, api_key=ApiKey.SASL_HANDSHAKE, versions=(0, 1)):
    """May I log in by this mechanism? From version 1 on with SaslAuthenticate."""

    mechanism: str = string()


class SaslHandshakeResponse(Response, api_key=ApiKey.SASL_HANDSHAKE, versions=(0, 1)):
    """Yes, or an error, and what there is instead."""

    error_code: int = int16()
    mechanisms: list[str] = array()


class SaslAuthenticateRequest(
    Request, api_key=ApiKey.SASL_AUTHENTICATE, versions=(0, 2), flexible=2
):
    """A step of the mechanism, in its own format."""

    auth_bytes: bytes = bytes_()


class SaslAuthenticateResponse(
    Response, api_key=ApiKey.SASL_AUTHENTICATE, versions=(0, 2), flexible=2
):
    """The answer of the mechanism, or why the login has failed."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    auth_bytes: bytes = bytes_()
    session_lifetime_ms: int = int64(versions=since(1))
