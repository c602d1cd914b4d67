"""The answers to tokens without headers (SaslHandshake v0): a length, and the token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.requests.dispatch import Route

if TYPE_CHECKING:
    from odradek.protocol.primitives import Buffer


class TokenRoute(Route):
    """Stands where an API would."""

    __slots__ = ()

    def __init__(self) -> None:
        self.response_class = bytes  # type: ignore[assignment]
        self.request_count = 0

    @property
    def name(self) -> str:
        """For people."""
        return "a SASL token"

    @property
    def api_name(self) -> str:
        """The same."""
        return self.name

    def write(self, correlation_id: int, response: Any, out: list[Buffer]) -> int:
        """Append the frame; there is no correlation id in it."""
        frame = len(response).to_bytes(4, "big") + response
        out.append(frame)
        return len(frame)


TOKEN_ROUTE = TokenRoute()
