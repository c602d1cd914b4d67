"""A row of the table of what APIs need, and what it is written with.

``denied`` are all error codes of the answer to who has nothing; where nothing is said
but something left out, ``listed`` names the list. Each of ``alternatives`` is enough.
"""

from typing import Any, NamedTuple

from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.api_keys import ApiKey

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
CLUSTER, TXN_ID = ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID
NO_TOPIC, NO_GROUP, NO_CLUSTER, NO_TXN_ID = 29, 30, 31, 53

Need = tuple[Operation, ResourceType, str]


class Row(NamedTuple):
    """One request, and what it needs."""

    api: ApiKey
    version: int
    values: dict[str, Any]
    denied: list[int]
    alternatives: list[list[Need]]
    listed: str = ""


def t(*operations: str, name: str = "t") -> list[Need]:
    return [(Operation[each], TOPIC, name) for each in operations]


def g(*operations: str) -> list[Need]:
    return [(Operation[each], GROUP, "g") for each in operations]


def c(*operations: str) -> list[Need]:
    return [(Operation[each], CLUSTER, CLUSTER_NAME) for each in operations]


def x(*operations: str) -> list[Need]:
    return [(Operation[each], TXN_ID, "x") for each in operations]


def of_group(api: ApiKey, version: int, **more: Any) -> Row:
    values = {"group_id": "g", **more}
    return Row(api, version, values, [NO_GROUP], [g("READ")])


def of_cluster(
    api: ApiKey, version: int, values: dict[str, Any], *operations: str
) -> Row:
    return Row(api, version, values, [NO_CLUSTER], [c(each) for each in operations])
