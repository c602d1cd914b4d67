"""A store over HTTP for tables, found by the environment."""

import pytest

from odradek.pipeline.tables.places.store_place import StorePlace, open_store_place
from tests.fakes.stored_objects import ObjectServer
from tests.objects.conftest import server

__all__ = ["server"]


@pytest.fixture
def place(server: ObjectServer) -> StorePlace:
    return open_store_place("s3://lake/jobs/t", {})
