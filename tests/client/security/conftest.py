"""A CA with a certificate for this machine, for all tests of a run."""

from pathlib import Path

import pytest

from tests.authority import Authority


@pytest.fixture(scope="session")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def identity(ca: Authority) -> Path:
    """Key and certificate for 127.0.0.1."""
    return ca.issue("here", "IP:127.0.0.1")
