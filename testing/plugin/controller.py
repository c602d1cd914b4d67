"""In the controller of pytest-xdist: where workers find the broker that they share."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Any

from odradek.testing.room import room

from .options import Settings

if TYPE_CHECKING:
    from typing import Self

    import pytest

_CONTROLLER = "odradek-controller"


class Controller:
    """Knows in the controller where the workers' brokers are."""

    def __init__(self, *, keep: bool) -> None:
        self._keep = keep
        self._directory = room() / f"odradek-run-{os.urandom(8).hex()}"

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        """That of this run; nothing is made for it."""
        found = config.pluginmanager.get_plugin(_CONTROLLER)
        if found is None:
            found = cls(keep=Settings.of(config).keep)
            config.pluginmanager.register(found, _CONTROLLER)
        assert isinstance(found, cls)
        return found

    def worker_input(self) -> dict[str, Any]:
        """What a worker has to know."""
        return {
            "home": os.getpid(),
            "host": platform.node(),
            "directory": str(self._directory),
        }

    def pytest_unconfigure(self) -> None:
        """All workers are done: end what they have started, and remove it."""
        if self._directory.is_dir():
            self._end_brokers()

    def _end_brokers(self) -> None:
        import shutil

        from odradek.testing.attached import AttachedBroker, Note

        for path in self._directory.glob("*.json"):
            note = Note.read(path)
            if note is not None and not note.error:
                AttachedBroker(note).end()
        if not self._keep:
            shutil.rmtree(self._directory, ignore_errors=True)
