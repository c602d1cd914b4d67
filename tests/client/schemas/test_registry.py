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
from odradek.client.schemas.registry_options import RegistryLogin
from odradek.client.security.settings import Pem, Secret, Tls
from tests.certificates import authority, server
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


BASIC, BEARER = "Basic YWxpY2U6cA==", "Bearer abc"
ALICE, TOKEN = RegistryLogin(Secret("alice:p")), RegistryLogin(token=Secret("abc"))


def test_who_is_let_in() -> None:
    with FakeRegistry({3: '"string"'}, {}, wanted=BASIC) as fake:
        with_user = fake.url.replace("://", "://alice:p@")
        for registry in (
            SchemaRegistry(fake.url, login=ALICE),
            SchemaRegistry(fake.url, "alice:p", TOKEN),
            SchemaRegistry(with_user),
        ):
            assert registry.schema(3)["schema"] == '"string"'
        for registry, said in (
            (SchemaRegistry(fake.url), "wants a login"),
            (SchemaRegistry(fake.url, login=TOKEN), "does not accept this login"),
        ):
            with pytest.raises(RegistryError, match=f"401.*{said}"):
                registry.schema(3)
    with FakeRegistry({3: '"string"'}, {}, wanted=BEARER) as fake:
        registry = SchemaRegistry(fake.url, login=TOKEN)
        assert registry.schema(3)["schema"] == '"string"'
    with pytest.raises(RegistryAway) as caught:
        SchemaRegistry(with_user).schema(3)
    assert "alice" not in str(caught.value)


def test_a_login_follows_no_redirect() -> None:
    with FakeRegistry({3: '"string"'}, {}) as other:
        moved_to = f"{other.url}/schemas/ids/3"
        with FakeRegistry({}, {}, moved_to=moved_to) as fake:
            assert SchemaRegistry(fake.url).schema(3)["schema"] == '"string"'
            with pytest.raises(RegistryError, match=r"301.*no other place"):
                SchemaRegistry(fake.url, login=ALICE).schema(3)
        assert other.headers == [None]


def test_https_with_a_ca_of_ones_own() -> None:
    trusted = Tls(trusted=Pem.of_file(str(authority().certificate)))
    with FakeRegistry({3: '"string"'}, {}, identity=server()) as fake:
        registry = SchemaRegistry(fake.url, login=RegistryLogin(tls=trusted))
        assert registry.schema(3)["schema"] == '"string"'
        reason = f"{fake.url}: its certificate was issued by nobody whom we trust"
        with pytest.raises(RegistryError, match=reason) as caught:
            SchemaRegistry(fake.url).schema(3)
        assert not isinstance(caught.value, RegistryAway)
