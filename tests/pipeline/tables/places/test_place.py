"""Folders and stores, by what names them."""

from pathlib import Path

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.iceberg import local_name
from odradek.pipeline.tables.places.place import (
    LocalPlace,
    local_folder,
    open_place,
    place_of,
)
from odradek.pipeline.tables.places.store_place import StorePlace


def test_path_or_url() -> None:
    assert isinstance(open_place("/t"), LocalPlace)
    assert isinstance(open_place("s3://lake/t"), StorePlace)
    for url, said in (
        ("s3a://lake/t", "write s3://BUCKET/FOLDER"),
        ("hdfs://h/t", "of stores there are s3://, gs:// and az://"),
        ("s3://lake", "whole bucket"),
    ):
        with pytest.raises(JobError, match=said):
            open_place(url)


def test_options_are_of_stores() -> None:
    with pytest.raises(JobError, match="lies in no store"):
        open_place("/t", {"region": "r"})
    with pytest.raises(JobError, match="has no option color"):
        open_place("s3://lake/t", {"color": "red"})


def test_staged_files_and_notes(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    folder = place.staging("data", "one")
    path = tmp_path / "data" / "one" / "x.parquet"
    path.write_bytes(b"12")
    place.settle([str(path)], "data")
    assert (folder.name, place.folders_in("data")) == ("one", ["one"])
    assert place.folders_in("none") == []
    assert place.status(str(path)).size == 2
    assert place.relative(str(path)) == "data/one/x.parquet"
    assert local_name(place.uri_of(str(path))) == str(path)
    assert list(place.data_files("data")) == [str(path)]
    place.remove_files([str(path)])
    assert place.folders_in("data") == []
    for durably in (True, False):
        place.write("text", "notes", "a", durably=durably)
    assert place.read("notes", "a") == "text"
    with pytest.raises(FileNotFoundError):
        place.read("notes", "b")


@pytest.mark.parametrize("name", ["t", "a b", "a%20b", "ä#?&"])
def test_a_folder_that_iceberg_names(name: str) -> None:
    place = place_of(Path("/lake") / name)
    for path in (str(place.location), f"{place.location}/data/x.parquet"):
        assert local_name(place.uri_of(path)) == path
    assert "%20" not in place.uri or name == "a%20b"
    assert place_of(Path("/lake/t")).uri == "file:///lake/t"


def test_what_only_folders_can_do(tmp_path: Path) -> None:
    assert local_folder(place_of(tmp_path), "no") == tmp_path
    with pytest.raises(JobError, match="s3://lake/t: no such luck"):
        local_folder(open_place("s3://lake/t"), "no such luck")
