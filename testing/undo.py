"""What was begun, and ends with a ``with`` block."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Undo:
    """``with broker.freeze(): ...``: at the end of the block it is undone.

    Without a block it stays until it is undone by name.
    """

    def __init__(self, undo: Callable[[], object]) -> None:
        self._undo = undo

    def __enter__(self) -> None:
        """It has been done already."""

    def __exit__(self, *error: object) -> None:
        self._undo()
