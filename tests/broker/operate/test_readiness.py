from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.operate.readiness import why_not_ready
from odradek.broker.replica.logs.free_space import FreeSpace
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import StorageFailure

DATA, OTHER = Path("data"), Path("other")


class Parts:
    """The parts of a broker that are asked whether they are well."""

    def __init__(self) -> None:
        self.free_bytes = 1000
        self.directories = [
            SimpleNamespace(path=DATA, failure=None),
            SimpleNamespace(path=OTHER, failure=None),
        ]
        self.listeners: list[Any] = [SimpleNamespace(is_accepting=True)]
        self.now_ms = 0
        self.shortages: list[str] = []
        free_space = FreeSpace([DATA], 100, lambda _: self.free_bytes)
        self.services: Any = SimpleNamespace(
            metadata=SimpleNamespace(catalog_failure=None),
            cluster=None,
            committer=SimpleNamespace(failures={}),
            log_manager=SimpleNamespace(directories=self.directories),
            replica_manager=SimpleNamespace(
                appends=SimpleNamespace(free_space=free_space)
            ),
            clock=SimpleNamespace(now_ms=self._now_ms),
            shortage=SimpleNamespace(reasons=lambda: iter(self.shortages)),
            config=SimpleNamespace(log_min_free_bytes=100),
        )

    def _now_ms(self) -> int:
        self.now_ms += 1000
        return self.now_ms

    def reasons(self) -> list[str]:
        return why_not_ready(self.services, self.listeners)


@pytest.fixture
def parts() -> Parts:
    return Parts()


def test_a_broker_that_takes_records_is_ready(parts: Parts) -> None:
    assert parts.reasons() == []


def test_one_without_open_listener_is_not(parts: Parts) -> None:
    parts.listeners[0].is_accepting = False
    assert parts.reasons() == ["no listener is open: it is starting or stopping"]


def test_a_failed_sync_is_told_with_its_directory(parts: Parts) -> None:
    parts.services.committer.failures[DATA] = StorageFailure("fdatasync: EIO")
    assert parts.reasons() == ["data takes no writes: fdatasync: EIO"]


def test_a_directory_that_was_left_out_is_told(parts: Parts) -> None:
    parts.directories[1].failure = KafkaStorageError("permission denied")
    assert parts.reasons() == ["other takes no writes: permission denied"]


def test_a_failed_catalogue_is_told(parts: Parts) -> None:
    parts.services.metadata.catalog_failure = "disk I/O error"
    assert parts.reasons() == ["the catalogue has failed: disk I/O error"]


def test_a_full_disk_is_told_until_there_is_space_again(parts: Parts) -> None:
    parts.free_bytes = 99
    assert parts.reasons() == ["data has less than 100 bytes free"]
    parts.free_bytes = 100
    assert parts.reasons() == []


def test_what_there_is_no_room_for_is_told(parts: Parts) -> None:
    parts.shortages = ["data has no room"]
    assert parts.reasons() == ["data has no room"]


def test_one_that_its_cluster_does_not_let_in_is_not(parts: Parts) -> None:
    reasons: list[str] = []
    standing = SimpleNamespace(why_not_ready=lambda: iter(reasons))
    parts.services.cluster = SimpleNamespace(standing=standing)
    assert parts.reasons() == []
    reasons.append("it is fenced")
    assert parts.reasons() == ["it is fenced"]
