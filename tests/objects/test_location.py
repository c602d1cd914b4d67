"""Places in stores, as URLs."""

import pytest

from odradek.objects.location import (
    is_object_url,
    location_of_object,
    parse_location,
)


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_url_and_its_parts(scheme: str) -> None:
    found = parse_location(f"{scheme}://lake-1/a/b.c/")
    assert (found.scheme, found.bucket, found.path) == (scheme, "lake-1", "a/b.c")
    assert str(found) == f"{scheme}://lake-1/a/b.c"
    assert found.name == "b.c"
    assert str(found.child("_log", "x=1")) == f"{scheme}://lake-1/a/b.c/_log/x=1"
    assert found.child("") == found


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3a://b/t", "write s3://BUCKET/FOLDER"),
        ("abfss://b/t", "write az://CONTAINER/FOLDER"),
        ("gcs://b/t", "write gs://BUCKET/FOLDER"),
        ("hdfs://b/t", "is no place in a store"),
        ("/b/t", "is no place in a store"),
        ("s3://", "names no bucket"),
        ("s3:///t", "names no bucket"),
        ("s3://user:secret@b/t", "names no bucket"),
        ("s3://b", "is a whole bucket"),
        ("s3://b/", "is a whole bucket"),
        ("s3://b/a b", "letters, digits"),
        ("s3://b/a//b", "letters, digits"),
        ("s3://b/../b", "letters, digits"),
        ("s3://b/t?x=1", "letters, digits"),
        ("s3://b/ä", "letters, digits"),
        ("s3://b/t\n", "letters, digits"),
    ],
)
def test_what_is_no_place(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_location(url)


def test_objects_have_any_names() -> None:
    found = location_of_object("s3a://b/t/kind=a%2Fb/day=1 ä?/x.parquet")
    assert str(found) == "s3://b/t/kind=a%2Fb/day=1 ä?/x.parquet"
    for url in ("hdfs://b/t", "/b/t", "abfss://c@a/t"):
        with pytest.raises(ValueError, match="is no object in a store"):
            location_of_object(url)


def test_which_texts_are_urls_of_stores() -> None:
    yes = ["s3://b/t", "gs://", "az://x", "s3a://b/t", "abfss://c@a/t"]
    no = ["/t", "t", "file:///t", "hdfs://b/t", "s3:/b", "c:s3://"]
    assert all(map(is_object_url, yes))
    assert not any(map(is_object_url, no))
