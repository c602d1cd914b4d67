"""What folders are in a store."""

import pickle

import pytest

from odradek.objects.errors import NoSuchObject, StoreAway, StoreRefused
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.places.store_place import StorePlace, open_store_place
from tests.fakes.stored_objects import ObjectServer


def test_folders_are_beginnings_of_names(
    place: StorePlace, server: ObjectServer
) -> None:
    folder = place.staging("data", "one")
    assert (str(folder), folder.name) == ("s3://lake/jobs/t/data/one", "one")
    folder.rmdir()
    for name in ("data/one/x.parquet", "data/two/y.parquet", "data/two/z.txt"):
        server.put(f"jobs/t/{name}", b"12")
    path = "s3://lake/jobs/t/data/one/x.parquet"
    assert sorted(place.folders_in("data")) == ["one", "two"]
    assert place.folders_in("") == ["data"]
    assert place.relative(path) == "data/one/x.parquet"
    assert place.status(path).size == 2
    assert place.uri_of(path) == place.real(path) == path
    assert list(place.data_files("data")) == [path, path.replace("one/x", "two/y")]
    place.remove_files([path])
    place.remove_folder("data", "two")
    assert server.names() == []


def test_small_objects(place: StorePlace) -> None:
    for text in ("one", "two"):
        place.write(text, "_odradek", "note")
    assert place.read("_odradek", "note") == "two"
    with pytest.raises(NoSuchObject):
        place.read("_odradek", "none")


def test_file_of_another_bucket(place: StorePlace, server: ObjectServer) -> None:
    server.put("jobs/t/a", b"12")
    assert place.open("s3://lake/jobs/t/a").read() == b"12"
    assert place.open("s3://other/jobs/t/a") is None


def test_tasks_are_told_no_secret() -> None:
    given = {"region": "eu-west-1", "endpoint": "http://h:1"}
    folder = open_store_place("s3://lake/t", given).staging("data", "x")
    sent = pickle.dumps(folder)
    assert b"eu-west-1" in sent
    assert b"secret-shown" not in sent
    assert pickle.loads(sent) == folder


def test_iceberg_needs_a_catalog(place: StorePlace) -> None:
    with pytest.raises(JobError, match="--catalog type=rest"):
        place.catalog(None, "odradek")
    with pytest.raises(JobError, match="PYICEBERG_CATALOG__LAKE__TOKEN"):
        place.catalog({"token": "secret-shown"}, "lake")
    found = place.catalog({"type": "sql"}, "odradek")
    assert found["py-io-impl"].endswith("ObjectsFileIO")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Generic S3 error: status code: 503 Busy", StoreAway),
        ("Generic S3 error: status code: 403 <Code>AccessDenied</Code>", StoreRefused),
    ],
)
def test_errors_of_libraries(
    text: str, kind: type[Exception], place: StorePlace
) -> None:
    with pytest.raises(kind), place.telling():
        raise OSError(text)


def test_errors_that_are_not_of_the_store(place: StorePlace) -> None:
    with pytest.raises(ZeroDivisionError), place.telling():
        raise ZeroDivisionError
    with pytest.raises(JobError, match="credentials"), place.telling():
        raise JobError("credentials")
    with place.telling():
        pass
