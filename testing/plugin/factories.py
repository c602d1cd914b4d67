"""Makes fixtures: a project's own names, options and lifetimes of brokers.

``kafka = factories.broker(scope="module", config={...})`` in a conftest.py is a fixture
`kafka`. One of a session is shared by all workers, as `odradek` is; any other belongs
to who asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from odradek.testing import Broker

    Scope = Literal["session", "package", "module", "class", "function"]


def broker(
    *,
    scope: Scope = "function",
    config: Mapping[str, Any] | None = None,
    snapshot: Any = None,
    security: str | None = None,
    users: Mapping[str, str] | None = None,
    acl: bool = False,
) -> Any:
    """A fixture that gives a broker; ``snapshot``: of which it begins as a fork.

    ``security``, ``users``, ``acl`` as `odradek.testing.Broker` has them. One with
    these or with a snapshot is each worker's own, also when it is of a session.
    """
    given = {
        "snapshot": snapshot,
        "security": security,
        "users": users,
        "acl": acl or None,
    }
    how = {name: value for name, value in given.items() if value is not None}

    @pytest.fixture(scope=scope)
    def made(request: pytest.FixtureRequest) -> Iterator[Broker]:
        """A broker with options of its own."""
        from .run import PluginRun

        run = PluginRun.of(request.config)
        name = request.fixturename or ""
        if scope == "session" and not how:
            yield run.shared(config, name)
            return
        yield run.lend(name, config, how)
        run.take_back(name)

    return made


def external(bootstrap: str) -> Any:
    """A fixture that gives the Kafka which is there already."""

    @pytest.fixture(scope="session")
    def found(request: pytest.FixtureRequest) -> Broker:
        """A Kafka that is there already."""
        from .run import PluginRun

        return PluginRun.of(request.config).external(bootstrap)

    return found
