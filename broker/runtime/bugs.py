"""Exceptions that nobody expected."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_logger = logging.getLogger(__name__)


class Bugs:
    """Unexpected exceptions: logged, counted, and told to a hook.

    Tests set the hook to fail; the broker itself goes on.
    """

    def __init__(self, hook: Callable[[BaseException], None] | None = None) -> None:
        self.count = 0
        self.hook = hook

    def record(self, where: str, error: BaseException) -> None:
        """Log ``error`` with its traceback and count it."""
        self.count += 1
        _logger.error("unexpected error in %s", where, exc_info=error)
        if self.hook is not None:
            self.hook(error)
