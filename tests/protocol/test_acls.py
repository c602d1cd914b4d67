from enum import IntEnum

import pytest
from kafka.admin import ACLOperation
from kafka.admin import ResourceType as KafkaPythonType

from odradek.protocol.acls import Operation, ResourceType


@pytest.mark.parametrize(
    ("ours", "theirs"), [(Operation, ACLOperation), (ResourceType, KafkaPythonType)]
)
def test_numbers_and_names_are_those_that_clients_have(
    ours: type[IntEnum], theirs: type[IntEnum]
) -> None:
    known = {each.name: each.value for each in ours}
    others = {each.name: each.value for each in theirs}
    assert others.items() <= known.items()
    assert len(others) > len(known) - 4, "they know nearly as many"
