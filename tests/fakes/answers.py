"""Answers of handlers, as a client reads them."""

from typing import Any

from odradek.protocol.compiler import decoder
from odradek.protocol.messages.fetch import FetchResponse


def fetched(answer: Any, version: int) -> FetchResponse:
    """The answer to a Fetch, which may be a message or the buffers of its body."""
    buffers = answer if isinstance(answer, list) else [answer.encode(version)]
    body = memoryview(b"".join(buffers))
    response, end = decoder(FetchResponse, version)(body, 0)
    assert end == len(body)
    return response
