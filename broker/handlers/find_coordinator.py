"""FindCoordinator: which broker coordinates a group or a transactional id.

As long as there are no coordinators here, no key has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.errors import CoordinatorNotAvailable, InvalidRequest, KafkaError
from protocol.messages.groups import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

from .registry import handles

if TYPE_CHECKING:
    from ..network.request_context import RequestContext

FIRST_VERSION_WITH_MANY_KEYS = 4
GROUP, TRANSACTION = 0, 1
NOWHERE = -1


@handles(FindCoordinatorRequest, versions=(0, 6))
def handle_find_coordinator(
    ctx: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    """Say for each key why it has no coordinator."""
    error = _refusal(request.key_type)
    if ctx.api_version < FIRST_VERSION_WITH_MANY_KEYS:
        return FindCoordinatorResponse(
            error_code=error.code,
            error_message=str(error),
            node_id=NOWHERE,
            port=NOWHERE,
        )
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(
                key=key,
                node_id=NOWHERE,
                port=NOWHERE,
                error_code=error.code,
                error_message=str(error),
            )
            for key in request.coordinator_keys
        ]
    )


def _refusal(key_type: int) -> KafkaError:
    if key_type in (GROUP, TRANSACTION):
        return CoordinatorNotAvailable()
    return InvalidRequest(f"there are no coordinators of key type {key_type}")
