"""The store that a URL and its options mean."""

import pytest

from odradek.objects.location import location_of_object
from odradek.objects.opening import open_store, read_settings

HERE = {"PATH": "/none", "HOME": "/none"}


def test_azure_needs_an_account() -> None:
    with pytest.raises(ValueError, match="AZURE_STORAGE_ACCOUNT"):
        read_settings("az://lake/t", {}, HERE)
    found = read_settings("az://lake/t", {}, {**HERE, "AZURE_STORAGE_ACCOUNT": "a"})
    assert found.account == "a"
    assert read_settings("az://lake/t", {"account": "b"}, HERE).account == "b"


def test_wrong_option_and_wrong_url() -> None:
    with pytest.raises(ValueError, match="has no option"):
        read_settings("s3://lake/t", {"color": "red"}, HERE)
    with pytest.raises(ValueError, match="whole bucket"):
        read_settings("s3://lake", {}, HERE)
    somewhere = location_of_object("s3://lake/kind=a b/x")
    assert read_settings(somewhere, {}, HERE).location == somewhere


def test_nothing_is_asked_when_it_is_opened() -> None:
    endpoint = {"endpoint": "http://127.0.0.1:1"}
    store = open_store(read_settings("s3://lake/t", endpoint, HERE))
    assert store.host == "127.0.0.1:1"
