import threading
from pathlib import Path

import pytest

from odradek.broker.cli.node.stopped_directory import (
    alter_all,
    put_first_user,
    with_users,
)
from odradek.broker.metadata.catalog.store import CatalogStore
from odradek.broker.metadata.scram_credentials import ScramCredentials
from odradek.client.scram import Mechanism, upsertion_of
from odradek.protocol.errors import UnacceptableCredential
from odradek.protocol.messages.scram import ScramCredentialUpsertion
from odradek.storage.directory.log_directory import DirectoryInUse, DirectoryLock
from tests.broker_process import running_broker


def credential(
    user: str, password: str = "pw", iterations: int = 4096
) -> list[ScramCredentialUpsertion]:
    return [
        upsertion_of(user, password, Mechanism.SCRAM_SHA_256, iterations),
        upsertion_of(user, password, Mechanism.SCRAM_SHA_512, iterations),
    ]


def salts(directory: Path, user: str) -> list[bytes]:
    async def act(users: ScramCredentials) -> list[bytes]:
        return [each.salt for each in users.of(user).values()]

    return with_users(directory, act)


def test_the_first_user_is_made_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert put_first_user(data, "admin", credential("admin"))
    before = salts(data, "admin")
    assert len(before) == 2
    assert not put_first_user(data, "admin", credential("admin"))
    assert not put_first_user(data, "other", credential("other"))
    assert salts(data, "admin") == before
    assert salts(data, "other") == []


def test_only_the_catalogues_thread_writes_while_that_may_copy_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writers = []
    put = CatalogStore.set_fact

    def noted(store: CatalogStore, name: str, value: str | int) -> None:
        writers.append((name, threading.current_thread() is threading.main_thread()))
        put(store, name, value)

    monkeypatch.setattr(CatalogStore, "set_fact", noted)
    put_first_user(tmp_path, "admin", credential("admin"))
    assert writers[-1] == ("first_user", False)


def test_a_user_who_is_there_keeps_the_password(tmp_path: Path) -> None:
    with_users(tmp_path, lambda users: alter_all(users, credential("admin")))
    before = salts(tmp_path, "admin")
    assert not put_first_user(tmp_path, "admin", credential("admin"))
    assert salts(tmp_path, "admin") == before


def test_a_broker_begins_with_it(tmp_path: Path) -> None:
    put_first_user(
        tmp_path / "data", "admin", credential("admin"), "our-cluster-id-0123456"
    )
    with (
        running_broker(tmp_path / "data", "-o", "cluster.id=our-cluster-id-0123456"),
        pytest.raises(DirectoryInUse, match="in use by process"),
    ):
        salts(tmp_path / "data", "admin")


def test_all_are_made_or_none(tmp_path: Path) -> None:
    wrong = [*credential("a"), *credential("b", iterations=1)]
    with pytest.raises(UnacceptableCredential):
        with_users(tmp_path, lambda users: alter_all(users, wrong))
    assert salts(tmp_path, "a") == []


def test_the_lock_is_let_go(tmp_path: Path) -> None:
    async def fail(_: ScramCredentials) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        with_users(tmp_path, fail)
    DirectoryLock(tmp_path).release()
