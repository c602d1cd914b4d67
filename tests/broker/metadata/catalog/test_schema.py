"""Catalogues of every version that there was are opened, and become new ones."""

from pathlib import Path

import pytest

from odradek.broker.metadata.catalog.schema import SCHEMA
from odradek.broker.metadata.catalog.store import CatalogStore
from odradek.broker.metadata.delegation_token import DelegationToken
from odradek.protocol.acls import Operation
from tests.fakes.access import entry

TOKEN = DelegationToken("id", "User:a", "User:b", (), 1, 2, 3)


@pytest.mark.parametrize("version", range(1, len(SCHEMA)))
def test_an_older_one_gets_what_it_has_not(tmp_path: Path, version: int) -> None:
    path = tmp_path / "catalog.db"
    older = CatalogStore(path, SCHEMA[:version])
    older.set_fact("cluster_id", "x")
    older.close()
    store = CatalogStore(path)
    assert store.fact("cluster_id") == "x"
    store.replace_resource_options({("group", "g"): {"x": "1"}})
    store.change_acls([], [entry(Operation.READ, "a")])
    store.change_tokens([], [TOKEN])
    store.close()
    store = CatalogStore(path)
    assert list(store.tokens()) == [TOKEN.row()]
    store.change_tokens(["id"], [])
    assert list(store.tokens()) == []
    store.close()
