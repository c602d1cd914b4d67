import pytest

from odradek.protocol.acl_entries import AclEntry, AclFilter, PatternType, Permission
from odradek.protocol.acls import Operation, ResourceType

LITERAL = AclEntry(2, "orders", 3, "User:a", "*", 3, 3)
PREFIXED = AclEntry(2, "ord", 4, "User:a", "*", 3, 3)
WILDCARD = AclEntry(2, "*", 3, "User:a", "*", 3, 3)
OTHER = AclEntry(2, "other", 3, "User:a", "*", 3, 3)
ALL = [LITERAL, PREFIXED, WILDCARD, OTHER]


def matching(**wanted: object) -> list[AclEntry]:
    return [each for each in ALL if AclFilter(**wanted).matches(each)]  # type: ignore[arg-type]


def test_what_is_not_said_matches_everything() -> None:
    assert matching() == ALL


def test_match_is_what_touches_a_name() -> None:
    found = matching(resource_name="orders", pattern_type=PatternType.MATCH)
    assert found == [LITERAL, PREFIXED, WILDCARD]


def test_any_other_pattern_is_a_name_as_it_stands() -> None:
    assert matching(resource_name="ord", pattern_type=PatternType.ANY) == [PREFIXED]
    assert matching(resource_name="ord", pattern_type=PatternType.LITERAL) == []
    assert matching(pattern_type=PatternType.PREFIXED) == [PREFIXED]


@pytest.mark.parametrize(
    "wanted",
    [
        {"resource_type": ResourceType.GROUP},
        {"principal": "User:b"},
        {"host": "10.0.0.1"},
        {"operation": Operation.WRITE},
        {"permission": Permission.DENY},
        {"operation": Operation.ALL},
    ],
)
def test_each_part_may_exclude(wanted: dict[str, object]) -> None:
    assert matching(**wanted) == []


@pytest.mark.parametrize(
    "field", ["resource_type", "pattern_type", "operation", "permission"]
)
def test_unknown_numbers_are_known_as_such(field: str) -> None:
    assert not AclFilter(**{field: 1}).is_unknown  # type: ignore[arg-type]
    assert AclFilter(**{field: 0}).is_unknown  # type: ignore[arg-type]
    assert AclFilter(**{field: 99}).is_unknown  # type: ignore[arg-type]
    assert AclFilter(**{field: -1}).is_unknown  # type: ignore[arg-type]


def test_an_entry_reads_as_a_sentence() -> None:
    assert str(PREFIXED) == "ALLOW User:a from * READ on TOPIC:PREFIXED:ord"
