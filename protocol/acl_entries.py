"""Entries of access control lists: who may, or may not, do what to which resource.

The numbers are those of the wire, the names those of Kafka's tools.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from .acls import Operation, ResourceType

WILDCARD = "*"
ANYBODY = "User:*"


class PatternType(IntEnum):
    """How a name stands for resources. ANY and MATCH are for filters alone."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """Whether an entry lets somebody in, or keeps somebody out."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class AclEntry(NamedTuple):
    """One entry. The numbers are ints of the enumerations above."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    def __str__(self) -> str:
        """As the audit has it: what is decided, for whom, on what."""
        return (
            f"{_word(Permission, self.permission)} {self.principal} from {self.host} "
            f"{_word(Operation, self.operation)} on "
            f"{_word(ResourceType, self.resource_type)}:"
            f"{_word(PatternType, self.pattern_type)}:{self.resource_name}"
        )


class AclFilter(NamedTuple):
    """Which entries are meant; None and ANY stand for all."""

    resource_type: int = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = Operation.ANY
    permission: int = Permission.ANY

    @property
    def is_unknown(self) -> bool:
        """Whether any of its numbers is none that is known."""
        return not (
            _is_known(ResourceType, self.resource_type)
            and _is_known(PatternType, self.pattern_type)
            and _is_known(Operation, self.operation)
            and _is_known(Permission, self.permission)
        )

    def matches(self, entry: AclEntry) -> bool:
        """Whether ``entry`` is one of those."""
        return (
            self.resource_type in (ResourceType.ANY, entry.resource_type)
            and self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (Operation.ANY, entry.operation)
            and self.permission in (Permission.ANY, entry.permission)
            and self._matches_pattern(entry)
        )

    def _matches_pattern(self, entry: AclEntry) -> bool:
        wanted, name = self.pattern_type, self.resource_name
        if wanted not in (PatternType.ANY, PatternType.MATCH, entry.pattern_type):
            return False
        if name in (None, entry.resource_name):
            return True
        if wanted != PatternType.MATCH:
            return False
        assert name is not None
        if entry.pattern_type == PatternType.PREFIXED:
            return name.startswith(entry.resource_name)
        return entry.resource_name == WILDCARD


def _is_known(kind: type[IntEnum], number: int) -> bool:
    return 0 < number < len(kind)


def _word(kind: type[IntEnum], number: int) -> str:
    return kind(number).name
