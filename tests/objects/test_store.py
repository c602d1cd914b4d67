"""What every store of objects can do: the type says it, and the values."""

from typing import TYPE_CHECKING

from tests.fakes.stored_objects import ObjectServer
from tests.objects.live import cloud_store

if TYPE_CHECKING:
    from odradek.objects.store import ObjectInfo, ObjectStore


def test_a_version_tells_contents_apart(server: ObjectServer) -> None:
    store: ObjectStore = cloud_store(server)
    found: list[ObjectInfo] = []
    for content in (b"1", b"2", b"1"):
        store.put("t/a", content)
        found.append(store.head("t/a"))
    first, other, again = (each.version for each in found)
    assert first == again != other
