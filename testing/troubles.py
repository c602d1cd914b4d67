"""What can befall a broker while it runs: it stands still, it loses its clients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .undo import Undo


class Troubles(ABC):
    """A part of `Broker`."""

    @abstractmethod
    def ask(self, request: str, **fields: Any) -> list[dict[str, Any]]:
        """The items of the answer to a request of tests."""

    def freeze(self) -> Undo:
        """Let it stand still, until `thaw` or the end of the ``with`` block.

        It takes connections and bytes, and answers nothing; time goes on.
        """
        self.ask("process.freeze")
        return Undo(self.thaw)

    def thaw(self) -> None:
        """Let it go on, with all that has come meanwhile."""
        self.ask("process.thaw")

    def disconnect(self, client_id: str = "*") -> int:
        """Close the connections of clients with such an id; returns how many.

        ``client_id`` may have ``*`` and ``?``. Clients connect again.
        """
        (item,) = self.ask("process.disconnect", client_id=client_id)
        count: int = item["disconnected"]
        return count

    def refuse(self) -> Undo:
        """Let nobody connect, until `accept` or the end of the ``with`` block.

        Connections that are open stay; `disconnect` ends them.
        """
        self.ask("process.refuse")
        return Undo(self.accept)

    def accept(self) -> None:
        """Let clients connect again."""
        self.ask("process.accept")
