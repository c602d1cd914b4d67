"""What one principal may do from one host: every decision is made once.

Kafka's order: a super user may do all; an entry that denies wins over all that allow;
where entries touch the resource and none allows, the answer is no; where none does, it
is what ``allow.everyone.if.no.acl.found`` says. Only entries that allow imply others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.protocol.acl_entries import WILDCARD, AclEntry, PatternType, Permission
from odradek.protocol.acls import Operation

if TYPE_CHECKING:
    from .acl_index import AclIndex

DECISIONS_MAX = 10_000
EVERYTHING: Final = (1 << len(Operation)) - 1
# No resource has this name, unless somebody wants it to: Kafka asks for it, too, when
# it wants to know whether any at all may be written.
_ANY_NAME = "hardcode"


def _bits(*operations: Operation) -> int:
    return sum(1 << operation for operation in operations)


_IMPLIED: Final = {
    Operation.ALL: EVERYTHING,
    **{
        operation: _bits(operation, Operation.DESCRIBE)
        for operation in (
            Operation.READ,
            Operation.WRITE,
            Operation.DELETE,
            Operation.ALTER,
        )
    },
    Operation.ALTER_CONFIGS: _bits(Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS),
}


class Rules(NamedTuple):
    """What holds for everybody."""

    lists: AclIndex
    super_users: frozenset[str] = frozenset()
    allows_untouched: bool = False


class Access:
    """The decisions for one principal and host, while the entries stay as they are."""

    __slots__ = ("_host", "_known", "_principal", "_rules", "is_super_user")

    def __init__(self, rules: Rules, principal: str, host: str) -> None:
        self.is_super_user = principal in rules.super_users
        self._rules = rules
        self._principal = principal
        self._host = host
        self._known: dict[tuple[int, str], int] = {}

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        """Whether the operation is allowed on the resource."""
        try:
            mask = self._known[resource_type, name]
        except KeyError:
            mask = self.operations(resource_type, name)
        return bool(mask >> operation & 1)

    def operations(self, resource_type: int, name: str) -> int:
        """All operations that are allowed on the resource, each as a bit."""
        key = resource_type, name
        mask = self._known.get(key)
        if mask is None:
            if len(self._known) >= DECISIONS_MAX:
                self._known.clear()
            mask = self._known[key] = self._decide(resource_type, name)
        return mask

    def may_any(self, operation: int, resource_type: int) -> bool:
        """Whether it is allowed on any resource of this type: one that no deny covers.

        Here nothing is implied, as with Kafka's ``authorizeByResourceType``.
        """
        if self.may(operation, resource_type, _ANY_NAME):
            return True
        allowed: list[AclEntry] = []
        denied: list[AclEntry] = []
        for entry in self._rules.lists.of_type(
            self._principal, self._host, resource_type
        ):
            if entry.operation in (operation, Operation.ALL):
                is_denied = entry.permission == Permission.DENY
                (denied if is_denied else allowed).append(entry)
        if any(_is_wildcard(entry) for entry in denied):
            return False
        patterns = {(each.pattern_type, each.resource_name) for each in denied}
        return any(
            _is_wildcard(entry) or not _is_dominated(entry, patterns)
            for entry in allowed
        )

    def rule(self, operation: int, resource_type: int, name: str) -> AclEntry | str:
        """What decides, for people: an entry, or which rule without one."""
        if self.is_super_user:
            return "SuperUser"
        allowing: AclEntry | None = None
        for entry in self._rules.lists.matching(
            self._principal, self._host, resource_type, name
        ):
            if not _bits_of(entry) >> operation & 1:
                continue
            if entry.permission == Permission.DENY:
                return entry
            allowing = allowing or entry
        if allowing is not None:
            return allowing
        is_touched = self._rules.lists.touches(resource_type, name)
        if is_touched or not self._rules.allows_untouched:
            return "DefaultDeny"
        return "DefaultAllow"

    def _decide(self, resource_type: int, name: str) -> int:
        rules = self._rules
        if self.is_super_user:
            return EVERYTHING
        allowed = denied = 0
        for entry in rules.lists.matching(
            self._principal, self._host, resource_type, name
        ):
            if entry.permission == Permission.DENY:
                denied |= _bits_of(entry)
            else:
                allowed |= _bits_of(entry)
        if rules.allows_untouched and not rules.lists.touches(resource_type, name):
            allowed = EVERYTHING
        return allowed & ~denied


def _bits_of(entry: AclEntry) -> int:
    operation = Operation(entry.operation)
    if entry.permission == Permission.DENY and operation is not Operation.ALL:
        return 1 << operation
    return _IMPLIED.get(operation, 1 << operation)


def _is_wildcard(entry: AclEntry) -> bool:
    return entry.pattern_type == PatternType.LITERAL and entry.resource_name == WILDCARD


def _is_dominated(entry: AclEntry, denied: set[tuple[int, str]]) -> bool:
    """Whether all that ``entry`` allows is denied by one of the patterns."""
    name = entry.resource_name
    if entry.pattern_type == PatternType.LITERAL and (entry.pattern_type, name) in (
        denied
    ):
        return True
    return any(
        (PatternType.PREFIXED, name[:length]) in denied
        for length in range(1, len(name) + 1)
    )
