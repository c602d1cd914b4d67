"""A store of a cloud, over HTTP: what it does, and what becomes of its failures."""

import io
from datetime import UTC, datetime

import pytest

from odradek.objects.errors import NoSuchObject, StoreAway, StoreError, StoreRefused
from tests.fakes.stored_objects import (
    BROKEN,
    BUSY,
    CONFLICT,
    DENIED,
    EXPIRED,
    LATE,
    LOST,
    Fault,
    ObjectServer,
)
from tests.objects.live import Tries, cloud_store


def test_objects_come_and_go(server: ObjectServer) -> None:
    store = cloud_store(server)
    store.put("t/a", b"one")
    store.put("t/a", b"other")
    assert store.get("t/a") == b"other"
    assert store.get_range("t/a", 1, 3) == b"the"
    assert store.get_range("t/a", 3, 100) == b"er"
    info = store.head("t/a")
    assert (info.name, info.size) == ("t/a", 5)
    assert abs(info.changed_s - datetime.now(UTC).timestamp()) < 3600
    store.delete(["t/a", "t/none"])
    for ask in (store.get, store.head):
        with pytest.raises(NoSuchObject):
            ask("t/a")


def test_folders(server: ObjectServer) -> None:
    store = cloud_store(server)
    for name in ("t/a", "t/x/b", "t/x/y/c", "tt/d"):
        store.put(name, b"1")
    assert sorted(each.name for each in store.list_all("t")) == [
        "t/a",
        "t/x/b",
        "t/x/y/c",
    ]
    objects, folders = store.list_folder("t")
    assert ([each.name for each in objects], folders) == (["t/a"], ["x"])
    assert store.list_folder("none") == ([], [])


def test_copy(server: ObjectServer) -> None:
    store = cloud_store(server)
    store.put("t/a", b"1")
    store.copy("t/a", "t/b")
    assert store.get("t/b") == b"1"
    with pytest.raises(NoSuchObject):
        store.copy("t/none", "t/b")


@pytest.mark.parametrize("size", [0, 1, 20 << 20])
def test_file_in_parts(size: int, server: ObjectServer) -> None:
    store = cloud_store(server)
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    assert store.put_file("t/a", io.BytesIO(content)) == size
    assert server.content("t/a") == content


def test_first_of_two(server: ObjectServer) -> None:
    store = cloud_store(server)
    assert store.put_if_absent("t/a", b"one")
    assert not store.put_if_absent("t/a", b"two")
    assert store.get("t/a") == b"one"


@pytest.mark.parametrize("kind", [BUSY, LOST, LATE, BROKEN, CONFLICT])
@pytest.mark.parametrize("times", [1, 3, 8])
def test_first_of_two_whose_answer_is_lost(
    kind: str, times: int, server: ObjectServer
) -> None:
    """The put took effect or not: who asks again is told that it is theirs."""
    server.fail(Fault(kind, "PUT", "t/a", times))
    store = cloud_store(server)
    assert store.put_if_absent("t/a", b"one")
    assert not store.put_if_absent("t/a", b"two")
    assert server.content("t/a") == b"one"


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "DELETE"])
@pytest.mark.parametrize("kind", [BUSY, BROKEN])
def test_busy_store_is_asked_again(
    kind: str, method: str, server: ObjectServer
) -> None:
    store = cloud_store(server)
    store.put("t/a", b"1")
    server.fail(Fault(kind, method, "", 4))
    does = {
        "GET": lambda: store.get("t/a"),
        "PUT": lambda: store.put("t/a", b"1"),
        "HEAD": lambda: store.head("t/a"),
        "DELETE": lambda: store.delete(["t/a"]),
    }
    does[method]()


def test_store_that_stays_away(server: ObjectServer) -> None:
    server.fail(Fault(BUSY, times=1000))
    with pytest.raises(StoreAway, match=r"127.0.0.1:\d+ answers 503 SlowDown"):
        cloud_store(server).get("t/a")


def test_nobody_is_there(server: ObjectServer) -> None:
    store = cloud_store(server)
    server.fail(Fault(BROKEN, times=1000))
    with pytest.raises(StoreAway, match="answers nothing"):
        store.get("t/a")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (EXPIRED, "have expired; renew them: set AWS_ACCESS_KEY_ID"),
        (DENIED, "does not let these credentials read and write s3://lake/t"),
    ],
)
def test_refusals_are_final_and_show_nothing(
    kind: str, said: str, server: ObjectServer
) -> None:
    tries = Tries()
    store = cloud_store(server, tries)
    server.fail(Fault(kind, "GET"))
    with pytest.raises(StoreRefused, match=said) as raised:
        store.get("t/a")
    _shows_nothing(raised.value)
    assert server.where().removeprefix("http://") in str(raised.value)
    assert tries.count == 0
    with pytest.raises(NoSuchObject):  # with newer credentials it goes on
        store.get("t/a")


def test_no_bucket(server: ObjectServer) -> None:
    server.drop_bucket()
    with pytest.raises(StoreRefused, match="there is no bucket lake"):
        cloud_store(server).put("t/a", b"1")


def _shows_nothing(error: StoreError) -> None:
    import traceback

    text = "".join(traceback.format_exception(error))
    for secret in ("AKIASHOWN", "secret-shown", "signature-shown"):
        assert secret not in text


def test_upload_that_breaks_off_is_sent_again(server: ObjectServer) -> None:
    content = b"x" * (20 << 20)
    server.fail(Fault(BROKEN, "PUT", "partNumber=2", 5))
    assert cloud_store(server).put_file("t/a", io.BytesIO(content)) == len(content)
    assert server.content("t/a") == content
