"""What a catalog of Iceberg is told, and what it is not."""

import pytest

from odradek.pipeline.tables.places.catalogs import (
    clear_secret,
    file_io_properties,
    pyiceberg_variable,
)


def test_options_of_the_store_go_along() -> None:
    found = file_io_properties({"region": "r"})
    assert found["odradek.store.region"] == "r"


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        ({"type": "rest", "uri": "https://h", "warehouse": "w"}, ""),
        ({"uri": "https://h", "token": "x"}, "token"),
        ({"credential": "x"}, "credential"),
        ({"s3.secret-access-key": "x"}, "s3.secret-access-key"),
        ({"uri": "postgresql://user:x@h/db"}, "uri"),
        ({"uri": "postgresql://user@h/db"}, ""),
        ({"uri": "sqlite:////tmp/catalog.db"}, ""),
    ],
)
def test_secrets_among_properties(properties: dict[str, str], name: str) -> None:
    assert clear_secret(properties) == name


def test_where_pyiceberg_looks() -> None:
    assert (
        pyiceberg_variable("my-lake", "s3.secret-access-key")
        == "PYICEBERG_CATALOG__MY_LAKE__S3__SECRET_ACCESS_KEY"
    )
