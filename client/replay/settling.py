"""Waits for what a broker goes on with behind its answer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from odradek.protocol.error_fields import error_codes
from odradek.protocol.errors import ErrorCode, UnsupportedVersion
from odradek.protocol.messages.txn_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.client.connection import Connection

# A broker that makes its own topics first, or has not yet finished something, says so.
NOT_YET: Final = frozenset(
    (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    )
)
_PREPARED: Final = "Prepare"
_PAUSE_S: Final = 0.005


def is_not_yet(recorded: Any, found: Any) -> bool:
    """Whether an answer says that it is too early, and the recorded one did not."""
    codes = set(error_codes(found)) & NOT_YET
    return bool(codes) and not codes & set(error_codes(recorded))


def wait_for_markers(
    connection: Connection,
    transactional_id: str,
    timeout_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Return when the end of a transaction is in all of its logs, or time is over."""
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        try:
            answer = connection.request(request, DescribeTransactionsResponse)
        except UnsupportedVersion:  # Kafka before 3.0
            return
        if not any(
            each.transaction_state.startswith(_PREPARED)
            for each in answer.transaction_states
        ):
            return
        sleep(_PAUSE_S)
