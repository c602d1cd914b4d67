"""Skips this folder where Apache Kafka cannot run, except under CI."""

import os
from collections.abc import Iterator

import pytest

from . import jars
from .java_client import JavaClient


@pytest.fixture(scope="session", autouse=True)
def apache_kafka() -> None:
    reason = jars.missing()
    if reason and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    jars.fetch()


@pytest.fixture(scope="session")
def java(
    apache_kafka: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaClient]:
    with JavaClient(tmp_path_factory.mktemp("java") / "client.log") as client:
        yield client
