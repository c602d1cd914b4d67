"""How records of groups that the broker assigns lie in the log: what is alike in all.

Consumer groups (KIP-848), share groups and streams groups each have records of their
own kinds. A key names the group, and mostly a member; a value is of one version. One
of a version that is not known is passed over, as a record of an unknown kind is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from odradek.protocol.schema import Message
    from odradek.storage.files.files import Buffer

_VERSION = 0
_INT16 = Struct(">h")


class Layout(NamedTuple):
    """One kind of record: what is written of it, and what that means here.

    ``name`` is the field of the key beside the group's id, if it has one.
    """

    of: tuple[type[Message], type[Message]]
    read: Callable[[Any], Any]
    write: Callable[[Any], Message]
    name: str | None = None


Layouts = Mapping[int, Layout]


class NamedRecord(Protocol):
    """A record of one of the kinds. Without ``value``: the thing is gone."""

    @property
    def key(self) -> int:
        """Of what kind it is."""

    @property
    def group_id(self) -> str:
        """Of which group."""

    @property
    def name(self) -> str:
        """Of which member, or what else the kind's keys name."""

    @property
    def value(self) -> Any:
        """What it says."""


def encoded(layouts: Layouts, record: NamedRecord) -> tuple[bytes, bytes | None]:
    """Key and value as they lie in the log."""
    layout = layouts[record.key]
    fields = {"group_id": record.group_id}
    if layout.name is not None:
        fields[layout.name] = record.name
    key = _INT16.pack(record.key) + layout.of[0](**fields).encode(0)
    if record.value is None:
        return key, None
    value = layout.write(record.value)
    return key, _INT16.pack(_VERSION) + value.encode(_VERSION)


def decoded(
    layouts: Layouts, kind: int, key: memoryview, value: Buffer | None
) -> tuple[int, str, str, Any] | None:
    """The fields of a record; ``key`` is what follows its kind.

    Raises:
        MalformedRequest, struct.error: the bytes are no such record.
    """
    layout = layouts[kind]
    key_class, value_class = layout.of
    found: Any = key_class.decode(key, 0)
    name = "" if layout.name is None else getattr(found, layout.name)
    if value is None:
        return kind, found.group_id, name, None
    view = memoryview(value)
    (version,) = _INT16.unpack_from(view)
    if not value_class.min_version <= version <= value_class.max_version:
        return None
    said = layout.read(value_class.decode(view[2:], version))
    return kind, found.group_id, name, said
