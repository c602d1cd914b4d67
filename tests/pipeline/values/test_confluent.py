"""Schema ids before values, and the registry that knows them."""

from pathlib import Path

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.values.confluent import (
    SchemaRegistry,
    UnknownSchema,
    open_registry,
    schema_id_of,
)
from tests.pipeline.fake_registry import FakeRegistry
from tests.pipeline.security.tasks import in_task


def test_prefix() -> None:
    assert schema_id_of(b"\0\0\0\1\2rest") == 258
    for value, said in {
        b"\0\0\0": "too few",
        b"\7\0\0\0\1": "begins with byte 7",
    }.items():
        with pytest.raises(ValueError, match=said):
            schema_id_of(value)


def test_registry_is_asked_with_the_user() -> None:
    with FakeRegistry({3: '"string"'}, {"orders/v": 3}) as fake:
        registry = SchemaRegistry(fake.url + "/", "me:secret")
        assert registry.schema(3) == {"schema": '"string"'}
        with pytest.raises(UnknownSchema):
            registry.schema(4)
        with pytest.raises(JobError, match="answers 404"):
            registry.version("nothing", "latest")
        assert set(fake.headers) == {"Basic bWU6c2VjcmV0"}


def test_registry_that_is_away_is_named() -> None:
    with FakeRegistry({}, {}) as fake:
        url = fake.url
    with pytest.raises(JobError, match=url):
        SchemaRegistry(url).schema(1)
    with pytest.raises(JobError, match="is not a URL of http"):
        SchemaRegistry("localhost:8081")


def test_who_is_let_in_stands_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "client.properties"
    config.write_text("basic.auth.user.info=me:secret\n")
    with FakeRegistry({3: '"string"'}, {}, wanted="Basic bWU6c2VjcmV0") as fake:
        assert open_registry(fake.url, "", str(config)).schema(3)
        monkeypatch.setenv("USER_OF_REGISTRY", "me:secret")
        assert open_registry(fake.url, "${env:USER_OF_REGISTRY}").schema(3)
        with pytest.raises(JobError, match="wants a login"):
            open_registry(fake.url).schema(3)
    with pytest.raises(JobError, match=r"\[value\] registry_user: there is no env"):
        open_registry(fake.url, "${env:NOBODY_HAS_IT}")
    in_task(monkeypatch, tmp_path)
    with pytest.raises(JobError, match=r"A task on .*no environment variable"):
        open_registry(fake.url, "${env:NOBODY_HAS_IT}")
