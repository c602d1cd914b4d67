"""Stores that mind conditions, and those that forget them."""

import pytest

from odradek.objects.errors import StoreRefused
from odradek.objects.location import parse_location
from odradek.objects.probe import check_conditions
from tests.fakes.stored_objects import LATE, LOST, Fault, ObjectServer
from tests.objects.live import cloud_store

PLACE = parse_location("s3://lake/t")


def test_store_that_minds_them(server: ObjectServer) -> None:
    for _ in range(3):
        check_conditions(cloud_store(server), PLACE, "_log")
    assert server.names() == ["t/_log/probe"]


@pytest.mark.parametrize("kind", [LOST, LATE])
def test_lost_answers_are_no_sign(kind: str, server: ObjectServer) -> None:
    server.fail(Fault(kind, "PUT", "probe", 3))
    check_conditions(cloud_store(server), PLACE, "_log")


def test_store_that_forgets_them(server: ObjectServer) -> None:
    server.forget_conditions()
    for _ in range(2):
        with pytest.raises(StoreRefused, match="ignores conditions") as raised:
            check_conditions(cloud_store(server), PLACE, "_log")
        assert server.where().removeprefix("http://") in str(raised.value)
    assert server.names() == []
