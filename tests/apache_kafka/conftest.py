"""Skips this folder where Apache Kafka cannot run, except under CI."""

import os

import pytest

from . import jars


@pytest.fixture(scope="session", autouse=True)
def apache_kafka() -> None:
    reason = jars.missing()
    if reason and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    jars.fetch()
