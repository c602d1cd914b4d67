"""Schema ids before values, and the registry that knows them."""

import pytest

from odradek.client.schemas.registry import (
    RegistryAway,
    RegistryError,
    SchemaRegistry,
    UnknownSchema,
    prefix_of,
    schema_id_of,
)
from tests.pipeline.fake_registry import FakeRegistry


def test_prefix() -> None:
    assert schema_id_of(b"\0\0\0\1\2rest") == 258
    assert prefix_of(258) == b"\0\0\0\1\2"
    for value, said in {
        b"\0\0\0": "too few",
        b"\7\0\0\0\1": "begins with byte 7",
    }.items():
        with pytest.raises(ValueError, match=said):
            schema_id_of(value)


def test_a_registry_is_asked_with_the_user() -> None:
    with FakeRegistry({3: '"string"'}, {"orders/v": 3}) as fake:
        registry = SchemaRegistry(fake.url + "/", "me:secret")
        assert registry.schema(3) == {"schema": '"string"'}
        with pytest.raises(UnknownSchema):
            registry.schema(4)
        with pytest.raises(
            RegistryError, match="answers 404 Not Found to /subjects/nothing/versions/"
        ):
            registry.version("nothing", "latest")
        assert set(fake.headers) == {"Basic bWU6c2VjcmV0"}


def test_a_registry_that_is_away_is_named() -> None:
    with FakeRegistry({}, {}) as fake:
        url = fake.url
    with pytest.raises(RegistryAway, match=url):
        SchemaRegistry(url).schema(1)
    with pytest.raises(RegistryError, match="not a URL of http"):
        SchemaRegistry("localhost:8081")
