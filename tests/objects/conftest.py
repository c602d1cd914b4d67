"""A store over HTTP, found by the environment as clouds' tools find theirs."""

from collections.abc import Iterator

import pytest

from tests.fakes.object_server import environment, far_object_server, object_server
from tests.fakes.stored_objects import ObjectServer


@pytest.fixture(scope="module")
def far_store() -> Iterator[ObjectServer]:
    with far_object_server() as store:
        yield store


@pytest.fixture
def far_server(
    far_store: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> ObjectServer:
    """Such a store in a process of its own."""
    far_store.clear()
    for name, value in environment(far_store).items():
        monkeypatch.setenv(name, value)
    return far_store


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectServer]:
    with object_server() as store:
        for name, value in environment(store).items():
            monkeypatch.setenv(name, value)
        yield store
