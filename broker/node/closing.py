"""Logs are closed, several at a time: each waits for small syncs of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.storage.directory.log_manager import LogManager
    from odradek.storage.log.unified_log import UnifiedLog

CLOSING_THREADS = 8


def close_logs(log_manager: LogManager) -> None:
    """Close all of them, which makes the stop a clean one. Blocks."""
    with ThreadPoolExecutor(CLOSING_THREADS, "close") as threads:
        log_manager.close(lambda logs: threads.map(_close_log, logs))


def _close_log(log: UnifiedLog) -> bool:
    return log.close()
