"""Objects as files that are open for reading."""

import io

import pytest

from odradek.objects.errors import NoSuchObject
from odradek.objects.reading import open_object
from tests.fakes.stored_objects import ObjectServer
from tests.objects.live import cloud_store

CONTENT = bytes(range(256)) * (3 << 12)  # 3 MiB


def test_read_as_a_file_is(server: ObjectServer) -> None:
    server.put("t/a", CONTENT)
    plain = io.BytesIO(CONTENT)
    with open_object(cloud_store(server), "t/a") as file:
        for offset, whence, size in (
            (0, io.SEEK_SET, 10),
            (-8, io.SEEK_END, 100),
            (1 << 20, io.SEEK_SET, 1 << 20),
            (-5, io.SEEK_CUR, 7),
            (10, io.SEEK_END, 1),
            (0, io.SEEK_SET, -1),
        ):
            assert file.seek(offset, whence) == plain.seek(offset, whence)
            assert file.read(size) == plain.read(size)
            assert file.tell() == plain.tell()


def test_a_few_requests_for_many_reads(server: ObjectServer) -> None:
    server.put("t/a", CONTENT)
    with open_object(cloud_store(server), "t/a") as file:
        while file.read(1000):
            pass
    assert server.asked("GET") <= 4


def test_missing_and_empty(server: ObjectServer) -> None:
    server.put("t/empty", b"")
    with open_object(cloud_store(server), "t/empty") as file:
        assert file.read() == b""
    with pytest.raises(NoSuchObject):
        open_object(cloud_store(server), "t/none")
