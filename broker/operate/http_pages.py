"""The pages of the broker's HTTP server."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from .http_reply import Reply
from .metrics.exposition import CONTENT_TYPE
from .metrics.scrape import scrape
from .readiness import why_not_ready

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .metrics.broker_families import MetricSources


def http_pages(sources: MetricSources) -> dict[str, Callable[[], Awaitable[Reply]]]:
    """What answers each path."""

    async def metrics() -> Reply:
        return Reply(HTTPStatus.OK, await scrape(sources), CONTENT_TYPE)

    async def live() -> Reply:
        return Reply(HTTPStatus.OK, b"ok\n")  # the loop runs, or nobody would answer

    async def ready() -> Reply:
        reasons = why_not_ready(sources.services, sources.listeners)
        if not reasons:
            return Reply(HTTPStatus.OK, b"ready\n")
        text = "".join(f"{reason}\n" for reason in reasons)
        return Reply(HTTPStatus.SERVICE_UNAVAILABLE, text.encode())

    return {"/metrics": metrics, "/livez": live, "/readyz": ready}
