"""What the broker knows, as a test sees it: by kind, and by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Item = dict[str, Any]


class State:
    """The items of the request ``state``.

    ``broker``: who waits, and how many are connected. ``groups`` and ``transactions``
    are by their ids, ``partitions`` by topic and number.
    """

    def __init__(self, items: Iterable[Mapping[str, Any]]) -> None:
        self.broker: Item = {}
        self.partitions: dict[tuple[str, int], Item] = {}
        self.groups: dict[str, Item] = {}
        self.transactions: dict[str, Item] = {}
        for each in items:
            item = dict(each)
            kind = item.pop("kind")
            if kind == "broker":
                self.broker = item
            elif kind == "partition":
                self.partitions[item["topic"], item["partition"]] = item
            elif kind == "group":
                self.groups[item["group"]] = item
            elif kind == "transaction":
                self.transactions[item["id"]] = item

    def lag(self, group: str) -> dict[tuple[str, int], int | None]:
        """How far a group is behind, where it has committed something."""
        return {
            (each["topic"], each["partition"]): each["lag"]
            for each in self.groups[group]["offsets"]
        }
