"""A cluster without users, and a password that is typed."""

import io
import sys
from collections.abc import Callable

import pytest

from odradek.client.cluster import Cluster
from odradek.client.scram import Mechanism, describe_users, remove_password

Typing = Callable[[str], None]


@pytest.fixture(autouse=True)
def _no_users(cluster: Cluster) -> None:
    for name, credentials in describe_users(cluster).found.items():
        for each in credentials:
            mechanism = Mechanism[each.mechanism.replace("-", "_")]
            remove_password(cluster, name, mechanism)


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Typing:
    """What stands in the standard input."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))
